"""Slow answers: which part is blamed, what is offered, and what doing it writes and takes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.discover import load
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, undo
from runbooks.lib.prometheus import Alert, Sample
from runbooks.serving.explain_latency import ExplainLatency
from tests.unit.runbooks.fakes import DOOR, Cluster, Prometheus, World, offered, said

FINE: dict[str, Any] = {
    "model:client_ttft": 0.2, "model:client_e2e": 1.0, "model:ttft": 0.1, "model:e2e": 0.9, "model:queue": 0.01,
    "model:tpot": 0.02, "slo:errors": [], "offset 1h": 1.0, "model:requests:rate": 1.0, "envoy_railwright_requests": [],
}  # fmt: skip
"""Answers of a Prometheus in which all is well."""

CASES: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "way": (
        {"model:client_ttft": 4.0},
        "the network between gateway and engine adds 3.90 s: P99 of the first token is 4.00 s at the gateway",
        {"silence"},
    ),
    "queue": (
        {"model:client_ttft": 4.1, "model:ttft": 4.0, "model:queue": 3.5},
        "requests wait 3.50 s (P99) for a place in the batch",
        {"scale_up", "shed_tier", "silence"},
    ),
    "prompt": ({"model:client_ttft": 4.1, "model:ttft": 4.0}, "prompts take 3.99 s (P99)", {"scale_up", "silence"}),
    "tokens": ({"model:tpot": 0.4}, "each token takes 0.400 s (P99)", {"scale_up", "shed_tier", "silence"}),
    "burst": (
        {"model:requests:rate": 4.0},
        "4.00 requests per second, 4.0 times those of an hour ago",
        {"scale_up", "shed_tier", "silence"},
    ),
    "promise": (
        {"slo:errors": [Sample({"slo": "availability"}, 0.2)]},
        "promise availability: 20.0% of the events of an hour broke it",
        {"silence"},
    ),
    "tenant": (
        {
            "envoy_railwright_requests": [
                Sample({"tenant": "acme", "tier": "batch"}, 9.0),
                Sample({"tenant": "beta", "tier": "premium"}, 1.0),
            ]
        },
        "tenant acme (batch): 90% of the requests for model tiny",
        {"silence"},
    ),
}


def ask(answers: dict[str, Any]) -> World:
    """A world in which all is well but for these answers; with one replica, so that the pool has room."""
    return World(Cluster(wanted={"tiny": 1}), Prometheus(FINE | answers))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_part_that_is_slow_is_blamed(case: str, tmp_path: Path) -> None:
    """The diagnosis names it with its seconds, and offers what shortens it; drift is no matter here."""
    answers, words, offers = CASES[case]
    result = ask(answers).run(ExplainLatency, tmp_path, model="tiny")
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


@pytest.mark.parametrize("answers", [{"model:client_ttft": [], "model:client_e2e": []}], ids=["no traffic"])
def test_no_data_is_cannot_tell(answers: dict[str, Any], tmp_path: Path) -> None:
    """A model that nobody asked is not called fast."""
    result = ask(answers).run(ExplainLatency, tmp_path, model="tiny")
    assert result.exit is Exit.UNKNOWN
    assert "no answer was measured" in said(result)


def test_no_prometheus_is_cannot_tell(tmp_path: Path) -> None:
    """Nor is one that nobody measures."""
    assert World(prometheus=Prometheus(is_down=True)).run(ExplainLatency, tmp_path, model="tiny").exit is Exit.UNKNOWN


def test_a_tier_is_shed_on_every_gateway_and_served_again(tmp_path: Path) -> None:
    """The switch is set and read back; undo puts back what it was."""
    here = ask({"model:requests:rate": 4.0})
    result = here.run(ExplainLatency, tmp_path, model="tiny", do="shed_tier", tier="standard", percent=50, yes=True)
    assert (result.exit, here.kube.shed) == (Exit.DONE, {"railwright.shed.standard": "50"})
    undo(result.run_id, load=load, site=Site(runs=tmp_path / "runs", connect=here.connect))
    assert here.kube.shed == {"railwright.shed.standard": "0"}
    assert here.kube.written[0] == f"shed railwright.shed.standard=50 on {DOOR}"


@pytest.mark.parametrize("tier", ["gold"], ids=str)
def test_a_tier_that_nobody_has_is_refused(tier: str, tmp_path: Path) -> None:
    """Refused before anything is asked, with the tiers there are."""
    result = ask({}).run(ExplainLatency, tmp_path, model="tiny", do="shed_tier", tier=tier, yes=True)
    assert result.exit is Exit.REFUSED
    assert "no key of this stack has it — name one of premium, standard" in said(result)


def test_alerts_that_fire_are_silenced_with_an_end(tmp_path: Path) -> None:
    """By name and by the labels of the inputs, for the time asked for."""
    here = ask({"model:tpot": 0.4})
    here.prometheus.firing_now = [Alert("ModelTokensSlow", "firing", {"model": "tiny"}, {}, None, "")]  # type: ignore[arg-type]  # time unused
    result = here.run(ExplainLatency, tmp_path, model="tiny", do="silence", yes=True)
    assert result.exit is Exit.DONE
    assert here.kube.written == ["silence {'alertname': 'ModelTokensSlow', 'model': 'tiny'} for 1:00:00"]


def test_without_an_alert_there_is_nothing_to_silence(tmp_path: Path) -> None:
    """A silence for what does not fire would hide the next fault."""
    here = ask({"model:tpot": 0.4})
    assert here.run(ExplainLatency, tmp_path, model="tiny", do="silence", yes=True).exit is Exit.REFUSED
    assert here.kube.written == []


def test_a_replica_is_added_within_the_pool(tmp_path: Path) -> None:
    """One more than there are."""
    here = ask({"model:tpot": 0.4})
    assert here.run(ExplainLatency, tmp_path, model="tiny", do="scale_up", yes=True).exit is Exit.DONE
    assert here.kube.written == ["scale tiny to 2"]


def test_a_full_pool_refuses_one_more(tmp_path: Path) -> None:
    """The plan's placement says how many it holds."""
    here = World(Cluster(wanted={"tiny": 99}), Prometheus(FINE | {"model:tpot": 0.4}))
    result = here.run(ExplainLatency, tmp_path, model="tiny", do="scale_up", yes=True)
    assert (result.exit, here.kube.written) == (Exit.REFUSED, [])
    assert "100 replicas, pool 'lab' holds" in said(result)
