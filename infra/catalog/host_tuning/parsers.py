"""From what a host said to what was found: one value of each place that says it, and never a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infra.catalog.host_tuning.setting import Answer
from infra.errors import Unknown

NO_PROGRAM = 127
"""Exit status of a shell that finds no program of a name. Source: POSIX, Shell Command Language, 2.8.2."""


def words(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Each file's words, as several values of one sysctl are separated by tabs."""
    return tuple(" ".join(text.split()) for text in _texts(answers))


def bracketed(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """The chosen one of several, as in ``always [madvise] never``."""
    found = [re.search(r"\[([^\]]+)\]", text) for text in _texts(answers)]
    if not all(found):
        raise Unknown("no choice is in brackets")
    return tuple(match[1] for match in found if match)


def boot_word(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Value of a word of the kernel command line; empty when it is not there, itself when it has no value.

    The last one counts, as for the kernel.
    """
    said = [word for text in _texts(answers) for word in text.split() if word.partition("=")[0] == argument]
    if not said:
        return ("",)
    key, _, value = said[-1].partition("=")
    return (value or key,)


def modules(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Names of the modules that are loaded, from ``/proc/modules``; dashes are underscores there."""
    return tuple(line.split()[0] for text in _texts(answers) for line in text.splitlines() if line.strip())


def unit_property(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Value of a property in the output of ``systemctl show``."""
    found = [
        line.partition("=")[2]
        for text in _texts(answers)
        for line in text.splitlines()
        if line.startswith(f"{argument}=")
    ]
    if not found:
        raise Unknown(f"systemd does not say {argument}")
    return tuple(found)


def lines(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Each line that is not empty."""
    return tuple(line.strip() for text in _texts(answers) for line in text.splitlines() if line.strip())


def is_there(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """``yes`` when a file matched or the program succeeded, else ``no``."""
    return tuple("yes" if answer.texts and not answer.status else "no" for answer in answers)


def acs_bits(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Whether each bridge checks the source of requests: ``SrcValid+`` or ``SrcValid-`` of lspci's ACSCtl lines.

    Source: NCCL user guide, troubleshooting of GPUs: all of them have to say ``SrcValid-``.
    """
    return tuple(bit for text in _texts(answers) for bit in re.findall(r"ACSCtl:\s+(SrcValid[+-])", text))


def read_requests(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """Largest read request of each device (bytes), of lspci's DevCtl lines."""
    return tuple(size for text in _texts(answers) for size in re.findall(r"MaxReadReq (\d+) bytes", text))


def link_losses(answers: Sequence[Answer], argument: str) -> tuple[str, ...]:
    """PCIe links that run below what both ends can: ``16GT/s x8 of 32GT/s x16``; none is what is wanted."""
    found = []
    for text in _texts(answers):
        for device in re.split(r"\n(?=\S)", text):
            can = re.search(r"LnkCap:.*?Speed ([\d.]+GT/s).*?Width (x\d+)", device)
            has = re.search(r"LnkSta:.*?Speed ([\d.]+GT/s).*?Width (x\d+)", device)
            if can and has and can.groups() != has.groups():
                found.append(f"{device.split()[0]}: {' '.join(has.groups())} of {' '.join(can.groups())}")
    return tuple(found)


def _texts(answers: Sequence[Answer]) -> list[str]:
    """Texts of all answers.

    Raises:
        Unknown: a file is not there or may not be read, a program is not there or failed.
    """
    texts: list[str] = []
    for answer in answers:
        if answer.error:
            raise Unknown(answer.error)
        if answer.status == NO_PROGRAM:
            raise Unknown("the program is not installed")
        if answer.status:
            raise Unknown(f"the program ended with {answer.status}")
        if not answer.texts:
            raise Unknown("there is no such file")
        texts += answer.texts.values()
    return texts
