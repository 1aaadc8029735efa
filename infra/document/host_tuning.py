"""``python -m infra.document.host_tuning``: write the table of host settings into the docs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from infra.catalog.host_tuning import SETTINGS, Setting

PAGE = Path(__file__).resolve().parents[2] / "docs" / "host-tuning.md"
"""Where the table stands."""

_BEFORE = {"at_least": "at least ", "at_most": "at most ", "has": "with ", "lacks": "without "}
_HEAD = """# Host settings

Made by `python -m infra.document.host_tuning` from `infra/catalog/host_tuning`; do not edit.
`runbook run host/verify_host` reads each back from running hosts.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_sections()]).rstrip() + "\n"


def _sections() -> Iterator[str]:
    for role, settings in groupby(SETTINGS, key=lambda setting: setting.role):
        yield f"## {role}\n"
        yield "| id | what | wanted | for | without it | source |"
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from map(_row, settings)
        yield ""


def _row(setting: Setting) -> str:
    what = f"{setting.what} (`{setting.key}`)" if setting.key else setting.what
    cells = (f"`{setting.id}`", what, _wanted(setting), _for(setting), setting.why, setting.source)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _wanted(setting: Setting) -> str:
    if setting.compare == "agree":
        return "the same everywhere"
    value = setting.value if isinstance(setting.value, tuple) else (str(setting.value),)
    said = (" or " if setting.compare == "one_of" else " ").join(value) or "none"
    unit = f" {setting.unit}" if setting.unit else ""
    reboot = ", after a reboot" if setting.reboot else ""
    return f"{_BEFORE.get(setting.compare, '')}{said}{unit}{reboot}"


def _for(setting: Setting) -> str:
    scope = setting.scope
    parts = [*scope.boards, *scope.fabrics, *([scope.machine] if scope.machine != "any" else [])]
    if scope.kubernetes is not None:
        parts.append("in a cluster" if scope.kubernetes else "outside a cluster")
    return ", ".join(parts) or "all"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
