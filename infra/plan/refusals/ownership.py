"""RW-302: driver, toolkit and OFED with two owners or none, and software that does not know the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.compat import (
    DRIVER_BRANCHES,
    GPU_OPERATORS,
    NETWORK_OPERATORS,
    GpuOperatorRow,
    branch_of,
    runs_cuda,
)
from infra.catalog.ownership import OWNERSHIPS, of_target
from infra.config.gpu_operator import Driver
from infra.config.mistakes import nearest
from infra.config.stack import Stack
from infra.plan.charts import chart_of
from infra.plan.fabric import release as fabric
from infra.plan.facts import ModelPlan, Plan, PoolPlan, Refusal
from infra.plan.gpu_operator.values import NAME, driver_of, loads_driver, operated, row_of, version_of

OPEN_ONLY = "blackwell"
"""Family of GPUs that only the open kernel modules know. Source: open-gpu-kernel-modules README."""

DRA_DRIVER = 580
"""Oldest branch of the driver for the DRA stack. Source: GPU Operator 26.7.0, release notes."""


def check(stack: Stack) -> Iterator[Refusal]:
    """Yield a refusal when the stack names a way of sharing that its target does not have."""
    name, target = stack.cluster.ownership, stack.cluster.target
    offered = [row.name for row in of_target(target)]
    if not name or name in offered:
        return
    other = OWNERSHIPS.get(name)
    found = f"{name!r} is of target {other.target}, this stack is on {target}" if other else f"{name!r} is not known"
    yield Refusal("RW-302", "cluster.ownership", found, nearest(name, offered))


def check_plan(plan: Plan, kubernetes: str) -> Iterator[Refusal]:
    """Yield what the owners of a host's software, or their versions, make impossible.

    Args:
        kubernetes: minor version of the cluster, such as ``1.36``.
    """
    yield from _owners(plan)
    if plan.gpu_operator.installs:
        row = row_of(plan)
        yield from _versions(plan, row, kubernetes)
        yield from (found for pool in operated(plan) for found in _pool_driver(plan, pool, row))
        yield from _modules(plan)
        if plan.gpu_operator.config.dra:
            yield from _dra(plan, row, kubernetes)
    for model in plan.models:
        yield from _cuda(plan, model)


def _owners(plan: Plan) -> Iterator[Refusal]:
    owner, brought = plan.ownership, plan.gpu_operator.brought
    if brought == "install" and not owner.gpu_operator:
        found = f"install, and on target {plan.target.name!r} driver and device plugin belong to the {owner.driver}"
        yield Refusal("RW-302", "gpu_operator.operator", found, "leave it out: two owners crash in turns")
    parts = [part for part in ("driver", "toolkit", "device_plugin") if getattr(owner, part) == "operator"]
    if brought == "none" and parts and not plan.target.simulates_gpus and any(pool.board.gpu for pool in plan.pools):
        found = f"none, and ownership {owner.name!r} has the operator bring {', '.join(parts)}: nobody would"
        yield Refusal("RW-302", "gpu_operator.operator", found, "leave it out, or name another cluster.ownership")
    for key, said in _drivers_said(plan):
        if not loads_driver(plan) and said != Driver():
            found = f"a driver is named, and ownership {owner.name!r} has it from the {owner.driver}"
            yield Refusal("RW-302", key, found, "drop it, or name a cluster.ownership whose driver is the operator's")
    for model in plan.models:
        out = model.pool.board.gpu and not model.pool.pool.gpu_operator.operated
        if out and owner.device_plugin == "operator" and not plan.target.simulates_gpus:
            found = f"false, and model {model.name!r} needs nvidia.com/gpu there, which nobody would then give out"
            yield Refusal("RW-302", f"pools.{model.pool.name}.gpu_operator.operated", found, "leave it out")


def _drivers_said(plan: Plan) -> Iterator[tuple[str, Driver]]:
    yield "gpu_operator.driver", plan.gpu_operator.config.driver
    for pool in plan.pools:
        if pool.pool.gpu_operator.driver:
            yield f"pools.{pool.name}.gpu_operator.driver", pool.pool.gpu_operator.driver


def _versions(plan: Plan, row: GpuOperatorRow | None, kubernetes: str) -> Iterator[Refusal]:
    version, key = chart_of(plan, NAME).version, f"charts.{NAME}.version"
    if row is None:
        found = f"{version!r} has no row of what it goes together with"
        yield Refusal("RW-302", key, found, f"known are: {', '.join(GPU_OPERATORS)}", is_unknown=True)
        return
    minor, (oldest, newest) = int(kubernetes.partition(".")[2]), row.kubernetes
    if not oldest <= minor <= newest:
        found = f"{kubernetes!r}, GPU Operator {version} was validated with 1.{oldest} to 1.{newest}"
        fits = [name for name, item in GPU_OPERATORS.items() if item.kubernetes[0] <= minor <= item.kubernetes[1]]
        fix = f"set {key} to {fits[0]}" if fits else f"run Kubernetes 1.{newest}"
        yield Refusal("RW-302", "cluster.kubernetes", found, fix)
    if not fabric.is_installed(plan):
        return
    other = chart_of(plan, fabric.CHART).version
    line = ".".join(other.removeprefix("v").split(".")[:2])
    if line not in row.network_operators:
        found = f"{other!r}, GPU Operator {version} was run with {', '.join(row.network_operators)}"
        known = [name for name in NETWORK_OPERATORS if name.startswith(tuple(row.network_operators))]
        fix = f"set it to {known[0]}" if known else "use one of them"
        yield Refusal("RW-302", f"charts.{fabric.CHART}.version", found, fix)


def _pool_driver(plan: Plan, pool: PoolPlan, row: GpuOperatorRow | None) -> Iterator[Refusal]:
    if row is None or not loads_driver(plan):
        return
    driver = driver_of(plan, pool)
    own = pool.pool.gpu_operator.driver is not None
    key = f"pools.{pool.name}.gpu_operator.driver" if own else "gpu_operator.driver"
    version = version_of(plan, driver)
    branch = branch_of(version)
    if branch not in row.branches:
        ended = DRIVER_BRANCHES[branch].ends if branch in DRIVER_BRANCHES else ""
        what = f" (its last fix was of {ended})" if ended else ""
        found = f"{version!r}{what}, GPU Operator {row.version} comes with branches {', '.join(row.branches)}"
        yield Refusal("RW-302", f"{key}.version", found, f"set it to {row.drivers[0]}")
    if driver.precompiled and branch not in row.precompiled:
        found = f"branch {branch} is not published ready for a kernel, {' and '.join(row.precompiled)} are"
        yield Refusal("RW-302", f"{key}.precompiled", found, "name one of those, or drop precompiled")
    gpu = pool.board.gpu
    if driver.module == "proprietary" and gpu and gpu.family == OPEN_ONLY:
        found = f"proprietary, and {pool.board.name!r} of pool {pool.name!r} is known to the open modules only"
        yield Refusal("RW-302", f"{key}.module", found, "set it to open")


def _modules(plan: Plan) -> Iterator[Refusal]:
    said = plan.gpu_operator.config
    for key in ("gdrcopy", "gds"):
        if getattr(said, key) and not loads_driver(plan):
            found = "true, and its module is built in the operator's driver pod, which ownership "
            found += f"{plan.ownership.name!r} does not have"
            yield Refusal(
                "RW-302", f"gpu_operator.{key}", found, "load it where the driver is loaded, and drop it here"
            )
    if said.gds and said.driver.module == "proprietary":
        found = "true with driver.module: proprietary; nvidia-fs goes with the open modules only"
        yield Refusal("RW-302", "gpu_operator.gds", found, "set driver.module to open")
    if said.nri and plan.ownership.toolkit != "operator":
        found = f"true, and the toolkit that runs the NRI plugin comes from the {plan.ownership.toolkit}"
        yield Refusal("RW-302", "gpu_operator.nri", found, "drop it")


def _dra(plan: Plan, row: GpuOperatorRow | None, kubernetes: str) -> Iterator[Refusal]:
    key, minor = "gpu_operator.dra", int(kubernetes.partition(".")[2])
    if row and row.dra_kubernetes is None:
        found = f"true, GPU Operator {row.version} has no DRA stack of its own"
        yield Refusal("RW-302", key, found, "use v26.7.0 or newer, or drop dra")
    elif row and row.dra_kubernetes and minor < row.dra_kubernetes:
        found = f"true on Kubernetes {kubernetes}, it needs 1.{row.dra_kubernetes}.2 or newer"
        yield Refusal("RW-302", key, found, "raise cluster.kubernetes, or drop dra")
    on = {pool.name for pool in operated(plan)}
    asking = sorted(model.name for model in plan.models if model.pool.name in on)
    if asking:
        found = f"true, and models {', '.join(asking)} ask for nvidia.com/gpu, which the DRA stack does not give out"
        yield Refusal("RW-302", key, found, "drop dra, or set operated: false on their pools")
    for pool in operated(plan):
        branch = branch_of(version_of(plan, driver_of(plan, pool)))
        if loads_driver(plan) and branch and int(branch) < DRA_DRIVER:
            found = f"true, and pool {pool.name!r} has driver branch {branch}, it needs {DRA_DRIVER} or newer"
            yield Refusal("RW-302", key, found, "name a newer driver, or drop dra")


def _cuda(plan: Plan, model: ModelPlan) -> Iterator[Refusal]:
    """Yield an image whose CUDA is newer than the driver that its hosts will have."""
    said, loads = model.model.cuda, plan.gpu_operator.installs and loads_driver(plan)
    version = version_of(plan, driver_of(plan, model.pool)) if loads and model.pool.board.gpu else ""
    if not said or not version:
        return
    newest = runs_cuda(branch_of(version))
    if int(said.partition(".")[0]) > newest:
        found = f"{said!r}, driver {version} of pool {model.pool.name!r} runs CUDA {newest} and older"
        yield model.refuse("RW-302", "cuda", found, "name a newer driver for the pool, or an image with older CUDA")
