"""``runbook`` with the sample runbooks of this folder and with locks in files: what the tests start as a process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import runbooks

runbooks.__path__.append(str(Path(__file__).parent))

from runbooks import cli  # noqa: E402  the path above comes first

if __name__ == "__main__":
    sys.exit(cli.main())
