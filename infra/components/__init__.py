"""One Pulumi ComponentResource per file."""
