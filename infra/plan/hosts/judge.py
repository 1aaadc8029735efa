"""Whether what a host said is what it should say: pass, fail, or cannot tell; no answer is never a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from infra.catalog.host_tuning.setting import Answer, Reading
from infra.errors import Unknown
from infra.plan.hosts.wanted import Wanted

SHOWN = 4
"""Different values that a check names; there are hundreds of CPUs (count)."""


class Outcome(StrEnum):
    """What came of one check."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    UNKNOWN = "unknown"
    """It cannot be told; never counted as passed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One setting of one host, held against what is wanted."""

    id: str
    outcome: Outcome
    found: str
    wanted: str
    why: str
    severity: str


def judge(item: Wanted, answers: Mapping[Reading, Answer]) -> Check:
    """Hold the answers of a host against one setting.

    Args:
        answers: to all of the setting's readings; one that is not there is one that was not asked.
    """
    setting = item.setting
    try:
        missing = [reading for reading in setting.readings if reading not in answers]
        if missing:
            raise Unknown(f"was not asked: {' '.join(missing[0].ask)}")
        found = setting.parse([answers[reading] for reading in setting.readings], setting.argument)
        holds = _COMPARES[setting.compare](found, _words(item))
    except Unknown as error:
        return Check(setting.id, Outcome.UNKNOWN, str(error), _said(item), setting.why, setting.severity)
    outcome = Outcome.PASS if holds else Outcome.FAIL
    return Check(setting.id, outcome, _told(found), _said(item), setting.why, setting.severity)


def _words(item: Wanted) -> tuple[str, ...]:
    value = item.value
    return value if isinstance(value, tuple) else (str(value),)


def _said(item: Wanted) -> str:
    """What is wanted, as people say it."""
    words = " or ".join(_words(item)) if item.setting.compare == "one_of" else " ".join(_words(item)) or "none"
    before = {"at_least": "at least ", "at_most": "at most ", "has": "with ", "lacks": "without "}
    return "the same everywhere" if item.setting.compare == "agree" else before.get(item.setting.compare, "") + words


def _told(found: Sequence[str]) -> str:
    different = list(dict.fromkeys(found))
    more = f" and {len(different) - SHOWN} more" if len(different) > SHOWN else ""
    return ", ".join(word or "nothing" for word in different[:SHOWN]) + more or "none"


def _number(word: str) -> float:
    if word in ("infinity", "unlimited"):
        return float("inf")
    try:
        return float(word)
    except ValueError:
        raise Unknown(f"{word!r} is no number") from None


def _equals(found: Sequence[str], want: Sequence[str]) -> bool:
    """Each place says it; nothing is wanted where no word is."""
    if not want:
        return not found
    return _some(found) and all(word == " ".join(want) for word in found)


def _some(found: Sequence[str]) -> bool:
    if not found:
        raise Unknown("no place says it")
    return True


_COMPARES: Mapping[str, Callable[[Sequence[str], Sequence[str]], bool]] = {
    "equals": _equals,
    "at_least": lambda found, want: _some(found) and all(_number(word) >= _number(want[0]) for word in found),
    "at_most": lambda found, want: _some(found) and all(_number(word) <= _number(want[0]) for word in found),
    "one_of": lambda found, want: _some(found) and all(word in want for word in found),
    "has": lambda found, want: all(word in found for word in want),
    "lacks": lambda found, want: not any(word in found for word in want),
    "agree": lambda found, want: _some(found) and len(set(found)) == 1,
}
"""By the name of the comparison."""
