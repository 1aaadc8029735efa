"""Every fault of an answer is seen, and no way of cutting its bytes into pieces changes that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runbooks.lib.traffic.answer import StreamedAnswer, Wish, error_message, whole_answer
from runbooks.lib.traffic.arrivals import seeded
from tests.unit.runbooks.traffic.streams import FAULTS, TOKENS, answer, encode, plain

EXACT = Wish("tiny", is_chat=True, max_tokens=TOKENS, is_exact=True)


def judged(pieces: list[bytes], wish: Wish = EXACT) -> tuple[str, str, StreamedAnswer]:
    stream = StreamedAnswer(wish)
    for number, piece in enumerate(pieces):
        stream.feed(piece, 1.0 + number)
    if cut := stream.cut():
        return "cut", cut, stream
    return ("wrong" if stream.wrong() else "ok"), stream.wrong(), stream


def faulty(name: str) -> bytes:
    data = encode(FAULTS[name][2](answer()))
    return data + b'data: {"id": "chat' if name == "ends in the middle of an event" else data


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_gets_its_verdict(name: str) -> None:
    """A fault in a stream is found, and its reason says what it is."""
    verdict, reason, _ = judged([faulty(name)])
    assert (verdict, FAULTS[name][1] in reason) == (FAULTS[name][0], True), reason


@pytest.mark.parametrize("name", FAULTS)
def test_any_split_gives_the_same_verdict(name: str) -> None:
    """However the bytes of a stream are cut into pieces, even within a character, the verdict is the same."""
    data = faulty(name)
    whole = judged([data])[:2]
    rng = seeded(1, name)
    assert judged([data[at : at + 1] for at in range(len(data))])[:2] == whole
    for _ in range(25):
        cuts = sorted(rng.sample(range(len(data)), rng.randint(1, 12)))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert judged(pieces)[:2] == whole, cuts


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_every_end_of_line_is_read(end: str) -> None:
    """All three ends of line that an event stream may have mean the same, byte by byte too."""
    data = encode(answer(), end) + b": bye\n\n"
    verdicts = {judged([data])[0], judged([data[at : at + 1] for at in range(len(data))])[0]}
    assert verdicts == {"ok"}


def test_comments_and_other_fields_carry_nothing() -> None:
    """Comments, names of events and data on several lines are read as the standard has it."""
    data = encode(answer()).replace(b"data: ", b": ping\nevent: message\nid: 1\ndata:", 1)
    many = data.replace(b'data: {"id": "chatcmpl-1", ', b'data: {"id": "chatcmpl-1",\ndata: ')
    assert judged([many])[:2] == ("ok", "")


def test_bytes_that_are_no_events_are_wrong() -> None:
    """A line that no event stream has is told, with the line."""
    assert judged([b"<html>oops</html>\n\n" + encode(answer())])[:2] == (
        "wrong",
        "a line that is none of an event stream: b'<html>oops</html>'",
    )


@pytest.mark.parametrize("name", ["none", "usage counts too few", "no [DONE]", "two answers mixed", "too short"])
def test_an_engine_that_numbers_nothing_is_judged_too(name: str) -> None:
    """What can be told without numbers is told; the answer says that its tokens were not counted on the way."""
    verdict, _, stream = judged([encode(plain(FAULTS[name][2](answer())))])
    assert (verdict, stream.is_numbered) == (FAULTS[name][0], False)


def test_several_tokens_in_a_piece_are_all_counted() -> None:
    """A piece with several tokens, as with speculative decoding, counts as many."""
    events: list[Any] = answer()
    events[2]["choices"][0]["token_ids"] = [1, 2, 3]
    events[2]["usage"]["completion_tokens"] = 4
    events[3]["usage"]["completion_tokens"], events[3]["choices"][0]["finish_reason"] = 5, None
    events[6]["usage"]["completion_tokens"] = 6
    stream = judged([encode([*events[:4], events[6], *events[7:]])])[2]
    assert (stream.wrong(), stream.tokens, len(stream.gaps)) == ("", 6, 3)


def test_the_first_token_is_not_the_role() -> None:
    """A piece with the role alone starts neither the first token nor a gap."""
    stream = judged([encode([event]) for event in answer()])[2]
    assert (stream.first_token, list(stream.gaps)) == (2.0, [1.0] * (TOKENS - 1))


def test_the_longest_silence_counts_every_event() -> None:
    """Silence is measured between events, from the first to the last."""
    stream = StreamedAnswer(EXACT)
    for now, event in zip([5.0, 6.0, 9.5, 10.0, 10.1, 10.2, 10.3, 10.4, 12.0], answer(), strict=True):
        stream.feed(encode([event]), now)
    assert stream.longest_gap == pytest.approx(3.5)


def whole(**changes: Any) -> bytes:
    choice = {"index": 0, "message": {"content": "x y"}, "text": "x y", "finish_reason": "length"}
    body = {"model": "tiny", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": TOKENS}}
    return json.dumps(body | changes).encode()


WHOLE = {
    "right": (whole(), ""),
    "cut JSON": (whole()[:-5], "not the shape"),
    "no usage": (whole(usage=None), "not the shape"),
    "too few": (whole(usage={"completion_tokens": 5}), "5 tokens came, 6 were asked for"),
    "another model": (whole(model="other"), "'other' answered"),
    "no text": (whole(choices=[{"message": {"content": None}, "finish_reason": "length"}]), "no text"),
    "miscounted": (
        whole(choices=[{"message": {"content": "x"}, "finish_reason": "length", "token_ids": [1]}]),
        "usage counts 6 tokens, 1 came",
    ),
    "aborted": (whole(choices=[{"message": {"content": "x"}, "finish_reason": "abort"}]), "'abort'"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_answer_is_judged(name: str) -> None:
    """An answer in one piece is held to the same."""
    body, reason = WHOLE[name]
    found = whole_answer(body, EXACT)[0]
    assert reason in found
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "full", "type": "rate_limit_error", "code": None}}, "full"),
        ({"error": "full"}, ""),
        ({"detail": "full"}, ""),
        ([], ""),
        ({"error": {"message": "full"}}, ""),
    ],
    ids=["OpenAI's", "a string", "FastAPI's", "a list", "no type"],
)
def test_only_errors_in_openai_s_shape_count_as_such(body: Any, message: str) -> None:
    """A refusal in due form has an error object with message and type."""
    assert error_message(body) == message
