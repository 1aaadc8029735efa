"""A report loses no request, tells what can be told, and compares only what means the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infra.errors import ConfigError, Unknown
from runbooks.lib.traffic.compare import columns_of, meanings, rows
from runbooks.lib.traffic.driver import Beat
from runbooks.lib.traffic.engine_side import HISTOGRAM, engine_sides
from runbooks.lib.traffic.page import page
from runbooks.lib.traffic.profile import Profile, Segment
from runbooks.lib.traffic.report import Report
from runbooks.lib.traffic.verdict import Sample, Verdict

HERE = Path(__file__).parent
BEGUN = 1_796_177_000.0


def report(*verdicts: Verdict) -> Report:
    profile = Profile(url="http://gateway/v1", models={"tiny": 1.0}, segments=(Segment(rate=1, seconds=9),))
    samples = tuple(
        Sample(
            due=BEGUN + number,
            sent=BEGUN + number,
            tenant="a" if number % 2 else "b",
            model="tiny",
            ended=BEGUN + number + 0.5,
            verdict=verdict,
            reason="<b>why</b>",
            first_token=0.2,
            tokens=4,
        )
        for number, verdict in enumerate(verdicts)
    )
    beats = tuple(Beat(second, 1, 4, 0.02) for second in range(len(verdicts)))
    return Report(profile, BEGUN, float(len(verdicts)), 0, samples, beats)


def test_every_request_is_in_the_report_once() -> None:
    """Sent is the sum of the classes, of the groups, and of the seconds."""
    made = report(*Verdict, *Verdict).as_dict()
    assert made["sent"] == sum(made["counts"].values()) == sum(second["sent"] for second in made["series"]) == 14
    assert sum((Counter(group["figures"]["counts"]) for group in made["groups"]), Counter()) == made["counts"]
    assert sum((Counter(second["ended"]) for second in made["series"]), Counter()) == made["counts"]


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ("ok", 0),
        ("ok late rejected aborted", 0),
        ("ok lost", 1),
        ("ok cut", 1),
        ("wrong", 1),
        ("lost", 4),
        ("rejected", 4),
        ("aborted", 4),
        ("", 4),
    ],
)
def test_exit_codes_follow_the_verdicts(verdicts: str, code: int) -> None:
    """Failures are 1; where nothing was answered whole, nothing can be told."""
    assert report(*(Verdict(word) for word in verdicts.split())).exit_code == code


def test_failures_say_when_and_whose() -> None:
    """Each failure has its times on the wall, for the timeline of a drill."""
    failure = report(Verdict.OK, Verdict.CUT).as_dict()["failures"][0]
    assert (failure["verdict"], failure["tenant"]) == ("cut", "a")
    assert (failure["due"], failure["ended"]) == ("2026-12-02T02:03:21.000Z", "2026-12-02T02:03:21.500Z")


def test_a_window_holds_what_ended_in_it() -> None:
    """Figures of a time hold the requests whose fate became known in it."""
    window = report(Verdict.OK, Verdict.CUT, Verdict.OK).window(BEGUN + 1, BEGUN + 2)
    assert (window.requests, window.failed, window.seconds) == (1, 1, 1.0)


def test_the_page_is_one_file_and_escapes_what_servers_say() -> None:
    """Nothing from a server becomes markup, and nothing is loaded from elsewhere."""
    made = page(report(Verdict.OK, Verdict.LOST))
    assert "&lt;b&gt;why" in made
    assert [word for word in ("<b>why", "src=", "@import", 'href="http') if word in made] == []
    assert "<svg" in made


def written(tmp_path: Path) -> Path:
    path = tmp_path / "ours.json"
    report(Verdict.OK, Verdict.OK, Verdict.LOST).write_json(path)
    return path


def test_genuine_reports_are_read(tmp_path: Path) -> None:
    """Our own report, one of vLLM 0.32's bench and one of guidellm 0.8.1 give their figures in seconds."""
    ours, vllm, guidellm = columns_of(
        [written(tmp_path), HERE / "vllm-bench-0.32.0.json", HERE / "guidellm-0.8.1.json"]
    )
    assert (ours.counts["complete"], ours.counts["not complete"]) == (2, 1)
    assert (vllm.counts["complete"], vllm.counts["not complete"]) == (30, 0)
    given = json.loads((HERE / "vllm-bench-0.32.0.json").read_text())
    assert vllm.spreads["ttft"]["p50"] * 1000 == pytest.approx(given["median_ttft_ms"])
    assert vllm.spreads["e2e"]["p99"] * 1000 == pytest.approx(given["p99_e2el_ms"])
    metrics = json.loads((HERE / "guidellm-0.8.1.json").read_text())["benchmarks"][0]["metrics"]
    assert guidellm.counts["complete"] == metrics["request_totals"]["successful"]
    assert guidellm.spreads["ttft"]["p95"] * 1000 == pytest.approx(
        metrics["time_to_first_token_ms"]["successful"]["percentiles"]["p95"]
    )
    assert guidellm.spreads["e2e"]["mean"] == pytest.approx(metrics["request_latency"]["successful"]["mean"])


