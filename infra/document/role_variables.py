"""Public variables of the roles that tune hosts, as Ansible reads them: defaults and specification."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import yaml

from infra.catalog.host_tuning import Role, Setting, Value, Variable

_HEAD = "---\n# Made by `python -m infra.document.host_tuning` from infra/catalog/host_tuning; do not edit.\n"


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, as ansible-lint wants them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Never leave the indent of a list away."""
        super().increase_indent(flow, False)


def variables(role: Role) -> tuple[Variable, ...]:
    """All public variables of a role: those that only it knows, then its settings'."""
    return (*role.variables, *(_of(setting) for setting in role.settings if setting.variable))


def defaults(role: Role) -> str:
    """Text of a role's defaults."""
    return _HEAD + "".join(_default(variable) for variable in variables(role))


def argument_specs(role: Role) -> str:
    """Text of a role's specification of arguments."""
    options = {variable.name: _option(variable) for variable in variables(role)}
    return _HEAD + _dump({"argument_specs": {"main": {"short_description": role.what, "options": options}}})


def _of(setting: Setting) -> Variable:
    """The variable that carries a setting's value."""
    return Variable(
        setting.variable, setting.what, _plain(setting.value), setting.source, setting.unit, setting.choices,
        "str" if isinstance(setting.value, tuple) else "",
    )  # fmt: skip


def _plain(value: Value | None) -> Any:
    return list(value) if isinstance(value, tuple) else "" if value is None else value


def _described(variable: Variable) -> list[str]:
    unit = f" ({variable.unit})" if variable.unit else ""
    return [f"{variable.what.rstrip('.')}{unit}.", f"Source: {variable.source}."]


def _default(variable: Variable) -> str:
    comments = "".join(f"# {part}\n" for line in _described(variable) for part in wrap(line, 117))
    return comments + _dump({variable.name: variable.default})


def _option(variable: Variable) -> dict[str, Any]:
    kind = {bool: "bool", int: "int", list: "list", dict: "dict"}.get(type(variable.default), "str")
    return {
        "type": kind,
        **({"elements": variable.elements} if kind == "list" else {}),
        "default": variable.default,
        **({"choices": list(variable.choices)} if variable.choices else {}),
        **({"no_log": True} if variable.secret else {}),
        "description": _described(variable),
    }


def _dump(value: dict[str, Any]) -> str:
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
