"""What must hold of speed for any model and load."""

from __future__ import annotations

import pytest

from infra.plan.layout import Layout
from infra.plan.speed import Load
from tests.unit.plan.speed.machines import PLACES, speed

hypothesis = pytest.importorskip("hypothesis", reason="the properties need hypothesis")
st = hypothesis.strategies

PLACE = st.sampled_from(PLACES)
TOKENS = st.integers(1, 200_000)
REQUESTS = st.integers(1, 2_000)

steady = hypothesis.settings(deadline=None, derandomize=True)
"""The same examples in every run, however busy the machine is."""

Place = tuple[str, Layout, str]


@steady
@hypothesis.given(PLACE, TOKENS, TOKENS, st.tuples(REQUESTS, REQUESTS).map(sorted))
def test_more_concurrency_never_lowers_the_time_of_a_token(
    place: Place, prompt: int, output: int, requests: list[int]
) -> None:
    """Each token and each first token takes as long or longer, and all of them together are no fewer per second."""
    few, many = (speed(place, Load(prompt, output, count)) for count in requests)
    assert few.tpot_s <= many.tpot_s * (1 + 1e-9)
    assert few.ttft_s <= many.ttft_s * (1 + 1e-9)


@steady
@hypothesis.given(PLACE, st.tuples(TOKENS, TOKENS).map(sorted), TOKENS, REQUESTS)
def test_a_longer_prompt_never_lowers_the_time_to_the_first_token(
    place: Place, prompts: list[int], output: int, requests: int
) -> None:
    """Reading more takes as long or longer."""
    short, long = (speed(place, Load(prompt, output, requests)) for prompt in prompts)
    assert short.ttft_s <= long.ttft_s * (1 + 1e-9)


@steady
@hypothesis.given(PLACE, TOKENS, TOKENS, REQUESTS)
def test_the_same_input_gives_the_same_answer(place: Place, prompt: int, output: int, requests: int) -> None:
    """Nothing is drawn and nothing is remembered."""
    load = Load(prompt, output, requests)
    assert speed(place, load) == speed(place, load)


@steady
@hypothesis.given(PLACE, TOKENS, TOKENS, REQUESTS)
def test_rates_and_times_are_one_story(place: Place, prompt: int, output: int, requests: int) -> None:
    """Tokens per second are what the times allow: no more than every request's tokens over its own time."""
    found = speed(place, Load(prompt, output, requests))
    whole = found.ttft_s + (output - 1) * found.tpot_s
    assert found.tokens_per_s * whole == pytest.approx(requests * output)
    assert found.tokens_per_s_per_gpu * place[1].gpus == pytest.approx(found.tokens_per_s)
