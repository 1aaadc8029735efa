"""The traffic driver against the living lab: real Envoy, real vLLM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runbooks import cli
from runbooks.lib.traffic import LengthSpread, Profile, Segment, TrafficRun, Verdict, tenants_of
from tests.lab.living_lab import eventually, serving_lab


@pytest.fixture(scope="module", autouse=True)
def _lab() -> None:
    serving_lab()


def test_real_answers_are_right_to_the_last_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two tenants' chats and completions, streamed and whole, end with exactly the tokens that were asked for."""
    data = tmp_path / "report.json"
    words = ["--stack", "lab", "--model", "tiny", "--rate", "4", "--for", "5s", "--output", "uniform:4:24", "--exact"]
    shares = ["--stream-share", "0.7", "--chat-share", "0.6", "--abort-share", "0.1", "--seed", "3"]
    code = cli.main(["traffic", *words, *shares, "--json", str(data)])
    report = json.loads(data.read_text())
    assert (code, report["failures"]) == (0, []), capsys.readouterr().err
    assert report["driver"]["numbered_answers"] == report["counts"]["ok"] + report["counts"]["late"] > 8
    assert {group["tenant"] for group in report["groups"]} == {"research", "support"}
    assert "sk-rw-" not in data.read_text()


def test_a_wrong_key_is_told_before_anything_is_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that the gateway refuses is exit 2, and never shown."""
    (tmp_path / "key").write_text("sk-rw-" + "x" * 40)
    words = ["--stack", "lab", "--model", "tiny", "--key-file", f"research={tmp_path}/key", "--key", "research"]
    assert cli.main(["traffic", *words]) == 2
    said = capsys.readouterr().err
    assert "refuses its key" in said
    assert "xxxx" not in said


def test_hanging_up_leaves_nothing_running() -> None:
    """Clients that leave in the middle of their streams cost the gateway and the engine nothing afterwards."""
    from runbooks.lib.traffic.options import gateway_of

    profile = Profile(
        url=gateway_of("lab"),
        models={"tiny": 1.0},
        segments=(Segment(rate=5, seconds=3),),
        tenants=tenants_of("lab", ["research"]),
        output=LengthSpread.of("200"),
        abort_share=1.0,
        exact=True,
    )
    report = TrafficRun(profile).start().stop_when_over()
    assert report.counts[Verdict.ABORTED] == report.sent > 5
    calm = Profile(
        **{
            **dict(profile),
            "abort_share": 0.0,
            "output": LengthSpread.of("8"),
            "segments": (Segment(rate=4, seconds=1),),
        }
    )
    after = eventually(lambda: _all_ok(TrafficRun(calm).start().stop_when_over()), seconds=20)
    assert after


def _all_ok(report: object) -> bool:
    return report.counts[Verdict.OK] == report.sent > 0  # type: ignore[attr-defined]
