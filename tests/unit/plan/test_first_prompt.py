"""OOM in service after /health was 200: a replica reads its longest prompt before it counts as ready (vllm#44209)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import VLLM
from infra.catalog.gpus import GPUS
from infra.plan.first_prompt import first_prompt
from infra.plan.formats import Format
from infra.plan.layout import Layout
from infra.plan.manifests import startup_probe
from infra.plan.manifests.model import objects
from tests.unit.plan.specs import LAB, STACK, all_said, model_of

M = "models/chat"


def _container(changes: dict[str, Any] | None = None, base: dict[str, Any] = STACK) -> dict[str, Any]:
    deployment = objects(model_of(changes, base), ["gateway"])["deploy"]
    return dict(deployment["spec"]["template"]["spec"]["containers"][0])


def _figures(changes: dict[str, Any]) -> dict[str, int]:
    """What the probe is told, by name; all but port and path."""
    argv = _container(changes)["startupProbe"]["exec"]["command"]
    return dict(zip(("tokens", "prompts", "vocab", "seconds"), map(int, argv[5:]), strict=True))


@pytest.mark.parametrize(("stated", "tokens"), [({}, 8191), ({f"{M}/first_prompt": 4096}, 4096)])
def test_a_replica_got_traffic_before_it_had_read_a_long_prompt(stated: dict[str, Any], tokens: int) -> None:
    """It was ready at once, and ran out of memory with the first one; it reads one as long as it admits before."""
    assert _figures(stated)["tokens"] == tokens
    assert "/v1/models" in _container(stated)["startupProbe"]["exec"]["command"]


def test_every_rank_reads_a_prompt() -> None:
    """Data-parallel ranks have memory of their own; one prompt would be read by one of them."""
    experts = {f"{M}/architecture": "Qwen/Qwen3-30B-A3B", f"{M}/data_parallel": 4, f"{M}/expert_parallel": True}
    assert _figures(experts)["prompts"] == 4


@pytest.mark.parametrize("model", ["BAAI/bge-m3", "openai/whisper-large-v3"])
def test_what_reads_no_text_in_pieces_is_not_asked(model: str) -> None:
    """Encoders take a text whole, and a model that hears has nothing to hear."""
    architecture, chat = checkpoint(model), model_of()
    first = first_prompt(chat.model, architecture, Layout(), GPUS["h100"], VLLM[0], Format("bf16"))
    assert first.tokens == 0


def test_nobody_is_asked_where_the_spec_says_so() -> None:
    """Then a replica is ready when it says so, within the same budget."""
    probe = _container({f"{M}/first_prompt": 0})["startupProbe"]
    assert probe["httpGet"]["path"] == "/v1/models"
    assert probe["failureThreshold"] * probe["periodSeconds"] >= 600


def test_a_prompt_without_room_for_an_answer_is_a_mistake() -> None:
    """The engine would refuse it at every start."""
    (said,) = all_said({f"{M}/first_prompt": 8192}, STACK)
    assert "first_prompt=8192 leaves no room for an answer in max_model_len=8192" in said


@pytest.mark.parametrize("length", [8192, 131072])
def test_tries_take_the_budget_and_no_more(length: int) -> None:
    """While the model loads, each try waits as long as it may; an answer that never comes costs one try more."""
    plan = model_of({f"{M}/max_model_len": length})
    probe, seconds = _container({f"{M}/max_model_len": length})["startupProbe"], plan.first_prompt.patience
    assert plan.startup.budget <= probe["failureThreshold"] * seconds < plan.startup.budget + seconds
    assert probe["timeoutSeconds"] > 2 * seconds


def test_the_first_prompt_is_part_of_the_start() -> None:
    """A budget that knew nothing of it would restart replicas that read."""
    without, short, long = (
        model_of({f"{M}/max_model_len": 131072} | more).startup
        for more in ({f"{M}/first_prompt": 0}, {f"{M}/first_prompt": 1024}, {})
    )
    assert (without.prompt, short.prompt) == (0, 1)
    assert long.floor - without.floor == long.prompt > short.prompt


def test_a_host_without_gpus_reads_slowly() -> None:
    """8,191 tokens at 1,000 a second, a speed that was seen."""
    assert model_of(base=LAB).startup.prompt == 9


def _main(monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, str]]) -> tuple[str, list[dict[str, Any]]]:
    """Run the probe against answers; what it says, and what it sent."""
    sent: list[dict[str, Any]] = []

    def ask(_port: int, method: str, _path: str, _seconds: float, body: str | None = None) -> tuple[int, str]:
        sent.append({"method": method} | (json.loads(body) if body else {}))
        return answers[len(sent) - 1]

    monkeypatch.setattr(startup_probe, "ask", ask)
    monkeypatch.setattr(startup_probe.time, "sleep", lambda _seconds: None)
    return startup_probe.main(8000, "/v1/models", 64, 2, 32_000, 60), sent


@pytest.mark.parametrize(
    ("status", "said"),
    [(200, ""), (404, ""), (501, ""), (500, "answered with 500: out of memory"), (400, "400"), (0, "0")],
    ids=["read", "no such path", "not made for it", "out of memory", "refused", "gone"],
)
def test_only_an_answer_makes_a_replica_ready(monkeypatch: pytest.MonkeyPatch, status: int, said: str) -> None:
    """An engine that ran out of memory says so or is gone; one that writes no text has no such path."""
    found, _ = _main(monkeypatch, [(200, ""), (status, "out of memory")])
    assert bool(found) == bool(said)
    assert said in found


def test_it_waits_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent before the engine says that it is there."""
    _, sent = _main(monkeypatch, [(0, "no answer"), (503, "loading"), (200, ""), (200, "")])
    assert [one["method"] for one in sent] == ["GET", "GET", "GET", "POST"]


def test_no_try_is_helped_by_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tokens would come out of the prefix cache, and nothing would be read."""
    random.seed(5)
    bodies = [_main(monkeypatch, [(200, ""), (200, "")])[1][-1] for _ in range(2)]
    texts = [text for body in bodies for text in body["prompt"]]
    assert len({tuple(text) for text in texts}) == len(texts) == 4
    assert all(len(text) == 64 and min(text) >= 1_000 and max(text) < 10_000 for text in texts)
    assert all(body["max_tokens"] == 1 for body in bodies)


def test_the_probe_runs_by_itself() -> None:
    """As the container runs it: nothing but Python, and what is wrong is what the event shows."""
    argv = _container({f"{M}/first_prompt": 16})["startupProbe"]["exec"]["command"]
    alone = [sys.executable, "-I", *argv[1:3], "1", "/v1/models", "16", "1", "2048", "0"]
    done = subprocess.run(alone, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert done.stderr.startswith("the model is not loaded yet: /v1/models is answered with (0, 'no answer")
