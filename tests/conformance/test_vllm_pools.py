"""Our division of a KV pool is vLLM's own, to the block, from nothing but a config.json."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.configs import read
from infra.catalog.engines import VLLM
from infra.plan.cache import Pool, pool
from infra.plan.layout import Layout
from lab import paths
from lab.engine import vllm
from tests.conformance.cases import CASES, Config

SCRIPT = Path(__file__).with_name("vllm_pools.py")

LOOKS_MINUTES = 8
"""The first run looks at each model class once, in a process of its own; later ones take half a minute."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What vLLM itself says to all cases."""
    engine = vllm.runtime().host_path
    if not engine.exists():
        pytest.skip(f"vLLM is not installed in {engine.parent}; `lab up` installs it")
    if sys.version_info[:2] != (3, 11):
        pytest.skip(f"vLLM is installed for Python {vllm.PYTHON}, not for {sys.version_info[0]}.{sys.version_info[1]}")
    folder = tmp_path_factory.mktemp("vllm")
    env = vllm.environment() | {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(engine),
        "VLLM_CACHE_ROOT": str(paths.cache_dir() / "conformance"),
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
    out = folder / "answers.json"
    done = subprocess.run(
        [sys.executable, "-P", SCRIPT, out], input=json.dumps(list(CASES.values())), env=env, text=True,
        capture_output=True, timeout=LOOKS_MINUTES * 60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(CASES, json.loads(out.read_text()), strict=True))


def ours(case: Config) -> Pool:
    """Our own answer."""
    settings = {key: value for key, value in case.items() if key not in ("config", "tensor", "pipeline", "sparse")}
    architecture = read(case["config"], name="tiny", source="this test")
    return pool(architecture, Layout(case["tensor"], case["pipeline"]), engine=VLLM[0], version=(0, 32), **settings)


@pytest.mark.parametrize("name", CASES)
def test_a_pool_is_divided_as_vllm_divides_it(name: str, answers: dict[str, Any]) -> None:
    """Groups, tokens in a block, blocks, concurrency, tokens logged and the longest request are vLLM's own."""
    case, theirs = CASES[name], answers[name]
    assert "error" not in theirs, theirs["error"]
    mine = ours(case)
    assert {
        "blocks": mine.blocks,
        "groups": sorted([len(part.held), part.block_tokens] for part in mine.groups),
        "bytes_per_block": mine.bytes_per_block,
        "tokens": mine.tokens,
        "concurrency": mine.concurrency(case["max_len"]),
        "longest": mine.longest(case["max_len"]),
    } == theirs
