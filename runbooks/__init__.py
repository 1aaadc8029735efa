"""Executable runbooks and drills: dry by default, journalled, undone when they fail."""
