"""Python of a role, loaded as Ansible or the host would: its filters and its program."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.ansible.fakes.sandbox import REPO


def plugin(role: str, folder: str, name: str) -> ModuleType:
    """A module of a role, from ``filter_plugins`` or ``files``."""
    path = REPO / "ansible/roles" / role / folder / f"{name}.py"
    spec = spec_from_file_location(f"{role}_{folder}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
