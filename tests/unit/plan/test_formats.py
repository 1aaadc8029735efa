"""Number formats: what a GPU runs, what the user's scores allow, and how the engine is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.gpus import GPUS
from infra.catalog.quantisations import QUANTISATIONS
from infra.config.evidence import Evidence
from infra.plan.engine_args import arguments
from infra.plan.formats import Format, allowed, instead, needs_evidence, scores, unfit, unfit_cache
from infra.plan.manifests.model import objects
from tests.unit.config.test_evidence import SCORE
from tests.unit.plan.specs import model_of, plan_of

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
FP8 = {"models/chat/quantisation": "fp8", "models/chat/evidence": "scores.json"}


@pytest.mark.parametrize(
    ("form", "gpu", "runs"),
    [
        ("bf16", "a100", True),
        ("fp8", "a100", True),
        ("fp8", "l40s", True),
        ("w8a8-int8", "h100", True),
        ("w8a8-int8", "b200", False),
        ("w8a8-int8", "b300", False),
        ("w8a8-int8", "rtx-pro-6000", False),
        ("w4a8-fp8", "h200", True),
        ("w4a8-fp8", "b200", False),
        ("w4a8-fp8", "a100", False),
        ("nvfp4", "b300", True),
        ("nvfp4", "h100", True),
        ("mxfp4", "h100", True),
        ("mxfp4", "a100", True),
    ],
)
def test_a_format_is_for_the_gpus_that_have_kernels_for_it(form: str, gpu: str, runs: bool) -> None:
    """vllm#35439, #27182, #25935, and the INT8 peak of B300; weight-only paths save memory, so they are let through."""
    assert (unfit(QUANTISATIONS[form], GPUS[gpu]) == "") is runs


@pytest.mark.parametrize(
    ("cache", "gpu", "runs"),
    [
        ("auto", "a100", True),
        ("fp8", "h100", True),
        ("fp8", "a100", False),
        ("nvfp4", "b200", True),
        ("nvfp4", "b300", True),
        ("nvfp4", "rtx-pro-6000", False),
        ("nvfp4", "h100", False),
    ],
)
def test_a_cache_format_is_for_the_gpus_that_have_kernels_for_it(cache: str, gpu: str, runs: bool) -> None:
    """NVFP4 caches run on compute capability 10 alone, vllm#43562."""
    assert (unfit_cache(cache, GPUS[gpu]) == "") is runs


@pytest.mark.parametrize(
    ("form", "gpu", "other"),
    [("w8a8-int8", "b300", "fp8"), ("w4a8-fp8", "b200", "w4a16"), ("w4a8-fp8", "a100", "w4a16")],
)
def test_a_format_that_does_not_run_has_one_that_does(form: str, gpu: str, other: str) -> None:
    """No larger than what was asked for, so that it fits as well."""
    assert instead(QUANTISATIONS[form], GPUS[gpu]) == other
    assert unfit(QUANTISATIONS[other], GPUS[gpu]) == ""


@pytest.mark.parametrize(
    ("checkpoint", "form", "needed"),
    [
        (LLAMA, Format("bf16"), False),
        (LLAMA, Format("fp8"), True),
        (LLAMA, Format("bf16", "fp8"), True),
        ("deepseek-ai/DeepSeek-R1", Format("fp8-block"), False),
        ("Qwen/Qwen3-235B-A22B-FP8", Format("fp8-block"), True),
        ("openai/gpt-oss-120b", Format("mxfp4"), False),
    ],
    ids=str,
)
def test_what_costs_accuracy_needs_a_score(checkpoint: str, form: Format, needed: bool) -> None:
    """All but what the makers of a model published in no larger format."""
    assert needs_evidence(form, CHECKPOINTS[checkpoint]) is needed


