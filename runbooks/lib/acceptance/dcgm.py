"""Judge what ``dcgmi diag`` printed, as JSON or as its table.

Source: NVIDIA/DCGM 3.3 to 4.6, dcgmi/Diag.cpp; a test that was skipped has tested nothing, and is never a pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.errors import Unknown
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance.verdict import LONGEST, Cause, Verdict

FIXES: tuple[tuple[str, str, str], ...] = (
    (r"[Pp]ersistence", "persistence mode is off", "start nvidia-persistenced (role nvidia_driver)"),
    (r"remapping.*pending|remappings are pending|page.?retirement", "rows wait to be remapped", "reset the GPU"),
    (r"[Rr]emap\w* fail|uncorrectable memory", "memory is bad", "replace the GPU"),
    (r"fabric|[Ff]abric ?[Mm]anager", "the NVLink fabric is not up",
     "see fabric manager of exactly the driver's version, and nvlsm before it (role nvidia_driver)"),
    (r"NvLink|NVLink", "an NVLink is down or has errors", "see nvidia-smi nvlink -s and -e"),
    (r"PCIe|replay", "the PCIe link has errors or is narrow", "see lspci -vvv, and seat the GPU anew"),
    (r"[Tt]hermal|temperature", "it gets too hot", "see fans, airflow or cold plate"),
    (r"[Cc]locks? .*(?:throttl|event)|power", "it does not reach its power or clocks", "see power limit and supplies"),
    (r"[Mm]emory bandwidth", "memory is slow", "see ECC errors and clocks; replace the GPU if it stays"),
    (r"other process|in use|utilization", "somebody else uses the GPUs", "drain the host, then run it again"),
)  # fmt: skip
"""What a warning speaks of → fault, fix. Source: DCGM diag errors, dcgm_errors.c; NVIDIA/DCGM#272."""

NOT_TESTED = ("skip", "skipped", "not run", "notrun")
"""States of a test that has tested nothing. Source: dcgmDiagResult_t."""

WIDTH = 45
"""Characters in a row of the table; a longer text is cut there, and goes on in the next row."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test on one GPU, or on the host."""

    name: str
    state: str
    """As printed, such as ``Pass``."""
    gpu: str
    """Number of the GPU; empty: of the host, or of all GPUs."""
    warnings: tuple[str, ...] = ()


def parse(text: str) -> tuple[Test, ...]:
    """Read an output.

    Raises:
        Unknown: it is none, or DCGM did not get to testing.
    """
    start = text.find("{")
    if start >= 0 and '"test_categories"' in text:
        return tuple(_of_json(text[start:]))
    found = tuple(_of_table(text))
    if not found:
        raise Unknown(f"no output of dcgmi diag: {' '.join(text.split())[-LONGEST:] or 'nothing'}")
    return found


def judge(text: str) -> tuple[Verdict, ...]:
    """Judge every test of one output; those that passed are told in one."""
    try:
        tests = parse(text)
    except Unknown as error:
        return (Verdict("dcgmi diag", Outcome.UNKNOWN, str(error), "tests that pass"),)
    bad = [_judged(test) for test in tests if _outcome(test) is not Outcome.PASS]
    good = [test for test in tests if _outcome(test) is Outcome.PASS]
    names = ", ".join(dict.fromkeys(test.name for test in good))
    return (*bad, *([Verdict("dcgmi diag", Outcome.PASS, f"pass: {names}", "pass")] if good else []))


def _outcome(test: Test) -> Outcome:
    state = test.state.lower()
    if state.startswith("fail"):
        return Outcome.FAIL
    # A pass beside a test that got no memory has tested nothing (NVIDIA/DCGM#284).
    if state.startswith("pass") and not any("alloc" in one.lower() for one in test.warnings):
        return Outcome.PASS
    return Outcome.UNKNOWN


def _judged(test: Test) -> Verdict:
    where = f"dcgmi diag {test.name}{f' of GPU {test.gpu}' if test.gpu else ''}"
    skipped = test.state.lower() in NOT_TESTED
    found = f"{test.state}, which tests nothing" if skipped else test.state
    return Verdict(where, _outcome(test), found, "pass", tuple(_causes(test)))


def _causes(test: Test) -> Iterator[Cause]:
    for warning in test.warnings or ((test.name,) if _outcome(test) is Outcome.FAIL else ()):
        known = next(((name, fix) for pattern, name, fix in FIXES if re.search(pattern, warning)), None)
        name, fix = known or (f"{test.name} fails", "run dcgmi diag -r 4 and open a case with what it prints")
        yield Cause(name, warning[:LONGEST], fix)


def _of_json(text: str) -> Iterator[Test]:
    try:
        said, _ = json.JSONDecoder().raw_decode(text)
        root = said.get("DCGM Diagnostic") or said["DCGM GPU Diagnostic"]
        if problem := root.get("runtime_error"):
            raise Unknown(f"DCGM: {problem}")
        for category in root["test_categories"]:
            for test in category["tests"]:
                yield from _results(test)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unknown(f"no JSON of dcgmi diag ({error})") from None


def _results(test: Mapping[str, Any]) -> Iterator[Test]:
    for result in test["results"]:
        is_gpu = result.get("entity_group", "GPU") == "GPU"
        gpu = str(result.get("entity_id", result.get("gpu_id", ""))) if is_gpu else ""
        yield Test(test["name"], result["status"], gpu, tuple(_warnings(result.get("warnings"))))


def _warnings(said: Any) -> Iterator[str]:
    """Warnings of DCGM 4 are objects, those of DCGM 3 text or a list of it."""
    for one in said if isinstance(said, list) else [said] if said else []:
        yield str(one.get("warning", one)) if isinstance(one, dict) else str(one)


def _of_table(text: str) -> Iterator[Test]:
    """Rows of the table: a name, then states of it; a warning goes on over several rows."""
    name, warning = "", ""
    states: list[str] = []
    for head, cell in [*_cells(text), ("end", "")]:
        if head and not head.startswith(("Warning", "Error", "Info")):
            yield from _of_row(name, states, warning)
            name, warning, states = head, "", []
        if re.match(r"(?:GPU\d+: )?(?:Pass|Fail|Skip|Warn|Not Run)\b", cell):
            states.append(cell)
        elif states:
            warning += re.sub(r"^(?:Error|Warning): ", "", cell) + (" " if len(cell) < WIDTH else "")


def _cells(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        cells = line.strip().strip("|").split("|")
        if len(cells) == 2 and not cells[0].startswith("-"):
            yield cells[0].strip(), cells[1].strip()


def _of_row(name: str, states: list[str], warning: str) -> Iterator[Test]:
    for said in states:
        match = re.match(r"(?:GPU(\d+): )?(\w+(?: Run)?)(?: - GPUs?: ([\d, ]+)| - All)?", said)
        if match is None or (len(states) > 1 and any(one.startswith("GPU") for one in states) and match[1] is None):
            continue
        for gpu in (match[3] or match[1] or "").split(","):
            is_bad = not match[2].startswith("Pass")
            yield Test(name, match[2], gpu.strip(), (warning.strip(),) if warning and is_bad else ())
