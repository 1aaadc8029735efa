"""Whether what a host said is what it should say: pass, fail, or cannot tell; no answer is never a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from infra.catalog.host_tuning.parsers.text import UNSET
from infra.catalog.host_tuning.setting import Answer, Means, Reading
from infra.errors import Unknown
from infra.plan.hosts.wanted import Wanted

SHOWN = 4
"""Different values that a check names; there are hundreds of CPUs (count)."""

EVIDENCE = 1_024
"""Longest evidence of a check (characters)."""

NO_PROGRAM = 127
"""Exit status of a shell that finds no program of a name. Source: POSIX, Shell Command Language, 2.8.2."""


class Outcome(StrEnum):
    """What came of one check."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    UNKNOWN = "unknown"
    """It cannot be told; never counted as passed."""


@dataclass(frozen=True, slots=True)
class Check:
    """One setting of one host, or of one rail of it, held against what is wanted."""

    id: str
    outcome: Outcome
    found: str
    wanted: str
    why: str
    severity: str
    subject: str = ""
    """Interface of the rail; empty: the whole host."""
    action: str = ""
    """What to do when it fails; empty when it does not."""
    evidence: str = ""
    """Each place that says something else, with what it says."""


def judge(item: Wanted, answers: Mapping[Reading, Answer]) -> Check:
    """Hold the answers of a host against one setting.

    Args:
        answers: to all of its readings; one that is not there is one that was not asked.
    """
    try:
        found = item.setting.parse(_said(item, answers), item.argument)
        wrong = _wrong(item, found)
    except Unknown as error:
        return _check(item, Outcome.UNKNOWN, str(error))
    if not wrong:
        return _check(item, Outcome.PASS, _told(list(found.values())))
    evidence = "; ".join(f"{place}: {value}" if place else value for place, value in wrong)
    return _check(item, Outcome.FAIL, _told([value for _, value in wrong]), _action(item), evidence[:EVIDENCE])


def _check(item: Wanted, outcome: Outcome, found: str, action: str = "", evidence: str = "") -> Check:
    setting = item.setting
    return Check(
        item.id, outcome, found, _meant(item), setting.why, setting.severity, item.subject, action, evidence
    )  # fmt: skip


def _said(item: Wanted, answers: Mapping[Reading, Answer]) -> dict[str, str]:
    """Texts of all answers by place: path, or command line.

    Raises:
        Unknown: a file may not be read or is not there, a program is not there or failed, or nothing was asked.
    """
    if not item.readings:
        raise Unknown("the inventory does not say the rail, or its PCI address")
    texts: dict[str, str] = {}
    for reading in item.readings:
        if reading not in answers:
            raise Unknown(f"was not asked: {' '.join(reading.ask)}")
        texts |= _texts(reading, answers[reading])
    return texts


def _texts(reading: Reading, answer: Answer) -> dict[str, str]:
    if answer.error:
        raise Unknown(answer.error)
    if reading.means is Means.FILES:
        if not answer.texts and not reading.optional:
            raise Unknown(f"there is no {reading.ask[0]}")
        return dict(answer.texts)
    if answer.status == NO_PROGRAM and reading.optional:
        return {}
    if answer.status == NO_PROGRAM:
        raise Unknown(f"{reading.ask[0]} is not installed")
    if answer.status:
        raise Unknown(f"{reading.ask[0]} ended with {answer.status}")
    if not answer.texts:
        raise Unknown(f"{reading.ask[0]} has no answer")
    return {" ".join(reading.ask).strip(): text for text in answer.texts.values()}


def _wrong(item: Wanted, found: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is wrong, by place.

    Raises:
        Unknown: no place says it, and one should have.
    """
    compare = item.setting.compare
    if not found and compare not in ("has", "lacks") and _words(item):
        if all(reading.optional for reading in item.readings):
            return []
        raise Unknown("no place says it")
    if compare == "equals":
        right = {" ".join(_words(item)), *item.setting.also} if _words(item) else set()
        return [one for one in found.items() if one[1] not in right]
    return list(_COMPARES[compare](found, _words(item)))


def _words(item: Wanted) -> tuple[str, ...]:
    return item.value if isinstance(item.value, tuple) else (str(item.value),)


def _meant(item: Wanted) -> str:
    """What is wanted, as people say it."""
    setting = item.setting
    if setting.compare == "agree":
        return "the same everywhere"
    words = " or ".join(dict.fromkeys([" ".join(_words(item)), *setting.also])) or "none"
    return f"{BEFORE.get(setting.compare, '')}{words}{' ' + setting.unit if setting.unit else ''}"


BEFORE = {"at_least": "at least ", "at_most": "at most ", "since": "at least ", "has": "with ", "lacks": "without "}
"""What is said before a value, by the name of the comparison."""


def _action(item: Wanted) -> str:
    setting = item.setting
    if setting.fix:
        return setting.fix
    return f"set {setting.variable} and play role {setting.role}{', then reboot' if setting.reboot else ''}"


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


def _version(word: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in word.split("."))
    except ValueError:
        raise Unknown(f"{word!r} is no version") from None


Wrong = Iterator[tuple[str, str]]


def _at_least(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    return (one for one in found.items() if one[1] == UNSET or _number(one[1]) < _number(want[0]))


def _at_most(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    return (one for one in found.items() if one[1] == UNSET or _number(one[1]) > _number(want[0]))


def _since(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    """Versions as numbers in order: 5.9 is older than 5.12."""
    return (one for one in found.items() if _version(one[1]) < _version(want[0]))


def _has(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    return (("", f"without {word}") for word in want if word not in found.values())


def _lacks(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    return (one for one in found.items() if one[1] in want)


def _agree(found: Mapping[str, str], want: Sequence[str]) -> Wrong:
    return iter(found.items() if len(set(found.values())) > 1 else ())


_COMPARES: Mapping[str, Callable[[Mapping[str, str], Sequence[str]], Wrong]] = {
    "at_least": _at_least, "at_most": _at_most, "since": _since, "has": _has, "lacks": _lacks, "agree": _agree,
}  # fmt: skip
"""By the name of the comparison."""
