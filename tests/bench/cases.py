"""What is timed, how, and what it should take."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from lab import env, paths
from tests.bench import converge, host_checks, inventory
from tests.bench.planning import all_choices, one_choice
from tests.bench.watch import Timing, engine_start, watch_fleet
from tests.graph.conftest import config_of, record_in


@dataclass(frozen=True)
class Case:
    """One timing with the time it should take on 2 cores (s)."""

    take: Callable[[], Timing]
    goal_s: float


def run(*argv: str, cwd: Path | None = None, extra: Mapping[str, str] | None = None) -> tuple[float, str]:
    """Run a program that must succeed; seconds and what it printed."""
    start = time.monotonic()
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd or paths.repo_root(),
        env={**env.for_programs(), **(extra or {})},
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)} failed with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.monotonic() - start, done.stdout


def infra_plan() -> Timing:
    """Plan the example of 125 hosts; median of five."""
    infra = str(Path(sys.executable).with_name("infra"))
    times = [run(infra, "plan", "stacks/Pulumi.bare-b300.yaml")[0] for _ in range(5)]
    return statistics.median(times), f"median of 5, from {min(times):.2f} to {max(times):.2f}"


def preview(stack: str, change: Callable[[dict[str, Any]], None]) -> Timing:
    """Preview a stack with some change, in a project of its own; nothing is touched."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        text = yaml.safe_load((paths.repo_root() / "Pulumi.yaml").read_text())
        (project / "Pulumi.yaml").write_text(yaml.safe_dump({**text, "main": str(paths.repo_root() / "infra")}))
        config = config_of(stack)
        for number, key in enumerate(config["railwright:keys"].values()):
            key.update({"secret": f"{number}-a-key-of-a-bench-0123456789abcdef"} if "secret" in key else {})
        change(config)
        (project / "stacks").mkdir()
        (project / f"stacks/Pulumi.{stack}.yaml").write_text(yaml.safe_dump({"config": config}))
        (project / "state").mkdir()
        extra = {"PULUMI_BACKEND_URL": (project / "state").as_uri(), "PULUMI_SKIP_CHECKPOINTS": "true"}
        run("pulumi", "stack", "init", stack, cwd=project, extra=extra)
        seconds, shown = run("pulumi", "preview", "-s", stack, "--json", cwd=project, extra=extra)
    steps: dict[str, Any] = json.loads(shown[shown.index("{") :])["changeSummary"]
    return seconds, f"{sum(steps.values())} resources, policies on, no checkpoints"


def sized(hosts: int, config: dict[str, Any]) -> None:
    """Give the lab's first pool another size."""
    config["railwright:pools"]["b300"]["hosts"] = hosts


def fetched(config: dict[str, Any]) -> None:
    """Take charts from the tree, and what is not in it as there already."""
    config["railwright:charts"] = {"gpu-operator": {"folder": "tests/contracts/charts"}}
    config["railwright:fabric"] = {**config.get("railwright:fabric", {}), "operator": "existing"}
    config["railwright:gpu_operator"] = {**config.get("railwright:gpu_operator", {}), "nfd": "existing"}


def declare(stack: str) -> Timing:
    """Run the program for an example against Pulumi's mocks: what a preview takes before any provider is asked."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        graph = record_in(Path(folder), stack, config_of(stack))
        return time.monotonic() - start, f"{len(graph['resources'])} resources, no provider"


def no_change_up() -> Timing:
    """``pulumi up`` of the lab's stack when nothing has changed."""
    seconds, _ = run("pulumi", "up", "--yes", "--skip-preview", "-s", "lab", "--expect-no-changes")
    return seconds, "policies on"


def warm_up() -> Timing:
    """``lab down``, then ``make up`` to the first token, with all tools built and the state kept."""
    lab = str(Path(sys.executable).with_name("lab"))
    run(lab, "down")
    seconds, shown = run("make", "up")
    return seconds, (shown.strip().splitlines() or [""])[-1][:80]


def cold_set_up() -> Timing:
    """A fresh clone with an empty cache in a folder of its own; takes most of an hour."""
    with tempfile.TemporaryDirectory() as folder:
        clone, cache = Path(folder, "clone"), Path(folder, "cache")
        run("git", "clone", "--quiet", str(paths.repo_root()), str(clone))
        own = {
            "RAILWRIGHT_CACHE": str(cache),
            "GOCACHE": f"{cache}/go-build",
            "GOMODCACHE": f"{cache}/go-mod",
            "PIP_CACHE_DIR": f"{cache}/pip",
            "PATH": os.environ["PATH"],
        }
        try:
            seconds, _ = run("make", "up", cwd=clone, extra=own)
        finally:
            subprocess.run(["make", "down"], cwd=clone, check=False, capture_output=True)
            subprocess.run(["chmod", "-R", "u+w", folder], check=False)
            shutil.rmtree(cache, ignore_errors=True)
    return seconds, "all tools built, engine installed"


EXAMPLES = ("bare-b300", "coreweave-h100", "eks-b300", "eks-h200", "gke-b200", "aks-h200", "oci-b300")
"""Stacks whose program is timed; a preview of those on a cloud needs the cloud's provider."""

CASES = {
    "infra-plan": Case(infra_plan, 1),
    "plan-one-model": Case(one_choice, 1),
    "plan-all-models": Case(all_choices, 2),
    "inventory-1000-hosts": Case(partial(inventory.listed, 1000), 2),
    "ansible-1000-hosts": Case(partial(inventory.parsed, 1000), 2),
    "host-checks": Case(host_checks.at_once, 3),
    "host-checks-testinfra": Case(host_checks.one_by_one, 120),
    "converge-tuned-vm": Case(converge.tuned, 240),
    **{f"preview-{hosts}-hosts": Case(partial(preview, "lab", partial(sized, hosts)), 10) for hosts in (10, 1000)},
    **{f"preview-{name}": Case(partial(preview, name, fetched), 10) for name in ("bare-b300", "coreweave-h100")},
    **{f"declare-{name}": Case(partial(declare, name), 10) for name in EXAMPLES},
    "up-no-change": Case(no_change_up, 15),
    "engine-start": Case(engine_start, 0.5),
    "watch-10-hosts": Case(partial(watch_fleet, 10), 1),
    "watch-1000-hosts": Case(partial(watch_fleet, 1000), 1),
    "warm-first-token": Case(warm_up, 180),
    "cold-set-up": Case(cold_set_up, 35 * 60),
}
"""By name, in the order they run."""

LONG = {"cold-set-up", "converge-tuned-vm"}
"""Cases that run only when named."""
