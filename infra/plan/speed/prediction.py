"""The prediction: costs of a load, what the engine makes of the GPU, and how far measurements of the kind lay off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from infra.catalog import collectives, efficiencies
from infra.catalog.architecture import Architecture
from infra.catalog.efficiencies import Efficiency, Fit, Kind
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.catalog.quantisations import quantisation
from infra.errors import ConfigError
from infra.plan.formats import instead, unfit
from infra.plan.layout import Layout
from infra.plan.speed.costs import Batch, Costs, Model
from infra.plan.speed.result import Band, Bound, Load, Speed
from infra.plan.speed.shares import Machine
from infra.plan.speed.times import compute_s, links_s, memory_s, times


def predict(
    architecture: Architecture,
    layout: Layout,
    gpu: Gpu,
    engine: Engine,
    form: str,
    load: Load,
    *,
    kv_dtype: str = "auto",
) -> Speed:
    """Predict the speed of one replica under a load.

    Args:
        architecture: what is served.
        layout: how its GPUs share it.
        gpu: each of them.
        engine: what serves it.
        form: format of the weights, as ``infra.catalog.quantisations`` names it.
        load: requests that it answers.
        kv_dtype: format of cached keys and values; ``auto``: what the checkpoint asks for, else 16 bits.
    Raises:
        ConfigError: a load without tokens or requests, or a format that the GPU should not run.
        Unknown: a cache format whose layout is not known.
    """
    return predictor(architecture, layout, gpu, engine, form, kv_dtype=kv_dtype)(load)


def predictor(
    architecture: Architecture, layout: Layout, gpu: Gpu, engine: Engine, form: str, *, kv_dtype: str = "auto"
) -> Callable[[Load], Speed]:
    """Sum a model up once, and predict any number of loads; arguments as for ``predict``."""
    fit = efficiencies.published()
    weights = quantisation(form)
    if reason := unfit(weights, gpu):
        raise ConfigError(f"format {form!r} — {reason}; choose another one, such as {instead(weights, gpu)!r}")
    kept = (architecture.kv_dtype or "auto") if kv_dtype == "auto" else kv_dtype
    machine = Machine(layout, gpu, weights, kept)
    model = Model(architecture, machine)
    kind: Kind = "mixture" if any(layer.experts for layer in architecture.layers) else "dense"
    fixed = tuple(_outside(fit, kind, engine.name, machine))
    made = fit.efficiency(kind, engine.name, gpu)
    basis = _basis(fit, engine.name, gpu)

    def at(load: Load) -> Speed:
        _check(load)
        prompt, step = costs_of(model, load)
        others = requests_of(layout, load) - 1
        first, between = times(
            prompt, step, made, requests=others + 1, others=others / layout.pipeline, output=load.output
        )
        extrapolated = (*fixed, *_beyond(fit, layout, load))
        bands = fit.band(kind, engine.name, gpu, is_extrapolated=bool(extrapolated))
        rate = load.concurrency * load.output / (first + (load.output - 1) * between)
        return Speed(
            ttft_s=first,
            tpot_s=between,
            tokens_per_s=rate,
            tokens_per_s_per_gpu=rate / layout.gpus,
            ttft_band=Band(bands.ttft.least, bands.ttft.most),
            band=Band(bands.tpot.least, bands.tpot.most),
            basis=basis,
            extrapolated=extrapolated,
            bound=_bound(step, made),
            promise=bands.promise,
            notes=_notes(machine),
        )

    return at


def requests_of(layout: Layout, load: Load) -> float:
    """Requests that share a data-parallel rank (count)."""
    return max(1.0, load.concurrency / layout.data)


def costs_of(model: Model, load: Load) -> tuple[Costs, Costs]:
    """Cost of reading a prompt on every data-parallel rank, and of writing one token of every request."""
    layout = model.machine.layout
    # Each pipeline stage works on a part of the requests while the others work on theirs.
    requests = max(1.0, requests_of(layout, load) / layout.pipeline) * layout.data
    prompt = Batch(layout.data, load.prompt, load.prompt / 2, is_prompt=True)
    return model.costs(prompt), model.costs(Batch(requests, 1, load.prompt + load.output / 2, is_prompt=False))


def _check(load: Load) -> None:
    for name, value in (("prompt", load.prompt), ("output", load.output), ("concurrency", load.concurrency)):
        if value < 1:
            raise ConfigError(f"load: {name} {value!r} — must be at least 1; set it to what is expected in service")


def _outside(fit: Fit, kind: Kind, engine: str, machine: Machine) -> Iterator[str]:
    """Yield what of a machine no measurement covers."""
    layout, gpu, form = machine.layout, machine.gpu, machine.form
    if efficiencies.pair(engine, gpu) not in fit.rows:
        yield efficiencies.pair(engine, gpu)
    if form.name not in fit.formats[kind]:
        yield f"format {form.name}"
    if layout.pipeline > 1:
        yield f"pipeline parallel {layout.pipeline}"
    for name, ranks in (("tensor", layout.tensor), ("data", layout.data)):
        if not fit.ranges[name].holds(ranks):
            yield f"{name} parallel {ranks}"
    if not collectives.is_measured(gpu, "all_reduce", layout.tensor):
        yield f"links of {layout.tensor} {gpu.name}"


def _notes(machine: Machine) -> tuple[str, ...]:
    warned = collectives.UNKNOWN_TO_SOME.get(machine.gpu.capability) if machine.layout.tensor > 1 else None
    return (warned,) if warned else ()


def _beyond(fit: Fit, layout: Layout, load: Load) -> Iterator[str]:
    """Yield what of a load lies outside of the measured spans."""
    for name, value in (
        ("prompt", load.prompt),
        ("output", load.output),
        ("concurrency", requests_of(layout, load)),
    ):
        if not fit.ranges[name].holds(value):
            yield f"{name} {value:g}"


def _basis(fit: Fit, engine: str, gpu: Gpu) -> str:
    level = efficiencies.pair(engine, gpu)
    if level in fit.rows:
        models = ", ".join(name.rsplit("/", 1)[-1] for name in fit.models[level])
        return f"{fit.rows[level]} rows of {level} ({models}), {fit.date}"
    return f"{sum(fit.rows.values())} rows of other engines and GPUs, {fit.date}"


def _bound(step: Costs, made: Efficiency) -> Bound:
    """Which resource takes the largest part of writing a token."""
    parts: dict[Bound, float] = {
        "memory": memory_s(step, made) + step.cache / made.cache_bandwidth,
        "compute": compute_s(step, made),
        "links": links_s(step, made),
    }
    return max(parts, key=lambda name: parts[name])
