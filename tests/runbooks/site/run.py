"""``runbook`` with the sample runbooks of this folder: what the tests start as a process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import runbooks

runbooks.__path__.append(str(Path(__file__).parent))

from runbooks import cli  # noqa: E402  the path above comes first

if __name__ == "__main__":
    if renew := os.environ.get("RAILWRIGHT_TEST_RENEW"):
        from runbooks.engine import lock

        lock.Held.__init__.__kwdefaults__["every_s"] = float(renew)
    sys.exit(cli.main())
