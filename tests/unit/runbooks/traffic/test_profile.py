"""A profile says all that is wrong with it at once, and never shows a key."""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from infra.errors import ConfigError
from runbooks.lib.traffic.arrivals import seeded
from runbooks.lib.traffic.command import add_arguments
from runbooks.lib.traffic.lengths import LengthSpread
from runbooks.lib.traffic.options import profile_from
from runbooks.lib.traffic.profile import Profile, Segment, Tenant, profile_of
from runbooks.lib.traffic.requests import Requests

SECRET = "sk-rw-not-to-be-seen"
URL = "http://gateway:8080/v1"


def profile(**changes: Any) -> Profile:
    fixed: dict[str, Any] = {
        "url": URL,
        "models": {"tiny": 1.0},
        "segments": (Segment(rate=2, seconds=10),),
        "tenants": (Tenant(name="a", key=SecretStr(SECRET), share=3), Tenant(name="b", key=SecretStr(SECRET))),
    }
    return Profile(**fixed | changes)


def given(*words: str) -> Profile:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return profile_from(parser.parse_args(words))


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        given(*words)
    return str(caught.value)


def test_options_make_a_profile(tmp_path: Path) -> None:
    """The command line says all that a profile does."""
    key = tmp_path / "key"
    key.write_text(f"{SECRET}\n")
    made = given(
        *("--url", URL, "--model", "tiny=2", "--model", "big", "--segment", "2x30s", "--segment", "4x10m"),
        *(
            "--key-file",
            f"acme={key}",
            "--prompt",
            "lognormal:200:0.6:900",
            "--output",
            "24",
            "--exact",
            "--gap",
            "500ms",
        ),
    )
    assert made.models == {"tiny": 2.0, "big": 1.0}
    assert made.segments == (Segment(rate=2, seconds=30), Segment(rate=4, seconds=600))
    assert (made.exact, made.gap_seconds, str(made.prompt)) == (True, 0.5, "lognormal:200:0.6:900")
    assert made.tenants[0].key == SecretStr(SECRET)


def test_options_go_before_the_file(tmp_path: Path) -> None:
    """What is given on the command line wins over the profile's file; the rest of the file stays."""
    file = tmp_path / "profile.yaml"
    file.write_text(json.dumps({"url": URL, "models": {"tiny": 1}, "segments": [{"rate": 7}], "seed": 4, "output": 9}))
    made = given("--profile", str(file), "--seed", "5")
    assert (made.seed, made.output.low, made.segments) == (5, 9, (Segment(rate=7),))


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """One look at the refusal is enough to mend everything."""
    said = refused(
        *("--url", "gateway", "--rate", "-1", "--for", "10", "--prompt", "uniform:9:2", "--output", "many"),
        *("--arrivals", "sometimes", "--stream-share", "2", "--key-file", f"a={tmp_path}/absent", "--timeout", "soon"),
    )
    found = ("traffic.url", "rate", "--for", "traffic.prompt", "traffic.output", "traffic.arrivals", "stream_share")
    assert [word for word in (*found, "absent", "--timeout", "models: missing") if word not in said] == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"segments": [{"rate": 0, "seconds": 3}]}, "no segment sends anything"),
        ({"segments": []}, "no segment sends anything"),
        ({"segments": [{"rate": 1}, {"rate": 2, "seconds": 1}]}, "only the last segment"),
        ({"tenants": [{"name": "a", "models": ["other"]}]}, "'a' opens other"),
        ({"tenants": []}, "tenants"),
        ({"models": {}}, "models"),
        ({"url": f"http://u:{SECRET}@gateway/v1"}, "url"),
        ({"sed": 1}, "did you mean 'seed'?"),
    ],
    ids=["rate 0", "no segment", "end in the middle", "no model", "no tenant", "no models", "password", "typo"],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], reason: str) -> None:
    """Refusals name the key, and never a secret."""
    fixed = {"url": URL, "models": {"tiny": 1}, "segments": [{"rate": 1, "seconds": 1}]}
    with pytest.raises(ConfigError) as caught:
        profile_of(fixed | changes)
    assert reason in str(caught.value)
    assert SECRET not in str(caught.value)


