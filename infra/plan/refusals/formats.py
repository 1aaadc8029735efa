"""RW-103: a number format that the GPU does not run, that the checkpoint is not in, or that nobody has scored."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.quantisations import QUANTISATIONS
from infra.plan.facts import ModelPlan, Refusal
from infra.plan.formats import AT_LOAD, instead, needs_evidence, unfit, unfit_cache


def check(plan: ModelPlan, *, is_told: bool = False) -> Iterator[Refusal]:
    """Yield what is wrong with the formats of weights and cache; one that cannot run is not asked for a score.

    Args:
        is_told: the file of scores could not be read, which was said where it was read.
    """
    wrong = [*_checkpoint(plan), *_gpu(plan)]
    yield from wrong or (() if is_told else _accuracy(plan))


def _checkpoint(plan: ModelPlan) -> Iterator[Refusal]:
    """The engine makes few formats itself; all others have to be in the checkpoint."""
    asked, own = plan.model.quantisation, plan.shape.quantisation
    if asked is None or asked == (own or "bf16"):
        return
    if own:
        found = f"{asked!r}, checkpoint {plan.shape.name} is in {own}, and nothing is made of that"
        yield plan.refuse("RW-103", "quantisation", found, "leave it out, or name another checkpoint")
    elif asked not in AT_LOAD:
        makes = ", ".join(AT_LOAD)
        found = f"{asked!r}, checkpoint {plan.shape.name} is in bf16, of which the engine makes {makes} alone"
        fix = f"set models.{plan.name}.config to the config.json of a checkpoint in {asked}"
        yield plan.refuse("RW-103", "quantisation", found, fix)


def _gpu(plan: ModelPlan) -> Iterator[Refusal]:
    gpu = plan.pool.board.gpu
    if gpu is None:
        return
    form = QUANTISATIONS[plan.format.weights]
    if why := unfit(form, gpu):
        yield plan.refuse("RW-103", "quantisation", f"{form.name!r} {why}", f"use a checkpoint in {instead(form, gpu)}")
    if why := unfit_cache(plan.format.cache, gpu):
        yield plan.refuse("RW-103", "kv_cache_dtype", f"{plan.format.cache!r} {why}", "leave it out")


def _accuracy(plan: ModelPlan) -> Iterator[Refusal]:
    if not needs_evidence(plan.format, plan.shape):
        return
    if not plan.scores:
        said = f"no score of {plan.shape.name} in {plan.format} on a task of yours"
        fix = "score it and the larger format on your own task, and name the file of the scores here"
        yield plan.refuse("RW-103", "evidence", said, fix)
    for score in plan.scores:
        if not score.holds:
            said = f"{plan.format} loses {score.loss:.4g} on {score.task!r}, {score.allowed_loss:.4g} is allowed"
            yield plan.refuse("RW-103", "evidence", said, "use the larger format, or allow more if the task bears it")
