"""What is read of a cluster, and how long and for what it is waited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pulumi
import pytest
import yaml
from lightkube import Client

from infra.components import cluster as module
from infra.components.cluster import UNREACHABLE, Cluster, reach, wait
from infra.errors import CheckError, Unknown

KUBECONFIG = yaml.safe_dump(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://api.example.com"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "current-context": "c",
    }
)
POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], Cluster]:
    """A cluster whose API server answers what a function says."""

    def of(answer: Answer) -> Cluster:
        found = Cluster(KUBECONFIG)
        transport = httpx2.MockTransport(answer)
        client: Any = found._client
        client._client._client = httpx2.Client(transport=transport, base_url="http://api.example.com")
        return found

    return of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times that were slept; the clock goes on by them alone."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    monkeypatch.setattr(module.time, "monotonic", lambda: sum(slept))
    return slept


def status(code: int) -> httpx2.Response:
    """What an API server says when it says no."""
    body = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no", "code": code}
    return httpx2.Response(code, json=body)


def test_a_kubeconfig_is_taken_as_path_and_as_content(tmp_path: Path) -> None:
    """A cluster that the stack makes has no file."""
    (tmp_path / "config").write_text(KUBECONFIG)
    for given in (KUBECONFIG, str(tmp_path / "config")):
        assert isinstance(Cluster(given), Cluster)


@pytest.mark.parametrize(
    "given", ["/nowhere/config", "{", "[]\n", "a: b\n"], ids=["no file", "no YAML", "list", "other"]
)
def test_a_kubeconfig_that_cannot_be_read_leaves_the_answer_unknown(given: str) -> None:
    """Nothing of the cluster was seen, so nothing of it is claimed."""
    with pytest.raises(Unknown, match=r"^kubeconfig — cannot be read \("):
        Cluster(given)


@pytest.mark.parametrize(
    "answer", [status(404), httpx2.Response(404, text="404 page not found")], ids=["no kind", "no group"]
)
def test_a_cluster_without_the_kind_has_no_policy(
    answer: httpx2.Response, answering: Callable[[Answer], Cluster]
) -> None:
    """Before the operator's first install."""
    assert answering(lambda _: answer).cluster_policy() is None


def test_an_api_server_that_refuses_is_not_taken_for_an_empty_one(answering: Callable[[Answer], Cluster]) -> None:
    """Who may not look has not seen that there is none."""
    with pytest.raises(UNREACHABLE):
        answering(lambda _: status(403)).cluster_policy()


def test_the_policy_is_the_one_that_there_is(answering: Callable[[Answer], Cluster]) -> None:
    """As plain data."""
    policy = {"metadata": {"name": "cluster-policy"}}
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.path)
        return httpx2.Response(200, json={"items": [policy]})

    found = answering(answer).cluster_policy()
    assert found is not None
    assert (found["metadata"]["name"], seen) == ("cluster-policy", [POLICIES])


def test_daemon_sets_are_asked_for_by_label_in_all_namespaces(answering: Callable[[Answer], Cluster]) -> None:
    """A foreign NFD may lie anywhere."""
    seen: list[tuple[str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append((request.url.path, request.url.params["labelSelector"]))
        spec = {"selector": {}, "template": {}}
        return httpx2.Response(200, json={"items": [{"metadata": {"name": "nfd", "namespace": "a"}, "spec": spec}]})

    (found,) = answering(answer).daemon_sets("*", {"app": "nfd"})
    assert found["metadata"] == {"name": "nfd", "namespace": "a"}
    assert seen == [("/apis/apps/v1/daemonsets", "app=nfd")]


def test_a_cluster_that_is_still_to_be_made_is_none() -> None:
    """A preview of it has nothing to look at."""
    assert asyncio.run(reach(pulumi.Output.from_input(""))) is None


def waited(answers: list[list[str]], seconds: float, look: list[str] | None = None) -> None:
    """Wait while the answers come one by one, the last for ever."""

    def lacking() -> Iterator[str]:
        yield from answers.pop(0) if len(answers) > 1 else answers[0]

    asyncio.run(wait(lacking, "GPUs", seconds, lambda: iter(look or [])))


def test_it_is_waited_until_nothing_is_lacking(clock: list[float]) -> None:
    """And not longer."""
    waited([["a"], ["a"], []], 3600)
    assert clock == [module.PAUSE_SECONDS] * 2


def test_a_wait_that_is_over_names_what_lacks_and_the_pods_in_the_way(clock: list[float]) -> None:
    """aicr#1361: namespace, pod, host and reason, and what to do."""
    pods = [f"gpu-operator/p{number} on h{number}: ImagePullBackOff" for number in range(5)]
    with pytest.raises(CheckError) as told:
        waited([["pool 'gpus': 0 of 4 hosts"]], 60, pods)
    assert str(told.value) == (
        "GPUs — after 1 minutes pool 'gpus': 0 of 4 hosts — all of it was expected — look at "
        f"{', '.join(pods[:3])}, 2 more, then run `pulumi up` again"
    )


def test_a_wait_without_a_pod_in_the_way_sends_to_the_labels(clock: list[float]) -> None:
    """A DaemonSet that no host matches has no pod that could be looked at."""
    with pytest.raises(CheckError, match="look at the labels of its hosts: all of its pods are ready, then"):
        waited([["no driver"]], 60)


def test_an_api_server_that_is_away_for_a_while_does_not_end_a_wait(clock: list[float]) -> None:
    """Control planes are restarted while drivers are compiled."""
    left = [httpx2.ConnectError("refused")]

    def lacking() -> Iterator[str]:
        if left:
            raise left.pop()
        yield from ()

    asyncio.run(wait(lacking, "GPUs", 60, lambda: iter(())))
    assert len(clock) == 1


def test_what_cannot_come_any_more_ends_a_wait_at_once(clock: list[float]) -> None:
    """As a split that its manager gave up on."""

    def lacking() -> Iterator[str]:
        raise CheckError("given up")
        yield

    with pytest.raises(CheckError, match=r"^given up$"):
        asyncio.run(wait(lacking, "GPUs", 3600, lambda: iter(())))
    assert clock == []


def test_the_client_is_the_one_that_the_kubeconfig_names() -> None:
    """Not whatever cluster a shell happens to point at."""
    found: Any = Cluster(KUBECONFIG)._client
    assert isinstance(found, Client)
    assert found.config.cluster.server == "http://api.example.com"
