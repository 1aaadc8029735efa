"""Facts with sources: frozen rows, no logic beyond look-up."""