def _scores(tmp_path: Path, *changes: dict[str, Any]) -> Path:
    (tmp_path / "scores.json").write_text(json.dumps([{**SCORE, **change} for change in changes]), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([{}], []),
        ([{"quantised_score": 0.7}], ["loses 0.1 on 'our tickets', 0.01 is allowed"]),
        ([{"checkpoint": "meta-llama/Llama-3.1-70B-Instruct"}], ["no score of"]),
        ([{"quantisation": "nvfp4"}], ["no score of"]),
        ([{"kv_cache_dtype": "fp8"}], ["no score of"]),
        ([{}, {"task": "code", "quantised_score": 0.6}], ["loses 0.2 on 'code'"]),
        ([{"quantised_score": 0.7, "date": "2026-01-01"}, {}], []),
        ([{}, {"quantised_score": 0.7, "date": "2026-12-01"}], ["loses 0.1"]),
    ],
    ids=["held", "lost", "other model", "other format", "other cache", "one of two", "mended since", "broken since"],
)
def test_the_loss_is_enforced(tmp_path: Path, changes: list[dict[str, Any]], found: list[str]) -> None:
    """What was scored is what is served, every task holds, and of one task the last score counts."""
    refusals = plan_of(FP8, root=_scores(tmp_path, *changes)).refusals
    assert [item.id for item in refusals] == ["RW-103"] * len(found)
    assert all(said in item.found for said, item in zip(found, refusals, strict=True)), refusals


def test_a_format_made_at_load_is_asked_for_and_stated(tmp_path: Path) -> None:
    """The engine is told, and the pod says what it was scored at, for who judges the pod alone."""
    (plan,) = plan_of(FP8, root=_scores(tmp_path, {})).models
    assert "--quantization=fp8" in arguments(plan)
    notes = objects(plan, [])["deploy"]["spec"]["template"]["metadata"]["annotations"]
    assert notes["railwright.dev/quantisation"] == "fp8"
    assert notes["railwright.dev/evidence"] == "our tickets 2026-11-20: lost 0.01 of 0.01 allowed"


def test_the_format_of_a_checkpoint_is_found_by_the_engine() -> None:
    """vLLM refuses a flag that names another method than the checkpoint's own config."""
    plan = model_of({"models/chat/architecture": "openai/gpt-oss-20b"})
    assert plan.format == Format("mxfp4")
    assert not [arg for arg in arguments(plan) if "quantization" in arg]


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, set()),
        ({"pipeline_parallel": 2}, {"--pipeline-parallel-size=2"}),
        (
            {"architecture": "openai/gpt-oss-20b", "data_parallel": 2, "expert_parallel": True},
            {"--data-parallel-size=2", "--enable-expert-parallel"},
        ),
        ({"kv_cache_dtype": "fp8"}, {"--kv-cache-dtype=fp8"}),
        ({"max_num_seqs": 64}, {"--max-num-seqs=64"}),
        ({"max_num_batched_tokens": 4096}, {"--max-num-batched-tokens=4096"}),
    ],
    ids=["nothing", "stages", "experts", "cache", "requests", "tokens"],
)
def test_what_the_spec_says_is_what_the_engine_is_told(changes: dict[str, Any], flags: set[str]) -> None:
    """Every key that is set has its argument, and no other argument changes."""
    usual = set(arguments(model_of()))
    given = set(arguments(model_of({f"models/chat/{key}": value for key, value in changes.items()})))
    assert flags <= given
    assert {arg.partition("=")[0] for arg in given - usual} == {flag.partition("=")[0] for flag in flags}


def test_a_replica_asks_for_the_gpus_of_all_its_ranks() -> None:
    """Ranks, stages and copies each take some."""
    plan = model_of({"models/chat/tensor_parallel": 2, "models/chat/pipeline_parallel": 2})
    pod = objects(plan, [])["deploy"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "4"
    assert plan.placement.replicas_per_host == 2


def test_only_formats_with_good_scores_may_be_chosen() -> None:
    """The checkpoint's own comes first; one that lost too much, or that the GPU cannot run, is not offered."""
    told = [
        Evidence.model_validate({**SCORE, **change})
        for change in ({}, {"quantisation": "nvfp4", "quantised_score": 0.5}, {"quantisation": "w8a8-int8"})
    ]
    assert list(allowed(CHECKPOINTS[LLAMA], told, GPUS["h100"])) == [
        Format("bf16"),
        Format("fp8"),
        Format("w8a8-int8"),
    ]
    assert list(allowed(CHECKPOINTS[LLAMA], told, GPUS["b300"])) == [Format("bf16"), Format("fp8")]


def test_of_two_scores_of_one_day_the_worse_counts() -> None:
    """Whichever stands last in the file."""
    good, bad = (Evidence.model_validate({**SCORE, "quantised_score": score}) for score in (0.80, 0.5))
    for written in ((good, bad), (bad, good)):
        assert scores(Format("fp8"), LLAMA, written) == [bad]