def test_what_means_different_things_is_in_different_rows(tmp_path: Path) -> None:
    """guidellm's TPOT has the first token in it: it never stands in the row of one that has not."""
    columns = columns_of([written(tmp_path), HERE / "guidellm-0.8.1.json"])
    table = {row[0]: row[1:] for row in rows(columns)}
    assert table["tpot mean"][1] == "–"
    assert table["time per token, first included mean"][0] == "–"
    assert table["ttft mean"][0] != "–" != table["ttft mean"][1]
    assert any(text.startswith("time per token, first included, guidellm: (last token") for text in meanings(columns))


def test_reports_that_are_none_are_refused_together(tmp_path: Path) -> None:
    """Each file that cannot be compared is named, with what is allowed."""
    (tmp_path / "other.json").write_text('{"x": 1}')
    (tmp_path / "text").write_text("oops")
    (tmp_path / "old.json").write_text('{"benchmarks": [{}]}')
    with pytest.raises(ConfigError) as caught:
        columns_of([tmp_path / name for name in ("other.json", "text", "old.json", "absent")])
    assert [name for name in ("other.json", "text", "old.json", "absent") if name not in str(caught.value)] == []


def prometheus(scraped: float, counts: dict[str, tuple[float, float]]) -> Any:
    """Answers as Prometheus would: before the run the first count of each bucket, after it the second."""

    def query(expression: str, at: float) -> list[tuple[dict[str, str], float]]:
        if "timestamp" in expression:
            return [({}, scraped)] if scraped else []
        assert f'{HISTOGRAM}_bucket{{model_name="tiny"}}' in expression
        return [({"le": edge}, values[at > BEGUN + 1]) for edge, values in counts.items()]

    return query


def test_the_engine_s_own_first_tokens_stand_beside() -> None:
    """Only what the histogram grew by during the run counts, and the bucket that holds the P95 is told."""
    counts = {"0.1": (100.0, 150.0), "0.25": (100.0, 198.0), "+Inf": (100.0, 200.0)}
    side = engine_sides(report(Verdict.OK, Verdict.OK), prometheus(BEGUN + 9, counts))[0]
    assert (side.requests, side.p95_bucket, side.client_p95) == (100.0, (0.1, 0.25), pytest.approx(0.2))
    assert (side.p50, side.p95) == (pytest.approx(0.1), pytest.approx(0.1 + 0.15 * 45 / 48))


@pytest.mark.parametrize(
    ("scraped", "counts"),
    [
        (0.0, {"0.1": (0.0, 9.0), "+Inf": (0.0, 9.0)}),
        (BEGUN, {"0.1": (0.0, 9.0), "+Inf": (0.0, 9.0)}),
        (BEGUN + 9, {}),
        (BEGUN + 9, {"0.1": (5.0, 5.0), "+Inf": (5.0, 5.0)}),
        (BEGUN + 9, {"0.1": (50.0, 5.0), "+Inf": (50.0, 5.0)}),
    ],
    ids=["never scraped", "not scraped since", "no series", "did not grow", "engine started anew"],
)
def test_without_data_the_engine_s_side_cannot_be_told(scraped: float, counts: dict[str, tuple[float, float]]) -> None:
    """No data is never a figure."""
    with pytest.raises(Unknown):
        engine_sides(report(Verdict.OK), prometheus(scraped, counts), sleep=lambda _: None)
