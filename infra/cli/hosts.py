"""Where an inventory comes from: a stack file's plan, saved outputs, or what Pulumi says of a deployed stack."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import ConfigError, Unknown

if TYPE_CHECKING:
    from infra.plan.inventory import Inventory

PULUMI_SECONDS = 60
"""How long Pulumi may take to print outputs (s); a backend far away takes a few."""


def of_stack(path: Path) -> Inventory:
    """Inventory of a stack file as it is planned.

    Raises:
        ConfigError: the file has mistakes; what is only refused, such as a model that does not fit, moves no host.
    """
    from infra.cli.stack import planned
    from infra.plan.inventory import inventory
    from infra.plan.outputs import outputs

    spec, plan = planned(path)
    if spec.problems or plan is None:
        raise ConfigError(*spec.problems)
    return inventory(outputs(plan))


def of_outputs(text: str, source: str) -> Inventory:
    """Inventory of what ``pulumi stack output --json`` printed.

    Args:
        source: where the text is from, for messages.
    Raises:
        ConfigError: it is no such text.
    """
    from infra.plan.inventory import inventory

    try:
        said: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{source} — is not JSON ({error}) — write it with pulumi stack output --json") from error
    if not isinstance(said, dict):
        raise ConfigError(f"{source} — is no mapping of outputs — write it with pulumi stack output --json")
    return inventory(said)


def of_file(path: Path) -> Inventory:
    """Inventory of a file with outputs."""
    source = f"outputs file {str(path)!r}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        fix = "write it with pulumi stack output --json (the lab's machines: lab vm up)"
        raise ConfigError(f"{source} — cannot be read ({reason}) — {fix}") from error
    return of_outputs(text, source)


def of_pulumi(stack: str, root: Path) -> Inventory:
    """Inventory of a deployed stack; plain outputs take no passphrase.

    Raises:
        ConfigError: there is no such stack, or no pulumi.
        Unknown: Pulumi does not answer in time.
    """
    argv = ["pulumi", "stack", "output", "--json", "--non-interactive", "--stack", stack]
    who = f"stack {stack!r} — {' '.join(argv)}"
    try:
        done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False, timeout=PULUMI_SECONDS)
    except FileNotFoundError as error:
        raise ConfigError(f'{who} — there is no pulumi on PATH — install it (lab: eval "$(lab env)")') from error
    except subprocess.TimeoutExpired as error:
        raise Unknown(f"{who} — says nothing in {PULUMI_SECONDS} s — see its backend: pulumi whoami -v") from error
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[0].removeprefix("error: ")
        raise ConfigError(f"{who} — ends with {done.returncode}: {said} — see: pulumi stack ls")
    return of_outputs(done.stdout, who)
