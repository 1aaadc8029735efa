"""Clients of what runbooks act on; they write only in a step that says so, and never when dry."""
