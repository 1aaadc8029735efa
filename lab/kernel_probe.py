"""Try, in namespaces that are thrown away, what the lab asks of the kernel; needs no tool but ``unshare``.

Run as ``python -m lab.kernel_probe`` it tries each thing in the namespaces it finds itself in and prints, as JSON,
what each one failed with.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lab.paths import repo_root, state_dir

UNSHARE = ("unshare", "--mount", "--net", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc")
"""The namespaces the lab lives in."""

TIMEOUT_SECONDS = 20
"""Longest time that the probe may take (s); it takes a tenth of a second where all is well."""

NETLINK_NETFILTER = 12
"""Netlink protocol of nf_tables, which Python does not name. Source: linux/netlink.h."""

RTM_NEWLINK, NLM_REQUEST, NLM_ACK, NLM_CREATE, NLM_EXCL, NLM_ERROR = 16, 1, 4, 0x400, 0x200, 2
"""Numbers of the rtnetlink protocol. Source: linux/rtnetlink.h and linux/netlink.h."""

NFT_BATCH_BEGIN, NFT_BATCH_END, NFT_NEWTABLE = 0x10, 0x11, 10 << 8
"""Numbers of the nf_tables protocol. Source: linux/netfilter/nfnetlink.h, subsystem 10."""


def missing() -> dict[str, str]:
    """What the kernel does not give, and why; empty where all is there."""
    argv = [*UNSHARE, sys.executable, "-m", "lab.kernel_probe"]
    try:
        ended = subprocess.run(
            argv, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, cwd=repo_root()
        )
        found: dict[str, str] = json.loads(ended.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"namespaces": str(error)}
    except ValueError:
        return {"namespaces": ended.stderr.strip() or f"unshare ended with code {ended.returncode}"}
    return found


def attribute(kind: int, value: bytes) -> bytes:
    """One netlink attribute, padded to four bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def message(kind: int, flags: int, body: bytes) -> bytes:
    """One netlink message."""
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


def _ask(protocol: int, request: bytes) -> None:
    """Send a request and raise what the kernel answers, if it is an error."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as link:
        link.settimeout(5)
        link.bind((0, 0))
        link.send(request)
        answer = link.recv(65536)
    kind, code = struct.unpack_from("=H", answer, 4)[0], struct.unpack_from("=i", answer, 16)[0]
    if kind == NLM_ERROR and code:
        raise OSError(-code, os.strerror(-code))


def add_link(kind: str) -> None:
    """Add a network interface of a kind, say ``veth``."""
    info = attribute(1, kind.encode())
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, f"rw{kind[:8]}".encode() + b"\0") + attribute(18, info)
    _ask(socket.NETLINK_ROUTE, message(RTM_NEWLINK, NLM_REQUEST | NLM_ACK | NLM_CREATE | NLM_EXCL, body))


def add_nft_table() -> None:
    """Add an nf_tables table."""
    batch = struct.pack(">BBH", 0, 0, 10)
    table = struct.pack(">BBH", 2, 0, 0) + attribute(1, b"railwright\0")
    request = message(NFT_BATCH_BEGIN, NLM_REQUEST, batch)
    request += message(NFT_NEWTABLE, NLM_REQUEST | NLM_ACK | NLM_CREATE, table)
    _ask(NETLINK_NETFILTER, request + message(NFT_BATCH_END, NLM_REQUEST, batch))


def mount_overlay() -> None:
    """Mount an overlay on the disk of the state folder, as containerd's snapshotter will."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = state_dir() if state_dir().is_dir() else repo_root()
    with tempfile.TemporaryDirectory(prefix=".probe-", dir=folder) as name:
        parts = {key: Path(name) / key for key in ("lower", "upper", "work", "merged")}
        for part in parts.values():
            part.mkdir()
        merged = str(parts["merged"]).encode()
        options = f"lowerdir={parts['lower']},upperdir={parts['upper']},workdir={parts['work']}"
        if libc.mount(b"overlay", merged, b"overlay", 0, options.encode()):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        libc.umount2(merged, 0)


TRIES: dict[str, Callable[[], None]] = {
    "veth": lambda: add_link("veth"),
    "bridge": lambda: add_link("bridge"),
    "nf_tables": add_nft_table,
    "overlay": mount_overlay,
}
"""What is tried, by the name of the kernel module that gives it."""


def main() -> None:
    """Try everything here and print what failed."""
    failed = {}
    for name, attempt in TRIES.items():
        try:
            attempt()
        except OSError as error:
            failed[name] = error.strerror or str(error)
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
