"""The bench judges every published run or says why it cannot, and its fit finds what is there to be found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from infra.catalog.efficiencies import published
from infra.plan.speed.times import times
from tests.bench.planner_accuracy.fit import fit, predicted
from tests.bench.planner_accuracy.runs import CONTRADICTED, REFUSED, RUNS, Case, _case, _consistent, cases
from tests.bench.planner_accuracy.throughput import OVER, _rounds, figures

ROW = {
    "mode": "agg", "benchmark": "inferencex", "model": "meta-llama/Llama-3.1-70B", "gpu": "h200", "engine": "vllm",
    "version": "", "format": "fp8", "tensor": "4", "pipeline": "1", "data": "1", "expert_tensor": "4",
    "expert_ranks": "1", "prompt": "1024", "output": "1024", "concurrency": "16", "batch": "16", "ttft_ms": "126.2",
    "tpot_ms": "10.94",
}  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), [
    ({"mode": "disagg"}, "disaggregated"),
    ({"concurrency": ""}, "concurrency is not given"),
    ({"ttft_ms": "50001"}, "queueing: first token"),
    ({"concurrency": "512", "batch": "512", "tensor": "1", "tpot_ms": "99"}, "queueing: the cache holds fewer"),
    ({"tpot_ms": "1.5"}, "speculative decoding"),
    ({"tensor": "64"}, "ranks contradict"),
    ({"data": "0"}, "ranks contradict"),
    ({"batch": "4"}, "not that of one replica"),
    ({"format": "", "tensor": "1", "tpot_ms": "99"}, "weights do not fit"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_rows_that_cannot_be_judged_say_why(change: dict[str, str], reason: str) -> None:
    """One change turns a good row into one that is listed with its reason."""
    assert _case(ROW).load.prompt == 922
    with pytest.raises(Exception, match=reason):
        _case(ROW | change)


def test_a_run_that_busier_ones_contradict_is_not_judged() -> None:
    """One row says 64 ms a token with 16 requests, where 64 requests took less than half of that."""
    runs = [
        _case(ROW | {"concurrency": count, "batch": count, "tpot_ms": ms}) for count, ms in (("16", "64"), ("64", "25"))
    ]
    assert list(_consistent(runs)) == runs[1:]
    assert cases()[1][CONTRADICTED] == 12


def test_a_queue_is_answered_by_full_batches_and_a_rest() -> None:
    """The last round of a benchmark does not fill the batch, and its rate says so."""
    assert (_rounds(1500, 400), _rounds(1500, 500), _rounds(1500, 2000)) == ([400] * 3 + [300], [500] * 3, [1500])


def test_most_tokens_per_second_are_not_promised_above_what_was_published() -> None:
    """Three figures were 39 to 68 % too high: their batch was one that the engine never lets in."""
    assert [one.name for one in figures()[0] if one.promised > OVER] == []


def test_no_row_is_lost() -> None:
    """Judged and refused rows together are all rows of the file."""
    judged, refused = cases()
    assert len(judged) + sum(refused.values()) == len(RUNS.read_text(encoding="utf-8").splitlines()) - 1 == 5221
    most, others = figures()
    assert len(most) + sum(others.values()) == 79


def test_no_layout_is_refused_that_was_measured() -> None:
    """A run is proof that its layout works, whatever is thought of its format."""
    assert not [reason for reason in cases()[1] if reason.startswith(REFUSED)]


def test_the_fit_finds_what_made_the_times() -> None:
    """Times that a slower machine would have taken are predicted to a fiftieth once they have been fitted."""
    runs = [run for run in cases()[0] if run.kind == "dense"]
    true = {level: dict(row) for level, row in published().effects.items()}
    true["all"]["bandwidth"] *= 0.8
    true["vllm"]["first_s"] *= 2
    made = [
        replace(run, ttft_s=ttft, tpot_s=tpot) for run, ttft, tpot in zip(runs, *predicted(true, runs), strict=True)
    ]
    found = predicted(fit(made), made)
    for times_found, times_true in zip(found, predicted(true, runs), strict=True):
        assert np.median(np.abs(times_found / times_true - 1)) < 0.02


def test_what_is_fitted_is_what_plans_use() -> None:
    """Arrays and single numbers go through the same arithmetic."""
    run: Case = _case(ROW)
    made = published().efficiency(run.kind, run.engine, run.gpu)
    one = times(run.prompt, run.step, made, requests=16, others=15, output=922)
    many = predicted({level: dict(row) for level, row in published().effects.items()}, [run])
    assert [float(value[0]) for value in many] == pytest.approx(list(one))
