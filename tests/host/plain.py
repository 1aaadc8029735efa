"""The slow way to ask a host: testinfra, one question at a time, with nothing of the fast way but the questions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import testinfra  # type: ignore[import-untyped]  # has no types

from infra.catalog.host_tuning.setting import Answer, Means, Reading
from infra.errors import Unknown
from infra.plan.hosts import HostFacts

ENVIRONMENT = "LC_ALL=C TZ=UTC PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
"""As services have it; what a login adds says nothing of a host."""


def connect(host: HostFacts, ssh_config: Path, *, local: bool) -> Any:
    """A host as testinfra has it.

    Raises:
        Unknown: it does not answer.
    """
    config = {"ssh_config": str(ssh_config)} if ssh_config.is_file() else {}
    way = "local://" if local else f"ssh://{host.address or host.name}"
    found = testinfra.get_host(way, ssh_extra_args="-o BatchMode=yes -o ConnectTimeout=10", **config)
    try:
        found.run("true")
    except RuntimeError as error:
        result = error.args[0]
        raise Unknown(f"host {host.name} — {result.stderr.strip() or 'no word'} — see that ssh reaches it") from error
    return found


def ask(host: Any, readings: Iterable[Reading]) -> Mapping[Reading, Answer]:
    """Ask one question after the other, as root."""
    with nullcontext() if host.user().name == "root" else host.sudo():
        return {
            reading: _files(host, reading.ask[0]) if reading.means is Means.FILES else _command(host, reading.ask)
            for reading in readings
        }


def _files(host: Any, pattern: str) -> Answer:
    # Of a pattern that fits nothing, and of a name that is not there, ls says so and lists nothing.
    paths = host.run(f"ls -1d -- {pattern}").stdout.splitlines()
    texts = {}
    for path in sorted(paths):
        try:
            texts[path] = host.file(path).content.decode(errors="replace")
        except (RuntimeError, OSError) as error:
            return Answer(error=f"{path}: {error}")
    return Answer(texts)


def _command(host: Any, argv: tuple[str, ...]) -> Answer:
    done = host.run(f"env -i {ENVIRONMENT} {shlex.join(argv)} </dev/null")
    if done.rc == 127:
        return Answer(status=127)
    return Answer({"": done.stdout_bytes.decode(errors="replace")}, done.rc)
