"""A change of the spec, carried out by plain `pulumi up`, costs the models that it does not touch no request."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from lab.cluster.lab import Lab
from runbooks.lib.traffic import LengthSpread, Profile, Report, Segment, TrafficRun, Verdict, tenants_of
from runbooks.lib.traffic.options import gateway_of
from tests.lab.living_lab import Change, changed_stack, client, eventually, get, kubectl, serving_lab
from tests.lab.traffic import Traffic, stream_to_the_end, streaming

LEAST = 20
"""Requests that must have met each change (count), else the test has shown nothing."""

LONG = 1500
"""Length of answers (tokens) that are open for seconds, so that some are when the gateway's pods change."""

STREAMS = 32
"""Answers at a time (count), all that a replica takes: each token of one then waits for a token of all the others."""

PACED = 2000
"""Length of answers (tokens) that tell how fast the engine is with so many."""

MINUTE = 65.0
"""Aim for answers of a minute (s); the longer they get the slower they go, and the gateway ends them after four."""

Apply = Callable[[Change], None]


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


@pytest.fixture(scope="module")
def apply(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apply]:
    """Bring up the stack file with one change in it; at the end, as it is written."""

    def one_of_each(spec: dict[str, Any]) -> None:
        # The harder case: nobody else answers meanwhile. Drills roll several under load.
        spec["gateway"]["replicas"] = spec["models"]["tiny"]["replicas"] = 1

    with changed_stack(tmp_path_factory.mktemp("stack"), one_of_each) as bring_up:
        bring_up(lambda spec: None)
        yield bring_up


def assert_no_loss(traffic: Traffic) -> None:
    """Enough requests met the change, and each one ended well."""
    assert not traffic.failures, "\n".join(traffic.failures)
    assert traffic.finished >= LEAST


def ready_pods(lab: Lab, model: str) -> set[str]:
    """Names of the pods of a model that answer and stay."""
    pods = get(lab, "pods", "--namespace=models", f"--selector=app.kubernetes.io/name={model}")["items"]
    return {
        pod["metadata"]["name"]
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
    }


def is_answered(model: str) -> bool:
    """Whether a replica takes requests; a gateway that has not seen it yet says 503."""
    try:
        with client("research") as asking:
            stream_to_the_end(asking, model)
    except openai.InternalServerError:
        return False
    return True


def longest_context(model: str) -> str:
    """What the replica that happens to answer says of its limit (tokens)."""
    messages: Any = [{"role": "user", "content": "word " * 50_000}]
    with client("research") as asking, pytest.raises(openai.BadRequestError) as refused:
        asking.chat.completions.create(model=model, messages=messages)
    found = re.search(r"maximum context length is (\d+)", refused.value.message)
    return found[1] if found else refused.value.message


def test_a_replica_and_a_model_more(lab: Lab, apply: Apply) -> None:
    """A third replica of the large model gets a host of its own, a second real model answers as soon as the gateway
    sees its pod, and the first one answers throughout."""

    def add(spec: dict[str, Any]) -> None:
        spec["models"]["llama-405b"].update(replicas=3)
        spec["models"]["tiny-2"] = dict(spec["models"]["tiny"])

    with streaming("tiny", "research") as traffic:
        apply(add)
        eventually(lambda: len(ready_pods(lab, "llama-405b")) == 3, seconds=30)
        eventually(lambda: is_answered("tiny-2"), seconds=30)
    assert_no_loss(traffic)


def test_a_model_less_and_a_key_revoked(lab: Lab, apply: Apply) -> None:
    """Once `pulumi up` is through the model is gone for clients and the key opens nothing; the other tenant has lost
    no request to the other model."""
    with (
        client("support") as kept,
        client("support") as fresh,
        client("research") as asking,
        streaming("tiny", "research") as traffic,
        streaming("tiny", "research", LONG) as long,
    ):
        stream_to_the_end(kept, "tiny")
        apply(lambda spec: spec["keys"].pop("support"))
        for refused in (kept, fresh):
            with pytest.raises(openai.AuthenticationError):
                stream_to_the_end(refused, "tiny")
        with pytest.raises(openai.NotFoundError):
            stream_to_the_end(asking, "tiny-2")
    assert_no_loss(traffic)
    assert long.finished
    assert not long.failures, "\n".join(long.failures)


def test_the_model_itself_changes(lab: Lab, apply: Apply) -> None:
    """Its one replica is replaced by another one without a request lost in between."""
    before = ready_pods(lab, "tiny")
    with streaming("tiny", "research") as traffic:
        apply(lambda spec: spec["models"]["tiny"].update(max_model_len=4096))
        after = ready_pods(lab, "tiny")
        assert after
        assert not before & after
        # The old replica still takes requests, until no gateway knows of it any more.
        eventually(lambda: longest_context("tiny") == "4096", seconds=60)
    assert_no_loss(traffic)


def test_the_way_back_is_awaited_too(lab: Lab, apply: Apply) -> None:
    """`pulumi up` to a spec that ran before ends when its replica is ready, not when Kubernetes remembers it."""
    before = ready_pods(lab, "tiny")
    with streaming("tiny", "research") as traffic:
        apply(lambda spec: None)
        after = ready_pods(lab, "tiny")
        assert after
        assert not before & after
    assert_no_loss(traffic)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_in_flight_answers_are_lost_when_a_pod_is_deleted(lab: Lab, apply: Apply) -> None:
    """vllm#24885, aibrix#553, llm-d#927: answers of a minute end whole though their pod is deleted as they begin."""

    def long_answers(spec: dict[str, Any]) -> None:
        # Room for a minute at a few ms per token; two CPUs would read a prompt of that length for minutes at the start.
        spec["models"]["tiny"].update(max_model_len=32_768, first_prompt=0)
        spec["gateway"].update(longest_answer="4m", drain="4m")

    apply(long_answers)
    eventually(lambda: longest_context("tiny") == "32768", seconds=60)
    paced = TrafficRun(at_once(PACED)).start().stop_when_over()
    assert_whole(paced)
    tokens = math.ceil(PACED * MINUTE / max(sample.whole for sample in paced.samples))
    (pod,) = ready_pods(lab, "tiny")
    with TrafficRun(at_once(tokens)) as traffic:
        eventually(lambda: traffic.snapshot().open == STREAMS, seconds=30)
        kubectl(lab, "delete", "pod", pod, "--namespace=models", "--wait=false")
        assert pod not in ready_pods(lab, "tiny")
        assert traffic.snapshot().open == STREAMS, "answers have ended before their pod was deleted"
    report = traffic.report()
    assert_whole(report)
    assert min(sample.whole for sample in report.samples) >= 60, f"{tokens} tokens took less than a minute"
    eventually(lambda: pod not in kubectl(lab, "get", "pods", "--namespace=models"))
    eventually(lambda: is_answered("tiny"))


def at_once(tokens: int) -> Profile:
    """Streams that begin within a second, each of so many tokens."""
    return Profile(
        url=gateway_of("lab"),
        models={"tiny": 1.0},
        segments=(Segment(rate=STREAMS, seconds=1),),
        arrivals="constant",
        tenants=tenants_of("lab", ["research"]),
        output=LengthSpread.of(str(tokens)),
        exact=True,
        timeout_seconds=230,
        gap_seconds=None,
    )


def assert_whole(report: Report) -> None:
    """Every stream came to its end with all its tokens, none twice."""
    assert report.counts[Verdict.OK] == STREAMS == report.sent, [sample.reason for sample in report.failures]
