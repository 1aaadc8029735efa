"""The driver against a stand-in that does all that a gateway must not: each request gets its verdict, none vanishes."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from infra.errors import ConfigError
from runbooks import cli
from runbooks.lib.traffic import Driver, LengthSpread, Profile, Segment, TrafficRun, Verdict
from tests.lab.traffic_standin import standing_apart, standing_in
from tests.unit.runbooks.traffic.streams import FAULTS, TOKENS

ON_THE_WIRE = {
    "byte by byte": "ok",
    "stalls": "late",
    "connection breaks": "cut",
    "breaks after [DONE]": "wrong",
    "another content type": "wrong",
    "hangs": "lost",
    "resets": "lost",
    "refused with 429": "rejected",
    "refused with 503": "rejected",
    "503 in another shape": "lost",
    "500": "lost",
    "404": "lost",
}
"""What only a connection can do, and the verdict."""

ALL = {name: fault[0] for name, fault in FAULTS.items() if name != "ends in the middle of an event"} | ON_THE_WIRE


def profile(url: str, **changes: Any) -> Profile:
    fixed: dict[str, Any] = {
        "url": url,
        "models": {"tiny": 1.0},
        "segments": (Segment(rate=40, seconds=0.1),),
        "arrivals": "constant",
        "output": LengthSpread.of(str(TOKENS)),
        "exact": True,
        "timeout_seconds": 1.5,
        "gap_seconds": 0.8,
    }
    return Profile(**fixed | changes)


@pytest.mark.parametrize("behaviour", ALL)
def test_each_fault_on_the_wire_gets_its_verdict(behaviour: str) -> None:
    """Whatever a server does to a stream, all requests end in the right class and none is missing."""
    with standing_in() as server:
        report = TrafficRun(profile(server.url(behaviour))).start().stop_when_over()
    assert report.counts[Verdict(ALL[behaviour])] == report.sent == 4, report.samples


@pytest.mark.parametrize(
    ("behaviour", "verdict"), [("none", "ok"), ("connection breaks", "cut"), ("too short", "wrong"), ("500", "lost")]
)
def test_whole_answers_get_their_verdicts(behaviour: str, verdict: str) -> None:
    """Answers that are no stream are judged too."""
    with standing_in() as server:
        report = TrafficRun(profile(server.url(behaviour), stream_share=0.0)).start().stop_when_over()
    assert report.counts[Verdict(verdict)] == report.sent == 4, report.samples


def test_nobody_there_is_lost_and_then_well_again() -> None:
    """A gateway that is down costs requests, not the run; those after its return are well."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    run = TrafficRun(profile(f"http://127.0.0.1:{port}/none/v1", segments=(Segment(rate=20),))).start()
    time.sleep(0.5)
    back = time.time()
    with standing_in(port=port):
        time.sleep(0.7)
        report = run.stop()
    assert report.counts[Verdict.LOST] >= 8
    assert report.counts[Verdict.OK] >= 8
    assert report.window(back + 0.2).failed == 0
    assert all(failure.ended < back + 0.2 for failure in report.failures)


def test_arrivals_wait_for_no_answer() -> None:
    """A server that hangs does not slow the arrivals down: the loop is open."""
    with (
        standing_in() as server,
        TrafficRun(profile(server.url("hangs"), segments=(Segment(rate=50, seconds=1),))) as run,
    ):
        time.sleep(1.1)
        now = run.snapshot()
    assert (now.sent, now.open, now.sent) == (50, 50, now.open + sum(now.counts.values()))


def test_a_stop_hangs_up_on_what_is_open() -> None:
    """With a drain of nothing, open requests end at once and are counted as aborted by us, not as failures."""
    with standing_in() as server:
        run = TrafficRun(profile(server.url("hangs"), segments=(Segment(rate=50),), timeout_seconds=30)).start()
        time.sleep(0.5)
        begun = time.monotonic()
        report = run.stop(drain=0.0)
    assert time.monotonic() - begun < 1
    assert report.counts[Verdict.ABORTED] == report.sent >= 20
    assert (report.failed, run.stop() is report, run.is_over) == (0, True, True)


