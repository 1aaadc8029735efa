"""The environment in which plain ``pulumi``, ``kubectl`` and OpenAI clients meet this clone's lab."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from lab import keys, paths, stack_file
from lab.cluster import lab as cluster


def pulumi_state() -> Path:
    """Folder of the state of this clone's stacks."""
    return paths.state_dir() / "pulumi" / "state"


def plugin_folder(name: str, version: str) -> Path:
    """Folder in which Pulumi looks for one version of a provider of this clone."""
    return paths.state_dir() / "pulumi" / "home" / "plugins" / f"resource-{name}-v{version}"


def scratch() -> Path:
    """Folder for temporary files of Pulumi: its Kubernetes provider leaves a kubeconfig with a key in each run."""
    return paths.state_dir() / "tmp"


def forget_kubeconfigs() -> None:
    """Remove the kubeconfigs that finished runs of Pulumi left; only Helm would read them again, which is not used."""
    for path in scratch().glob("kubeconfig*"):
        path.unlink(missing_ok=True)


def keep_scratch_to_pulumi() -> None:
    """Leave the TMPDIR of a ``lab env`` shell: apt and mmdebstrap want one that other users may enter."""
    if os.environ.get("TMPDIR") == str(scratch()):
        del os.environ["TMPDIR"]


def search_path() -> str:
    """The caller's PATH with this clone's programs in front, each folder once."""
    ours = [sysconfig.get_path("scripts"), str(paths.bin_dir())]
    rest = [folder for folder in paths.search_path().split(os.pathsep) if folder not in ours]
    return os.pathsep.join([*ours, *rest])


def gateway_url() -> str | None:
    """Base URL of the gateway, ending in ``/v1``; None before the first start, and where nothing real serves."""
    network = cluster.remembered(paths.state_dir())
    if network is None or network.simulated:
        return None
    return f"http://{network.node_ip}:{stack_file.section('gateway')['node_port']}/v1"


def variables() -> dict[str, str]:
    """All variables, by name; no secret is among them."""
    # Pulumi's file backend does not make its folder.
    pulumi_state().mkdir(parents=True, exist_ok=True)
    scratch().mkdir(mode=0o700, exist_ok=True)
    found = {
        "PATH": search_path(),
        "PULUMI_HOME": str(paths.state_dir() / "pulumi" / "home"),
        "PULUMI_BACKEND_URL": pulumi_state().as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(keys.passphrase_file()),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        # Read by the language host of an official Pulumi; the one built here has its interpreter fixed.
        "PULUMI_PYTHON_CMD": sys.executable,
        # Any flag can be set so: plain `pulumi up` and `pulumi preview` run the policies.
        "PULUMI_OPTION_POLICY_PACK": str(paths.repo_root() / "policies"),
        "TMPDIR": str(scratch()),
        "KUBECONFIG": str(paths.state_dir() / "kubeconfig"),
    }
    return found | ({"OPENAI_BASE_URL": url} if (url := gateway_url()) else {})


def for_programs() -> dict[str, str]:
    """The caller's environment with these variables in it, for programs that the lab starts."""
    return {**os.environ, **variables()}


def script(values: Mapping[str, str]) -> str:
    """Lines for ``eval`` in any POSIX shell."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())
