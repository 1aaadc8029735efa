"""Answer the questions on standard input; sent whole to hosts, so it needs Python 3.7 and nothing of ours."""

from __future__ import annotations

import glob
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

AT_ONCE = 4
"""Questions that are answered at the same time (count): most wait for a device, and the host may be serving."""

EACH_SECONDS = 20
"""How long one program may take (s); a tool of a dead GPU never ends."""

ALL_SECONDS = 45
"""How long all answers together may take (s), below what the asking side waits."""

LONGEST = 4 * 1024 * 1024
"""Bytes of one file, or of one program's output, that are read; of more nothing is said, as half is no answer."""

PART = 64 * 1024
"""Bytes that are read at a time."""


def main() -> None:
    """Print an answer for each question; what has none in time is told as an error."""
    root = sys.argv[1] if len(sys.argv) > 1 else ""
    asked = json.load(sys.stdin)
    end = time.monotonic() + ALL_SECONDS
    threads = ThreadPoolExecutor(AT_ONCE)
    found = [threads.submit(answer, root, means, ask, end) for means, ask in asked]
    wait(found, ALL_SECONDS)
    pairs = zip(found, asked)  # noqa: B905  Python 3.7 has no strict
    print(json.dumps([one.result() if one.done() else _late(ask) for one, (_, ask) in pairs]))
    sys.stdout.flush()
    # A thread that waits for a dead device would keep us for ever.
    os._exit(0)


def answer(root: str, means: str, ask: list[str], end: float) -> dict[str, Any]:
    """Answer one question.

    Args:
        root: folder that stands for ``/``; empty: the host itself.
        end: when all has to be said, on the monotonic clock (s).
    """
    try:
        return _files(root, ask[0]) if means == "files" else _command(root, ask, end)
    except OSError as error:
        where = str(error.filename or ask[0])
        return {"error": f"{where[len(root) :] if where.startswith(root) else where}: {error.strerror or error}"}


def _files(root: str, pattern: str) -> dict[str, Any]:
    texts = {}
    for path in sorted(glob.glob(root + pattern)):  # noqa: PTH207  a shell's * leaves out hidden files, as this does
        content = _content(path)
        if len(content) > LONGEST:
            return {"error": f"{path[len(root) :]}: longer than {LONGEST} bytes"}
        texts[path[len(root) :]] = content.decode(errors="replace")
    return {"texts": texts}


def _content(path: str) -> bytes:
    """Content of a file, and a little more than the longest of one that is too long."""
    content = b""
    # Small reads: the kernel reserves memory for as much as is asked for, and refuses megabytes of a sysctl.
    with Path(path).open("rb", buffering=0) as file:
        while len(content) <= LONGEST:
            part = file.read(PART)
            if not part:
                break
            content += part
    return content


def _command(root: str, argv: list[str], end: float) -> dict[str, Any]:
    left = min(EACH_SECONDS, end - time.monotonic())
    if left <= 0:
        return _late(argv)
    path = ":".join(f"{root}{folder}" for folder in ("/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"))
    program = root + argv[0] if argv[0].startswith("/") else argv[0]
    try:
        child = subprocess.Popen(
            [program, *argv[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={"LC_ALL": "C", "TZ": "UTC", "PATH": path}, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        return {"status": 127}
    try:
        said = child.communicate(timeout=left)[0]
    except subprocess.TimeoutExpired:
        # Not waited for: one that is stuck in the kernel does not even die.
        os.killpg(child.pid, signal.SIGKILL)
        return _late(argv)
    if len(said) > LONGEST:
        return {"error": f"{argv[0]}: says more than {LONGEST} bytes"}
    return {"texts": {"": said.decode(errors="replace")}, "status": child.returncode}


def _late(ask: list[str]) -> dict[str, Any]:
    return {"error": f"{ask[0]}: no answer in time"}


if __name__ == "__main__":
    main()
