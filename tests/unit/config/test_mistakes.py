"""Every mistake is told at once, in a sentence with key, value, what is allowed and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.plan.specs import DROP, STACK, all_said, read

M, P = "models/chat", "pools/gpus"

MISTAKES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["mistake"])
def test_a_mistake_is_told_in_one_sentence(row: dict[str, Any]) -> None:
    """That sentence and no other: what hangs on the mistake is not blamed as well."""
    assert all_said(row["change"]) == [row["said"]]


def test_five_mistakes_of_five_kinds_get_five_messages() -> None:
    """Typo, bad value, missing key, bound, and what only the plan can see; all in one run."""
    second = {**STACK["models"]["chat"], "weights": {"host_path": "/w"}, "tensor_parallel": 16}
    changes = {
        "gateway/drian": "5m",
        "pools/gpus2": {"board": "hgx-h10", "hosts": 1},
        "keys/team/tenant": DROP,
        f"{M}/replicas": 5000,
        "models/second": second,
    }
    assert sorted(all_said(changes)) == [
        "RW-104 models.second.tensor_parallel: 16 GPUs per replica, a host of pool 'gpus' has 8 in one NVLink domain; "
        "set it to 8 or lower",
        "gateway.drian: no such key; did you mean 'drain'?",
        "keys.team.tenant: missing; add it",
        "models.chat.replicas: 5000 is not allowed; it should be less than or equal to 4096, lower it",
        "pools.gpus2.board: 'hgx-h10' is not allowed; did you mean 'hgx-h100'?",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"keys/team": "the-value-itself-0123456789abcdef"},
        {"keys": ["the-value-itself-0123456789abcdef"]},
        {"keys": "the-value-itself-0123456789abcdef"},
        {"keys/team/secret": ["the-value-itself-0123456789abcdef"]},
        {"keys/team/secrt": "the-value-itself-0123456789abcdef"},
        {"keys/team/secret_file": "f", "keys/team/secret": "the-value-itself-0123456789abcdef"},
    ],
    ids=["as the entry", "in a list", "as the section", "wrong type", "typo", "two sources"],
)
def test_a_secret_in_the_wrong_place_is_not_printed(changes: dict[str, Any]) -> None:
    """The mistake is told, the value is not."""
    said = all_said(changes)
    assert said
    assert "the-value-itself" not in "\n".join(said)


def test_a_huge_value_does_not_flood_the_screen() -> None:
    """A sentence quotes the start of a value only."""
    said = all_said({P: ["x" * 100_000]})
    assert len(said) == 1
    assert len(said[0]) < 300


def test_a_mistaken_pool_is_not_missing() -> None:
    """Models on it are not blamed; a model on a pool that nobody wrote still is."""
    other = {**STACK["models"]["chat"], "pool": "nowhere", "weights": {"host_path": "/w"}}
    said = all_said({f"{P}/hosts": 0, "models/other": other})
    assert [sentence.split(":")[0] for sentence in said] == ["pools.gpus.hosts", "RW-301 models.other.pool"]


def test_a_mistaken_model_is_not_missing_to_a_key() -> None:
    """A key that opens it is not blamed."""
    assert all_said({f"{M}/replicas": 0, "keys/team/models": ["chat"]}) == [
        "models.chat.replicas: 0 is not allowed; it should be greater than or equal to 1, raise it"
    ]


def test_mistakes_in_the_gateway_hide_none_elsewhere() -> None:
    """Models are judged all the same, but for what hangs on the gateway's own times."""
    said = all_said({"gateway/idle_timeout": "soon", f"{M}/drain": "1s", f"{M}/min_available": 2})
    assert [sentence.split(":")[0] for sentence in said] == ["gateway.idle_timeout", "RW-204 models.chat.min_available"]


def test_mistakes_in_the_cluster_hide_none_elsewhere() -> None:
    """A target that is right is enough to judge the rest."""
    said = all_said({"cluster/region": "Mars!", f"{M}/min_available": 2})
    assert [sentence.split(":")[0] for sentence in said] == ["cluster.region", "RW-204 models.chat.min_available"]


def test_a_mistaken_lock_makes_no_image_mutable() -> None:
    """Names without digest wait for the lock that was meant; a tag stays refused."""
    changes = {"images": {"lok": "l.json"}, f"{M}/image": "docker.io/x/y", "gateway/image": "docker.io/x/z:1"}
    assert [sentence.split(":")[0] for sentence in all_said(changes)] == ["images.lok", "RW-402 gateway.image"]


def test_two_models_on_one_claim_are_told_apart() -> None:
    """Two Jobs that fill one claim would mix two checkpoints."""
    weights = {"claim": "shared", "storage_class": "fast", "repository": "a/b", "revision": "0" * 40}
    other = {**STACK["models"]["chat"], "weights": weights}
    assert all_said({f"{M}/weights": weights, "models/other": other}) == [
        "models.other.weights.claim: 'shared' belongs to models.chat; each model has its own, rename it"
    ]


def test_the_typo_of_a_section_does_not_hide_what_is_in_it() -> None:
    """A section is read as the one it was meant for."""
    said = all_said({"pols": {"gpus": {"board": "hgx-h100", "hosts": 0}}, "pools": DROP})
    assert [sentence.split(":")[0] for sentence in said] == ["pols", "pools.gpus.hosts"]


def test_a_valid_stack_says_nothing() -> None:
    """Otherwise the tests above would prove little."""
    assert read().problems == ()
    assert all_said({}) == []
