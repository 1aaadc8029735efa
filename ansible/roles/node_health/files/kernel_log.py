"""Count the faults that this host's kernel log tells of, for node exporter.

``kernel_log.py TABLE STATE METRICS``: reads what journalctl has since the last look, adds to the counts in STATE, and
writes METRICS. TABLE is made from the catalogue of faults; its words for what to do are the runbooks'.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Labels = tuple[str, str, str, str, str]
"""Kind, device, code, name, action."""

NAMES = ("kind", "device", "code", "name", "action")
"""Labels of each metric, in order."""

COUNT = "railwright_kernel_faults_total"
LAST = "railwright_kernel_fault_last_seconds"
READ = "railwright_kernel_log_read_seconds"

HELP = {
    COUNT: ("counter", "Lines of the kernel log about a fault, by device, code and what it asks for."),
    LAST: ("gauge", "When the last one was logged (unix time, s)."),
    READ: ("gauge", "When the kernel log was last read (unix time, s)."),
}

_DEVICE = re.compile(r"mlx5_core ([^\s:]+(?::[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])?)|WATCHDOG: (\S+)")


def fault(line: str, table: dict[str, Any]) -> Labels | None:
    """The fault that a line tells of."""
    if match := re.search(r"NVRM: Xid \((?:PCI:)?([^)]*)\): (?:(\d+)\b)?(.*)", line):
        return "xid", match[1], match[2] or "0", "", _xid(match[2] or "0", match[3], table)
    if match := re.search(r"nvidia-nvswitch\d+:? SXid \(PCI:([^)]*)\): (?:(\d+)\b)?(?:, )?(.*)", line):
        return "sxid", match[1], match[2] or "0", "", _sxid(match[2] or "0", match[3], table)
    if not re.search(r"mlx5_|NETDEV WATCHDOG: \S+ \(mlx5_core\)", line):
        return None
    for row in table["nic"]:
        if re.search(row["pattern"], line):
            device = _DEVICE.search(line)
            return "nic", (device[1] or device[2]) if device else "", "0", row["name"], row["action"]
    return None


def _xid(code: str, text: str, table: dict[str, Any]) -> str:
    says = re.findall(r"\(([^)]*)\)", text)
    if code == table["driver_says_xid"]:
        return str(table["driver_says"].get(says[-1], table["ask"]) if says else table["ask"])
    return str(table["xid"].get(code, table["ask"]))


def _sxid(code: str, text: str, table: dict[str, Any]) -> str:
    """What is told to be fatal asks for no less than what the fabric's reset asks for."""
    known = table["sxid"].get(code)
    is_fatal = text.startswith("Fatal")
    if code == "0":
        return str(table["ask"])
    if known is not None and not (is_fatal and known not in table["at_least_fatal"]):
        return str(known)
    if is_fatal:
        return str(table["fatal"])
    return str(table["ignore"] if text.startswith("Non-fatal") else table["ask"])


def boot_id() -> str:
    """Which boot this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def entries(cursor: str) -> Iterator[dict[str, Any]]:
    """What the kernel logged since this boot, after the cursor."""
    argv = ["journalctl", "--dmesg", "--boot", "--quiet", "--output=json", "--no-pager"]
    after = [f"--after-cursor={cursor}"] if cursor else []
    done = subprocess.run([*argv, *after], capture_output=True, text=True, check=True, errors="replace")
    for line in done.stdout.splitlines():
        yield json.loads(line)


def counted(state: dict[str, Any], found: Iterable[dict[str, Any]], table: dict[str, Any]) -> dict[str, Any]:
    """The state with what was found; its rows are labels, count, time of the last (s)."""
    rows: dict[Labels, list[Any]] = {tuple(row[0]): list(row[1:]) for row in state.get("rows", [])}
    cursor = state.get("cursor", "")
    for entry in found:
        cursor = entry["__CURSOR"]
        # journald gives text that is not UTF-8 as numbers.
        message = entry.get("MESSAGE")
        labels = fault(message, table) if isinstance(message, str) else None
        if labels is not None:
            count = rows.get(labels, [0, 0])[0]
            rows[labels] = [count + 1, int(entry["__REALTIME_TIMESTAMP"]) // 1_000_000]
    kept = [[list(labels), *row] for labels, row in rows.items()]
    return {"boot": state.get("boot", ""), "cursor": cursor, "rows": kept}


def page(state: dict[str, Any], now: float) -> str:
    """The metrics, as node exporter reads them."""
    lines: dict[str, list[str]] = {COUNT: [], LAST: [], READ: [f"{READ} {int(now)}"]}
    for labels, count, last in sorted(state["rows"]):
        words = ",".join(f'{name}="{_escaped(word)}"' for name, word in zip(NAMES, labels, strict=True))
        lines[COUNT].append(f"{COUNT}{{{words}}} {count}")
        lines[LAST].append(f"{LAST}{{{words}}} {last}")
    heads = {name: [f"# HELP {name} {said}", f"# TYPE {name} {kind}"] for name, (kind, said) in HELP.items()}
    return "\n".join(line for name in HELP for line in (*heads[name], *lines[name])) + "\n"


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def replaced(path: Path, text: str) -> None:
    """Write a file as a whole or not at all: who reads it never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.new")
    half.write_text(text, encoding="utf-8")
    half.chmod(0o644)
    half.replace(path)


def main(table: str, state: str, metrics: str) -> None:
    """Read, count, write: the count with its place in the log first, so that none is lost or counted twice."""
    faults = json.loads(Path(table).read_text(encoding="utf-8"))
    place = Path(state)
    before = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    boot = boot_id()
    cursor = before.get("cursor", "") if before.get("boot") == boot else ""
    after = counted({**before, "boot": boot, "cursor": cursor}, entries(cursor), faults)
    replaced(place, json.dumps(after))
    replaced(Path(metrics), page(after, time.time()))


if __name__ == "__main__":
    main(*sys.argv[1:])