def test_keys_are_never_taken_from_a_profile_file(tmp_path: Path) -> None:
    """A profile may be shared; a key within it is refused, and not repeated."""
    file = tmp_path / "profile.yaml"
    file.write_text(json.dumps({"tenants": [{"name": "a", "key": SECRET}]}))
    said = refused("--profile", str(file), "--model", "tiny", "--url", URL)
    assert "key_file" in said
    assert SECRET not in said


def test_no_key_is_ever_shown() -> None:
    """Neither repr nor what reports hold has a key."""
    assert SECRET not in f"{profile()!r} {profile().public()}"


@pytest.mark.parametrize(
    ("text", "low", "median", "high"),
    [
        ("7", 7, 7, 7),
        ("uniform:10:20", 10, 15, 20),
        ("lognormal:200:0.5", 20, 200, 2_000),
        ("lognormal:200:1:300", 1, 200, 300),
    ],
)
def test_lengths_follow_their_spread(text: str, low: int, median: int, high: int) -> None:
    """Drawn lengths have the bounds and the middle that were written."""
    rng = seeded(2, "test")
    drawn = [LengthSpread.of(text).draw(rng) for _ in range(2_000)]
    assert low <= min(drawn) <= max(drawn) <= high
    assert statistics.median(drawn) == pytest.approx(median, rel=0.08)


def test_lengths_come_from_a_file(tmp_path: Path) -> None:
    """A file of lengths, as of real traffic, is drawn from as it is."""
    file = tmp_path / "lengths"
    file.write_text("5\n9\n9\n")
    spread = LengthSpread.of(f"file:{file}")
    assert {spread.draw(seeded(seed, "test")) for seed in range(30)} == {5, 9}


def drawn(count: int, **changes: Any) -> list[Any]:
    requests = Requests(profile(**changes))
    return [requests.draw() for _ in range(count)]


def test_requests_follow_their_shares() -> None:
    """Tenants, endpoints, streams and hang-ups come in the shares that were asked for."""
    found = drawn(2_000, chat_share=0.75, stream_share=0.5, abort_share=0.2)
    share = [
        sum(request.tenant.name == "a" for request in found),
        sum(request.wish.is_chat for request in found),
        sum(request.is_stream for request in found),
        sum(request.hang_up_after is not None for request in found),
    ]
    assert [count / 2_000 for count in share] == pytest.approx([0.75, 0.75, 0.5, 0.1], abs=0.03)


def test_no_two_prompts_start_alike() -> None:
    """Prompts are random from their first words on, so that a prefix cache cannot flatter; and repeatable."""
    prompts = [json.loads(request.body)["messages"][0]["content"] for request in drawn(200)]
    assert len({prompt[:30] for prompt in prompts}) == 200
    assert [request.body for request in drawn(20)] == [request.body for request in drawn(20)]


def test_shared_prefixes_are_shared() -> None:
    """Where prefixes are asked for, there are just so many."""
    found = drawn(100, prompt=LengthSpread.of("64"), shared_prefix=16, prefixes=3)
    prompts = [json.loads(request.body)["messages"][0]["content"] for request in found]
    assert len({tuple(prompt.split()[:16]) for prompt in prompts}) == 3
    assert len(set(prompts)) == 100


def test_prompts_grow_to_the_tokens_asked_for() -> None:
    """The length of prompts follows what the server counts."""
    requests = Requests(profile(prompt=LengthSpread.of("120")))
    for _ in range(40):
        request = requests.draw()
        requests.learn(request, 9 + 3 * request.words)
    assert 9 + 3 * requests.draw().words == pytest.approx(120, abs=3)


def test_a_body_asks_for_what_is_judged() -> None:
    """Usage is always asked for; exact counts and numbered tokens only when wanted."""
    bodies = [json.loads(drawn(1, exact=wanted, numbered=wanted)[0].body) for wanted in (True, False)]
    assert bodies[0]["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert (bodies[0]["ignore_eos"], bodies[0]["return_token_ids"]) == (True, True)
    assert bodies[1]["stream_options"] == {"include_usage": True}
    assert not {"ignore_eos", "return_token_ids"} & set(bodies[1])