def test_more_open_requests_than_files_are_refused() -> None:
    """A rate that could need more connections than this process may hold is refused before anything is sent."""
    with standing_in() as server, pytest.raises(ConfigError, match="may be open at once"):
        TrafficRun(
            profile(server.url("none"), segments=(Segment(rate=100_000, seconds=60),), timeout_seconds=60)
        ).start()


def test_clients_hang_up_on_purpose() -> None:
    """The share that is to hang up does, in the middle of its stream, and the others end well."""
    wanted = {"abort_share": 0.5, "segments": (Segment(rate=60, seconds=1),)}
    with standing_in(pause=0.01) as server:
        report = TrafficRun(profile(server.url("none"), **wanted)).start().stop_when_over()
    assert report.counts[Verdict.ABORTED] + report.counts[Verdict.OK] == report.sent == 60
    assert 15 <= report.counts[Verdict.ABORTED] <= 45


@pytest.mark.parametrize(("is_new", "least", "most"), [(False, 1, 20), (True, 40, 40)], ids=["kept", "new"])
def test_connections_are_kept_or_new(is_new: bool, least: int, most: int) -> None:
    """Connections are reused unless each request is to have its own; requests that overlap need one each."""
    wanted = {"new_connections": is_new, "segments": (Segment(rate=40, seconds=1),)}
    with standing_in() as server:
        TrafficRun(profile(server.url("none"), **wanted)).start().stop_when_over()
        assert least <= server.connections <= most


def test_the_driver_runs_within_a_loop() -> None:
    """In asyncio code the driver is a context manager, with the same figures."""

    async def drive(url: str) -> tuple[int, int]:
        async with Driver(profile(url)) as driver:
            await driver.finish()
            return driver.snapshot().sent, driver.snapshot().counts[Verdict.OK]

    with standing_in() as server:
        assert asyncio.run(drive(server.url("none"))) == (4, 4)


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [("none", 0), ("two answers mixed", 1), ("connection breaks", 1), ("500", 4), ("refused with 429", 4)],
)
def test_the_command_ends_as_it_found(behaviour: str, code: int, tmp_path: Path) -> None:
    """Exit codes: 0 well, 1 failed requests, 4 nothing answered; with JSON and a page that needs no other file."""
    page, data = tmp_path / "page.html", tmp_path / "data.json"
    words = ["traffic", "--model", "tiny", "--rate", "20", "--for", "500ms", "--output", str(TOKENS)]
    with standing_in() as server:
        assert cli.main([*words, "--url", server.url(behaviour), "--json", str(data), "--html", str(page)]) == code
    assert "<svg" in page.read_text()
    assert [word for word in ("src=", 'href="http', "@import") if word in page.read_text()] == []
    assert cli.main(["traffic", "compare", str(data), str(data)]) == 0


def test_nobody_at_the_door_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A gateway that does not answer at all is exit 4, and nothing is sent."""
    assert cli.main(["traffic", "--model", "tiny", "--url", "http://127.0.0.1:9/v1"]) == 4
    assert "does not answer" in capsys.readouterr().err


def test_a_model_that_is_not_served_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A typo in a model's name is told before anything is sent."""
    with standing_in() as server:
        assert cli.main(["traffic", "--model", "tinny", "--url", server.url("none")]) == 2
    assert "did you mean 'tiny'?" in capsys.readouterr().err


def test_a_thousand_open_streams_take_less_than_a_core() -> None:
    """At 1,000 streams of ten tokens a second each, every piece checked, the driver uses under one core."""
    wanted = {"segments": (Segment(rate=250, seconds=4),), "output": LengthSpread.of("100"), "timeout_seconds": 90}
    with standing_apart(pause=0.1) as url:
        report = TrafficRun(profile(url, **wanted, gap_seconds=None)).start().stop_when_over()
    full = [beat for beat in report.beats if beat.open >= 950]
    assert report.counts[Verdict.OK] == report.sent == 1000, report.failures[:3]
    assert len(full) >= 3
    assert sum(beat.cpu for beat in full) / len(full) < 1.0
    assert sum(beat.cpu for beat in report.beats) / report.figures.tokens < 200e-6, "CPU seconds for each token"
