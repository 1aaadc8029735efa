"""RW-301 and RW-402: names that nobody provides, and images that can change under you."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from infra.plan.engine_args import arguments
from infra.plan.fabric.access import asked_in_vain
from infra.plan.facts import GatewayPlan, ModelPlan, PoolPlan, Refusal
from infra.plan.labels import host_labels

_DIGEST = re.compile(r"[^@\s]@sha256:[0-9a-f]{64}\Z")

_REMOTE_CODE = ("--trust-remote-code", "--trust_remote_code")
"""Spellings of the flag that runs code from a checkpoint. Source: vLLM's argument parser takes both."""


_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
}
"""Short spellings of what the plan sets. Source: vLLM's argument parser."""

_PLANNED = (
    "--pipeline-parallel-size", "--data-parallel-size", "--enable-expert-parallel", "--quantization",
    "--kv-cache-dtype", "--gpu-memory-utilization", "--kv-cache-memory-bytes", "--num-gpu-blocks-override",
)  # fmt: skip
"""What the plan decides even where it leaves an argument to the engine; its memory and its evidence hang on it."""

UNCOUNTED = (
    "--speculative-config", "--enable-lora", "--cpu-offload-gb", "--block-size", "--no-enable-prefix-caching",
    "--decode-context-parallel-size", "--prefill-context-parallel-size", "--kv-transfer-config", "--hf-overrides",
    "--cudagraph-capture-sizes", "--max-cudagraph-capture-size", "--compilation-config",
)  # fmt: skip
"""Arguments that change where memory goes, and that no plan counts."""


def notes(plan: ModelPlan) -> Iterator[str]:
    """Say which arguments the plan does not count."""
    for arg in plan.model.engine_args:
        # Fields of a config are set one by one behind a dot.
        flag = _flag(arg).partition(".")[0]
        if flag in UNCOUNTED:
            yield (
                f"models.{plan.name}: its memory is planned without {flag}; "
                "hold its start-up log against the plan with infra fit"
            )


def check(plan: ModelPlan, *, lock: str, has_lock: bool) -> Iterator[Refusal]:
    """Yield what one model asks for and nobody has."""
    yield from _runtime_class(plan)
    yield from _labels(plan)
    yield from _rdma(plan)
    yield from _host_paths(plan)
    yield from check_image(plan.image, f"models.{plan.name}.image", lock=lock, has_lock=has_lock)
    yield from _engine_args(plan)
    args = [arg for arg in plan.model.engine_args if arg.split("=")[0] in _REMOTE_CODE]
    if args and not plan.model.trust_remote_code:
        found = f"{args[0]!r} runs code from the checkpoint"
        fix = f"drop it, or write the reason into models.{plan.name}.trust_remote_code"
        yield plan.refuse("RW-402", "engine_args", found, fix)


def check_gateway(plan: GatewayPlan, *, lock: str, has_lock: bool) -> Iterator[Refusal]:
    """Yield an image of the gateway that can change."""
    yield from check_image(plan.image, "gateway.image", lock=lock, has_lock=has_lock)


def check_image(image: str, key: str, *, lock: str, has_lock: bool) -> Iterator[Refusal]:
    """Yield a reference without digest; a lock that is still to be written is waited for."""
    name, at, _ = image.partition("@")
    tag = _tag(name)
    if _DIGEST.search(image) or (lock and not has_lock and name and not at and not tag):
        return
    what = f"has the mutable tag {tag!r} and no digest" if tag else "has no digest"
    found = f"{image!r} {'has a digest that is not sha256 with 64 hex digits' if at else what}"
    fix = f"write it as {name.removesuffix(f':{tag}')}@sha256:<digest>, with the digest that your registry shows"
    # A name alone is meant for the lock.
    fix += f", or add it to {lock}" if lock and not at and not tag else ""
    yield Refusal("RW-402", key, found, fix)


def _runtime_class(plan: ModelPlan) -> Iterator[Refusal]:
    wanted, offered = plan.model.runtime_class, plan.pool.runtime_class
    if wanted and wanted != offered:
        has = f"offers {offered!r}" if offered else "needs none"
        found = f"{wanted!r}, pool {plan.pool.name!r} on target {plan.pool.target.name!r} {has}"
        yield plan.refuse("RW-301", "runtime_class", found, "leave it out")


def _labels(plan: ModelPlan) -> Iterator[Refusal]:
    offered = host_labels(plan.pool)
    for label, value in plan.model.node_labels.items():
        if offered.get(label) == value:
            continue
        if label in offered:
            found, fix = f"{value!r}, hosts of pool {plan.pool.name!r} have {offered[label]!r}", f"set {offered[label]}"
        else:
            close = difflib.get_close_matches(label, offered, n=1)
            found = f"no host of pool {plan.pool.name!r} has this label"
            fix = f"did you mean {close[0]!r}?" if close else f"add it to pools.{plan.pool.name}.labels"
        yield plan.refuse("RW-301", f"node_labels.{label}", found, fix)


def _host_paths(plan: ModelPlan) -> Iterator[Refusal]:
    if plan.pool.target.simulates_gpus:
        return
    engine = plan.model.engine_mount
    for key, path in (
        ("weights.host_path", plan.model.weights.host_path),
        ("engine_mount", engine and engine.host_path),
    ):
        if path and not path.startswith("/"):
            found = f"{path!r} starts at a clone, which hosts of pool {plan.pool.name!r} do not have"
            yield plan.refuse("RW-301", key, found, "write it from / on")


def _rdma(plan: ModelPlan) -> Iterator[Refusal]:
    wanted, pool = plan.model.rdma_devices, plan.pool
    offers = asked_in_vain(pool, wanted) if wanted else ""
    if offers:
        least = pool.access and pool.access.asks in ("rails", "networks") and wanted < pool.rails
        most = 0 if pool.pool.fabric == "none" else _most(pool)
        fix = f"set it to {most}, or leave it out" if least else f"set it to {most}, or change the pool"
        yield plan.refuse("RW-301", "rdma_devices", f"{wanted}, pool {pool.name!r} {offers}", fix)


def _most(pool: PoolPlan) -> int:
    """Devices that one pod may ask for at most (count)."""
    if pool.access and pool.access.asks in ("rails", "networks"):
        return pool.rails
    return 1 if pool.access and pool.access.asks == "flag" else pool.rdma_devices


def _engine_args(plan: ModelPlan) -> Iterator[Refusal]:
    """Yield an argument that the plan gives too; the engine would take the last one and run what was not planned."""
    bare = replace(plan, model=plan.model.model_copy(update={"engine_args": ()}))
    ours = {*_PLANNED, *(_flag(arg) for arg in arguments(bare))} - {_flag(arg) for arg in _REMOTE_CODE}
    for arg in plan.model.engine_args:
        if owned := _owned(_flag(arg), ours):
            found = f"{arg!r}, the plan sets {owned} itself"
            yield plan.refuse("RW-501", "engine_args", found, "drop it, and change what the plan reads")


def _owned(flag: str, ours: Iterable[str]) -> str | None:
    """The flag of ours that one stands for; vLLM's parser takes beginnings of names too."""
    is_beginning = flag.startswith("--") and len(flag) > len("--x")
    return next((own for own in sorted(ours) if own == flag or (is_beginning and own.startswith(flag))), None)


def _flag(arg: str) -> str:
    name = arg.partition("=")[0]
    return _SHORT.get(name, name.replace("_", "-"))


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[2]
