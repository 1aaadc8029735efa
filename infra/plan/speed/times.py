"""Times out of costs and efficiencies. The arithmetic takes numbers and arrays alike, so that what is fitted is what
plans use.
"""

from __future__ import annotations

from infra.catalog.efficiencies import Efficiency
from infra.plan.speed.costs import Costs


def memory_s(costs: Costs, made: Efficiency) -> float:
    """Time to read weights (seconds)."""
    return costs.weights / made.bandwidth + costs.experts / made.expert_bandwidth


def compute_s(costs: Costs, made: Efficiency) -> float:
    """Time for the arithmetic (seconds); of a smaller format's gain, only a part is real."""
    # The smallest number keeps 0 ** 0 out where there is no arithmetic of this kind.
    plain = costs.small_bf16 + 1e-30
    gain: float = ((costs.small + 1e-30) / plain) ** made.format_gain
    return (costs.bf16 + plain * gain) / made.compute


def links_s(costs: Costs, made: Efficiency) -> float:
    """Time of the collectives (seconds)."""
    return costs.links + costs.exchanges * made.exchange_s


def pass_s(costs: Costs, made: Efficiency) -> float:
    """Time of one pass (seconds).

    Reading weights and arithmetic hide each other only in part: more than the longer of them, less than both.
    """
    matrices: float = (memory_s(costs, made) ** 2 + compute_s(costs, made) ** 2) ** 0.5
    overhead = costs.layers * made.layer_s + made.step_s
    return matrices + costs.cache / made.cache_bandwidth + links_s(costs, made) + overhead


def times(
    prompt: Costs, step: Costs, made: Efficiency, *, requests: float, others: float, output: float
) -> tuple[float, float]:
    """Time to the first token, and from a token to the next (seconds).

    Args:
        prompt: cost of reading one prompt.
        step: cost of writing one token of each request.
        made: what the engine makes of the GPU.
        requests: requests in a batch (count).
        others: requests whose prompts hold up one that is being answered (count).
        output: tokens of an answer.
    """
    reading = pass_s(prompt, made)
    first = made.first_s + reading * (1 + made.queue * others)
    writing = pass_s(step, made) + requests * made.request_s
    # A prompt holds up only requests that are being answered; those are the share ``answering / (first + answering)``
    # of all, which makes the time between tokens the root of a quadratic equation.
    rest = first - output * writing - others * reading
    between: float = ((rest**2 + 4 * output * writing * first) ** 0.5 - rest) / (2 * output)
    # While one GPU reads all prompts in turn, a request cannot take less than those and its own answer.
    least = made.first_s + reading * (1 + others) - (output - 1) * (between - writing)
    return (first + least + abs(first - least)) / 2, between
