"""``python -m infra.document.host_tuning``: write the table of host settings, and the variables of each role."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from infra.catalog.host_tuning import ROLES, Role, Scope, Setting
from infra.document.role_variables import argument_specs, defaults
from infra.plan.hosts.judge import BEFORE

ROOT = Path(__file__).resolve().parents[2]
"""The clone."""

_HEAD = """# Host settings

Made by `python -m infra.document.host_tuning` from `infra/catalog/host_tuning`; do not edit.
`runbook run host/verify_host` reads each back from running hosts.
"""


def written() -> dict[Path, str]:
    """Every file that is made of the catalogue, with its text."""
    found = {ROOT / "docs/host-tuning.md": page()}
    for role in ROLES:
        folder = ROOT / "ansible/roles" / role.name
        found[folder / "defaults/main.yml"] = defaults(role)
        found[folder / "meta/argument_specs.yml"] = argument_specs(role)
    return found


def page() -> str:
    """The table of settings."""
    return "\n".join([_HEAD, *(line for role in ROLES for line in _section(role))]).rstrip() + "\n"


def _section(role: Role) -> Iterator[str]:
    yield f"## {role.name}\n\n{role.what}\n"
    yield "| id | what | wanted | for | without it | set by, or what to do | source |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    yield from map(_row, role.settings)
    yield ""


def _row(setting: Setting) -> str:
    what = f"{setting.what} (`{setting.key}`)" if setting.key else setting.what
    does = f"`{setting.variable}`" if setting.variable else setting.fix
    scope = _for(setting.scope) + (", each rail" if setting.per_rail else "")
    cells = (f"`{setting.id}`", what, _wanted(setting), scope, setting.why, does, setting.source)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _wanted(setting: Setting) -> str:
    if setting.compare == "agree":
        return "the same everywhere"
    words = " or ".join(dict.fromkeys([_said(setting.value), *setting.also]))
    cases = [f"{_said(case.value)} on {_for(case.scope)}" for case in setting.cases]
    values = "; ".join([*([words] if setting.value is not None or not cases else []), *cases])
    unit = f" {setting.unit}" if setting.unit else ""
    return f"{BEFORE.get(setting.compare, '')}{values}{unit}{', after a reboot' if setting.reboot else ''}"


def _said(value: object) -> str:
    """A value, with the names that are filled in as they are."""
    if value is None:
        return "as the inventory says"
    return " ".join(value) or "none" if isinstance(value, tuple) else str(value) or "none"


def _for(scope: Scope) -> str:
    machine = [scope.machine] if scope.machine != "any" else []
    parts = [", ".join(scope.boards), " or ".join(scope.fabrics), *machine]
    if scope.cpu != "any":
        parts.append(f"{scope.cpu} CPUs")
    if scope.kubernetes is not None:
        parts.append("in a cluster" if scope.kubernetes else "outside a cluster")
    return "; ".join(filter(None, parts)) or "all"


if __name__ == "__main__":
    for path, text in written().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
