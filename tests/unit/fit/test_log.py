"""Start-up logs of several engines and many versions are read alike."""

from __future__ import annotations

import tracemalloc
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.errors import Unknown
from infra.fit.log import read
from infra.units import GIB
from tests.unit.fit.plans import log_of

LOGS = yaml.safe_load((Path(__file__).parent / "logs.yaml").read_text(encoding="utf-8"))
SIZES = {"total", "free", "usable", "weights", "non_torch", "activation", "pool", "graphs", "graphs_estimated",
         "consumed", "needed", "left", "peak"}  # fmt: skip


@pytest.mark.parametrize("case", LOGS.values(), ids=LOGS.keys())
def test_every_figure_of_a_public_log_is_read(case: dict[str, Any]) -> None:
    """In bytes, seconds and counts; what is not said stays unknown."""
    log = log_of(case["log"])
    found = {name: log.figure(name) for name in case["figures"]}
    want = {name: value * GIB if name in SIZES and value else value for name, value in case["figures"].items()}
    unsaid = {name for name, value in want.items() if value is None}
    assert log.engine == case["engine"]
    assert {name for name, value in found.items() if value is None} == unsaid
    assert {name: found[name] for name in found if name not in unsaid} == pytest.approx(
        {name: want[name] for name in want if name not in unsaid}, rel=1e-4
    )


@pytest.mark.parametrize("case", LOGS.values(), ids=LOGS.keys())
def test_what_stopped_it_is_told(case: dict[str, Any]) -> None:
    """A start that failed names its failure, and one that did not names none."""
    assert [failure.what for failure in log_of(case["log"]).failures] == [
        case[key] for key in ("failure",) if key in case
    ]


@pytest.mark.parametrize("name", [name for name, case in LOGS.items() if "workers" in case])
def test_ranks_are_told_apart(name: str) -> None:
    """By number, by process, or by having no prefix."""
    assert log_of(LOGS[name]["log"]).workers == LOGS[name]["workers"]


def test_the_tightest_rank_counts() -> None:
    """The largest weights and the smallest cache, whichever rank said them."""
    log = log_of(
        "(Worker_TP0 pid=1) INFO Model loading took 5.0 GiB and 9.0 seconds\n"
        "(Worker_TP1 pid=2) INFO Model loading took 6.0 GiB and 8.0 seconds\n"
        "(Worker_TP0 pid=1) INFO Available KV cache memory: 3.0 GiB\n"
        "(Worker_TP1 pid=2) INFO Available KV cache memory: 2.0 GiB\n"
    )
    assert (log.figure("weights"), log.figure("pool"), sorted(log.ranks)) == (6 * GIB, 2 * GIB, ["TP0", "TP1"])


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        ("(Worker_PP1_TP0_EP3 pid=9) ", "PP1_TP0_EP3"),
        ("(VllmWorker rank=3 pid=2950723) ", "3"),
        ("(RayWorkerWrapper pid=77, ip=10.0.0.2) ", "RayWorkerWrapper pid=77"),
        ("(EngineCore_DP1 pid=5) ", "DP1"),
        ("2026-12-01T10:00:00.123456789Z stdout F (Worker_TP7 pid=9) ", "TP7"),
        ("vllm-1  | ", ""),
    ],
)
def test_prefixes_name_the_rank(prefix: str, rank: str) -> None:
    """Whatever else stands before it: times, containers, hosts."""
    assert list(log_of(f"{prefix}INFO Available KV cache memory: 3.0 GiB").ranks) == [rank]


def test_the_last_start_counts() -> None:
    """A container that was restarted wrote more than one start into its log."""
    one = "INFO non-default args: {{'max_model_len': {0}}}\nINFO Available KV cache memory: {0} GiB\n"
    log = log_of(one.format(4) + one.format(8))
    assert (log.starts, log.settings.max_len, log.figure("pool")) == (2, 8, 8 * GIB)


def test_a_start_that_has_said_nothing_yet_gives_way() -> None:
    """The one before it told something."""
    log = log_of("non-default args: {'max_model_len': 4}\nAvailable KV cache memory: 4 GiB\nnon-default args: {}\n")
    assert log.figure("pool") == 4 * GIB


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("INFO: Application startup complete.\nTraceback\n", "has no figure in 2"),
    ],
    ids=["empty", "blank", "other lines"],
)
def test_a_log_that_tells_nothing_is_unknown(text: str, why: str) -> None:
    """Never a comparison with nothing."""
    with pytest.raises(Unknown, match=why):
        log_of(text)


def test_a_drafter_adds_to_the_weights() -> None:
    """SGLang loads it by a second line; shared weights come off again (RadixArk/Qwen3.8-Flash-Next-NVFP4)."""
    log = log_of(
        "[2026-08-28 21:32:38] Load weight end. elapsed=787.55 s, avail mem=29.01 GB, mem usage=82.97 GB.\n"
        "[2026-08-28 21:34:13] Load weight end. elapsed=94.49 s, avail mem=30.67 GB, mem usage=-1.86 GB.\n"
    )
    assert log.figure("weights") == pytest.approx(81.11 * GIB)
    assert log.figure("load") == pytest.approx(882.04)


def test_a_long_log_is_read_without_keeping_it() -> None:
    """Half a gigabyte was held for a log of 200 MB that is mostly chatter of the running engine."""
    start = ["INFO Model loading took 5.0 GiB and 9.0 seconds\n", "INFO Available KV cache memory: 3.0 GiB\n"]
    chatter = "INFO Engine 000: Avg prompt throughput: 123.4 tokens/s, Running: 12 reqs, KV cache usage: 12.3%\n"
    tracemalloc.start()
    log = read(chain(start, (f"{number} {chatter}" for number in range(50_000))))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.figure("pool") == 3 * GIB
    assert peak < 1_000_000


@pytest.mark.parametrize("line", [f"Available KV cache memory: {'9' * 400} GiB", f"max_model_len={'9' * 5000}"])
def test_damaged_figures_are_passed_over(line: str) -> None:
    """400 digits became infinity, 5,000 a traceback."""
    log = log_of(f"Model loading took 5.0 GiB and 9.0 seconds\nnon-default args: {line}\n")
    assert (log.figure("weights"), log.figure("pool"), log.settings.max_len) == (5 * GIB, None, None)


def test_keys_without_values_are_no_cache() -> None:
    """The one figure of a line was damaged, and the other one was looked for."""
    keys = "[2026-01-31 13:50:39 TP2] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: "
    assert log_of(f"{keys}{'9' * 30} GB\n").figure("pool") is None
