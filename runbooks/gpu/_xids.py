"""Xid codes in words, and what is to be done about each."""

from __future__ import annotations

from infra.catalog import xids

WORDS = {
    46: "stopped processing",
    48: "had a double-bit memory error",
    62: "had its micro-controller halt",
    64: "could not record a row to remap",
    74: "had an NVLink error",
    79: "fell off the bus",
    94: "had a contained memory error",
    95: "had an uncontained memory error",
    109: "timed out switching contexts",
    119: "had a timeout of its system processor (GSP)",
    120: "had an error of its system processor (GSP)",
    140: "had a memory error that was not recovered",
    154: "needs what the driver says in the kernel log",
}
"""What a GPU did. Source: NVIDIA Xid catalogue, as in infra/catalog/xids.py, shortened."""


def told(code: int) -> str:
    """What a GPU with this code did."""
    return f"{WORDS.get(code, 'reported a fault')} (Xid {code})"


def action(code: int) -> str:
    """What to do, in words."""
    return f"{xids.action(code)}{xids.again(code)}"
