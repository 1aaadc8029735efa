"""``python -m infra.document.stacks``: write the page of all examples, each with its plan and what it costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.config.load import from_file
from infra.document.host_tuning import ROOT
from infra.document.write import stack_document
from infra.plan.build import build
from infra.plan.facts import ModelPlan, Plan, PoolPlan

PAGE = ROOT / "docs/stacks.md"
"""Where the page is."""

_HEAD = """# Example stacks

Made by `python -m infra.document.stacks` from `stacks/`; do not edit. Each is planned as `infra plan STACKFILE` does.
Names, ids and account numbers in them are examples; so are prices, which are public references until you say your own
(`prices` in the stack file).
"""


def written() -> dict[Path, str]:
    """The page with its text."""
    return {PAGE: page()}


def page() -> str:
    """All examples, in the order of their names."""
    files = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    return "\n".join([_HEAD, *(line for path in files for line in _stack(path))]).rstrip() + "\n"


def _stack(path: Path) -> Iterator[str]:
    # Of a fresh clone: whether a lock of images is there already is no matter of the example.
    spec = from_file(path)
    if spec.stack is None:
        return
    plan = build(spec, spec.stack)
    document = json.loads(stack_document(spec.name, plan, []).model_dump_json())
    yield f"## {spec.name}\n"
    yield f"`stacks/{path.name}`, target {plan.target.name}{_where(plan)}.\n"
    yield "| pool | machine type | board | hosts (spare) | GPUs | fabric | had by | a month |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from map(_pool, plan.pools)
    yield "\n| model | engine | replicas × GPUs | format | KV tokens of a replica | starts within |"
    yield "| --- | --- | --- | --- | --- | --- |"
    yield from map(_model, plan.models)
    yield f"\n{_cost(document)}\n"
    yield from _needs(plan)


def _where(plan: Plan) -> str:
    if plan.cloud is None:
        return ""
    return f", region {plan.region}, a cluster that {'the stack makes' if plan.cloud.made else 'is there'}"


HOURS = 730
"""Hours of a month (count). Source: 365 days of 24 hours in 12 months."""


def _pool(item: PoolPlan) -> str:
    pool = item.pool
    month = f"${item.usd_per_hour * HOURS:,.0f}" if item.usd_per_hour is not None else "not known"
    cells = (
        item.name,
        pool.shape or "–",
        pool.board,
        f"{pool.hosts} ({pool.spare_hosts})",
        str(item.gpus),
        pool.fabric,
    )
    return f"| {' | '.join((*cells, pool.supply.kind if pool.shape else '–', month))} |"


def _model(item: ModelPlan) -> str:
    minutes = f"{-(-item.startup.budget // 60):.0f} min"
    cells = (
        item.name,
        f"{item.model.engine} {item.model.engine_version}",
        f"{item.model.replicas} × {item.layout.gpus}",
        str(item.format),
        f"{item.memory.kv_tokens:,}",
        minutes,
    )
    return f"| {' | '.join(cells)} |"


def _cost(document: dict[str, Any]) -> str:
    usd = document["usd_per_hour"]
    return f"All hosts, busy or not: ${usd:,.2f} an hour." if usd is not None else "What it costs is not known: say it."


def _needs(plan: Plan) -> Iterator[str]:
    if plan.needs:
        yield "The account needs before:\n"
    for need in plan.needs:
        much = f"{need.amount:,} {need.unit} of " if need.amount is not None else ""
        yield f"- {need.kind}: {much}`{need.name}` in `{need.place}`, for {need.for_whom} ({need.source})"
    if plan.needs:
        yield ""


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
