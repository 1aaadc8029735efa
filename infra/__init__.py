"""The Pulumi program and all that it computes."""
