"""From plan to document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from infra.document import model as parts
from infra.document.plan import ChangePart, DiffDocument, GatewayPart, NeedPart, PlanDocument, PoolPart
from infra.plan.diff import Change, usd_per_hour
from infra.plan.goals import SHORT_OF
from infra.plan.layout import Layout
from infra.plan.outlook import Outlook, outlook_of

if TYPE_CHECKING:
    from infra.plan.choice import Choice, Option
    from infra.plan.facts import ModelPlan, Plan, PoolPlan
    from infra.plan.speed import Band


def stack_document(stack: str, plan: Plan | None, problems: Iterable[str]) -> PlanDocument:
    """Write a stack down; without a plan only what is wrong."""
    refused = list(problems)
    if plan is None:
        return PlanDocument(
            stack=stack,
            problems=refused,
            notes=[],
            target=None,
            needs=[],
            pools=[],
            models=[],
            gateway=None,
            usd_per_hour=None,
        )
    gateway = plan.gateway
    return PlanDocument(
        stack=stack,
        problems=refused,
        notes=list(plan.notes),
        target=plan.target.name,
        needs=[NeedPart(**asdict(need)) for need in plan.needs],
        pools=[_pool(item) for item in plan.pools],
        models=[model_part(outlook_of(item, refused), _service(item)) for item in plan.models],
        gateway=GatewayPart(
            image=gateway.image,
            replicas=gateway.gateway.replicas,
            longest_answer_s=gateway.longest_answer,
            grace_s=gateway.grace,
        ),
        usd_per_hour=usd_per_hour(plan),
    )


def single_document(outlook: Outlook) -> PlanDocument:
    """Write one model without a stack down."""
    return PlanDocument(
        stack=None, problems=list(outlook.problems), notes=[], target=None, needs=[], pools=[],
        models=[model_part(outlook)], gateway=None, usd_per_hour=outlook.cost.usd_per_hour if outlook.cost else None,
    )  # fmt: skip


def diff_document(before: str, after: str, changes: Iterable[Change]) -> DiffDocument:
    """Write a difference down."""
    rows = [ChangePart(**asdict(change), grows_by=change.grows_by) for change in changes]
    return DiffDocument(before=before, after=after, changes=rows)


def model_part(outlook: Outlook, service: parts.ServicePart | None = None) -> parts.ModelPart:
    """Write one model down."""
    single, load = outlook.single, outlook.load
    return parts.ModelPart(
        name=single.name,
        replicas=outlook.replicas,
        architecture=_architecture(outlook),
        engine=single.engine.name,
        engine_version=single.version,
        gpu=single.gpu.name if single.gpu else None,
        layout=_layout(single.layout),
        options=_options(outlook),
        memory=_memory(outlook),
        problems=list(outlook.problems),
        load=parts.LoadPart(**asdict(load)) if load else None,
        speed=_speed(outlook),
        speed_unknown=outlook.unknown,
        cost=_cost(outlook),
        start=_start(outlook),
        choice=_choice(outlook.choice),
        ways=[_way(outlook, number) for number in range(len(outlook.ways))],
        service=service,
    )


def _architecture(outlook: Outlook) -> parts.ArchitecturePart:
    shape = outlook.single.architecture
    return parts.ArchitecturePart(
        name=shape.name, family=shape.family, parameters=shape.parameters, active_parameters=shape.active_parameters,
        layers=len(shape.layers), heads=shape.heads, kv_heads=shape.kv_heads, max_context=shape.max_context,
        quantisation=shape.quantisation, source=shape.source,
    )  # fmt: skip


def _layout(layout: Layout) -> parts.LayoutPart:
    return parts.LayoutPart(gpus=layout.gpus, **asdict(layout))


def _options(outlook: Outlook) -> parts.OptionsPart:
    single, settings = outlook.single, outlook.single.settings
    shape, options = single.architecture, single.options
    return parts.OptionsPart(
        utilisation=settings.share, max_len=settings.length, max_seqs=settings.seqs, batched_tokens=settings.tokens,
        quantisation=options.quantisation or shape.quantisation or shape.dtype, kv_dtype=options.kv_dtype,
        eager=options.eager, speculative_tokens=options.speculative_tokens,
    )  # fmt: skip


def _memory(outlook: Outlook) -> parts.MemoryPart:
    memory, pool = outlook.memory, outlook.memory.pool
    lengths = dict.fromkeys((outlook.length, outlook.single.settings.length))
    return parts.MemoryPart(
        total_bytes=memory.total, usable_bytes=memory.usable, weights_bytes=memory.weights,
        activation_bytes=memory.activation, runtime_bytes=memory.runtime, graphs_bytes=memory.graphs,
        kv_pool_bytes=memory.kv_pool, headroom_bytes=memory.headroom, margin_bytes=memory.margin, rank=memory.rank,
        starts=memory.starts, fits=memory.fits, kv_tokens=memory.kv_tokens,
        longest_tokens=memory.longest(outlook.single.architecture.max_context),
        pool=parts.PoolOfBlocks(
            blocks=pool.blocks, bytes_per_block=pool.bytes_per_block, block_tokens=pool.block_tokens,
            bytes_per_token=pool.bytes_per_token,
        ) if pool else None,
        at_once=[parts.Held(tokens=length, requests=memory.concurrency(length)) for length in lengths],
        notes=list(memory.notes),
    )  # fmt: skip


def _speed(outlook: Outlook) -> parts.SpeedPart | None:
    speed = outlook.speed
    if speed is None:
        return None
    return parts.SpeedPart(
        ttft_s=_spread(speed.ttft_s, speed.ttft_band), tpot_s=_spread(speed.tpot_s, speed.band),
        tokens_per_s=speed.tokens_per_s, tokens_per_s_per_gpu=speed.tokens_per_s_per_gpu,
        promised_tokens_per_s=speed.promised_per_s, bound=speed.bound, basis=speed.basis,
        extrapolated=list(speed.extrapolated), notes=list(speed.notes),
    )  # fmt: skip


def _spread(value: float, band: Band) -> parts.Spread:
    return parts.Spread(expected=value, low=value * band.low, high=value * band.high)


def _cost(outlook: Outlook) -> parts.CostPart | None:
    cost = outlook.cost
    if cost is None:
        return None
    price = cost.price
    return parts.CostPart(
        usd_per_gpu_hour=price.usd_per_gpu_hour, price_basis=price.basis, price_as_of=price.as_of,
        price_source=price.source, usd_per_hour=cost.usd_per_hour, floor_usd_per_hour=cost.floor_usd_per_hour,
        share=cost.share, usd_per_request=cost.usd_per_request, usd_per_million_in=cost.usd_per_million_in,
        usd_per_million_out=cost.usd_per_million_out,
    )  # fmt: skip


def _start(outlook: Outlook) -> parts.StartPart | None:
    start = outlook.startup
    if start is None:
        return None
    return parts.StartPart(
        read_s=start.read, copy_s=start.copy, compile_s=start.compile, capture_s=start.capture,
        prompt_s=start.prompt, floor_s=start.floor, budget_s=start.budget,
    )  # fmt: skip


def _choice(choice: Choice | None) -> parts.ChoicePart | None:
    if choice is None:
        return None
    misses = [
        f"{miss.layout.gpus} GPUs in {miss.format}: {SHORT_OF.get(miss.because, miss.because)}"
        for miss in choice.misses
    ]
    return parts.ChoicePart(
        best=_option(choice.best), runner_up=_option(choice.runner_up), likely=_option(choice.likely),
        binds=choice.binds, misses=misses,
    )  # fmt: skip


def _option(option: Option | None) -> parts.OptionPart | None:
    if option is None:
        return None
    limits = option.limits
    return parts.OptionPart(
        layout=_layout(option.layout), format=str(option.format), replicas=option.replicas,
        likely_replicas=option.likely, gpus=option.gpus, utilisation=limits.utilisation,
        max_seqs=limits.max_seqs, batched_tokens=limits.batched_tokens,
    )  # fmt: skip


def _way(outlook: Outlook, number: int) -> parts.WayPart:
    way = outlook.ways[number]
    return parts.WayPart(
        name=way.name, kv_pool_bytes=way.memory.kv_pool, kv_tokens=way.memory.kv_tokens,
        longest_tokens=way.memory.longest(outlook.single.architecture.max_context), fits=way.memory.fits,
    )  # fmt: skip


def _pool(item: PoolPlan) -> PoolPart:
    pool = item.pool
    return PoolPart(
        name=item.name, board=item.board.name, gpu=item.board.gpu.name if item.board.gpu else None, gpus=item.gpus,
        hosts=pool.hosts, spare_hosts=pool.spare_hosts, leaves=-(-pool.hosts // pool.hosts_per_leaf),
        fabric=pool.fabric, is_simulated=item.simulated, usd_per_hour=item.usd_per_hour,
    )  # fmt: skip


def _service(item: ModelPlan) -> parts.ServicePart:
    place, roll = item.placement, item.rollover
    return parts.ServicePart(
        pool=item.pool.name, image=item.image, pod_memory_bytes=item.pod_memory.limit, cpus=item.cpus,
        first_host=place.first_host, hosts=place.hosts, leaves=list(place.leaves), unplaced=place.unplaced,
        grace_s=item.shutdown.grace, max_surge=roll.max_surge, max_unavailable=roll.max_unavailable,
        min_available=roll.min_available,
    )  # fmt: skip
