"""``python -m infra.cli``, where the console script is not on the path."""

from __future__ import annotations

import sys

from infra.cli import main

if __name__ == "__main__":
    sys.exit(main())
