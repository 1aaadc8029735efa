"""What the plan says, for programs: the objects that ``--json`` prints, and their published schema."""
