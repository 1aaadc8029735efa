"""Read reports of ours, of ``vllm bench serve`` and of guidellm, each figure under the name of what it really is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.errors import ConfigError
from runbooks.lib.traffic.figures import DEFINITIONS
from runbooks.lib.traffic.report import FORMAT

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
"""What is compared of each spread; which percentiles a report of another tool has was chosen when it was made."""

COUNTS: Mapping[str, str] = {
    "complete": "answers that came whole (count)",
    "not complete": "all others that were sent (count)",
    "seconds": "time measured (s)",
    "requests/s": "complete answers per second",
    "output tokens/s": "output tokens per second",
}
"""Rows with one number."""

VLLM = {
    "ttft": ("ttft", "from sending to the first chunk with choices; for chat that is the one with only the role"),
    "tpot": ("tpot", "(E2E − TTFT) / (output tokens − 1): without the first token"),
    "itl": ("itl", "between chunks with choices; a chunk may hold several tokens"),
    "e2e": ("e2el", "from sending to the last chunk with choices"),
}
"""Our name of each spread to its name in the file and its meaning. Source: vLLM 0.32, benchmarks/serve.py."""

GUIDELLM = {
    "ttft": ("time_to_first_token_ms", 1e-3, "from sending to the first token"),
    "tpot, by tokens": (
        "inter_token_latency_ms",
        1e-3,
        "(last token − first token) / (output tokens − 1), called inter-token latency; requests weigh by their tokens",
    ),
    "time per token, first included": (
        "time_per_output_token_ms",
        1e-3,
        "(last token − sending) / output tokens, called TPOT; requests weigh by their tokens",
    ),
    "e2e": ("request_latency", 1.0, "from sending to the end of the request"),
}
"""Our name of each spread to its name in the file, its unit (s) and its meaning.

Source: guidellm, schemas/request_stats.py and benchmark/schemas/metrics.py at ee7a774.
"""


@dataclass(frozen=True)
class Column:
    """One run, by whatever tool."""

    name: str
    tool: str
    counts: Mapping[str, float | None]
    """By the names of ``COUNTS``."""
    spreads: Mapping[str, Mapping[str, float]]
    """Figure to statistic to value (s)."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """What this tool means by each figure."""


def read(path: Path) -> list[Column]:
    """Read a report; guidellm's hold several runs.

    Raises:
        ConfigError: it cannot be read, or is none that is known.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"report {str(path)!r} — cannot be read as JSON ({error}) — name one that can") from error
    for knows, columns in ((_is_ours, _ours), (_is_vllm, _vllm), (_is_guidellm, _guidellm)):
        if isinstance(found, dict) and knows(found):
            try:
                return columns(path.name, found)
            except (LookupError, TypeError, AttributeError) as error:
                raise ConfigError(
                    f"report {str(path)!r} — looks like one of {columns.__name__.strip('_')}, but lacks {error} — "
                    "make it anew with a version that is known"
                ) from error
    raise ConfigError(
        f"report {str(path)!r} — is none that is known — allowed are `runbook traffic --json`, "
        "`vllm bench serve --save-result` and guidellm's benchmarks.json — name one of them"
    )


def _is_ours(found: Mapping[str, Any]) -> bool:
    return found.get("format") == FORMAT


def _ours(name: str, found: Mapping[str, Any]) -> list[Column]:
    figures = found["figures"]
    counts = {
        "complete": figures["complete"],
        "not complete": found["sent"] - figures["complete"],
        "seconds": found["seconds"],
        "requests/s": figures["requests_per_second"],
        "output tokens/s": figures["tokens_per_second"],
    }
    spreads = {key: _some(figures[key], 1.0) for key in ("ttft", "tpot", "itl", "e2e") if figures[key]}
    return [Column(name, "runbook traffic", counts, spreads, {key: DEFINITIONS[key] for key in spreads})]


def _is_vllm(found: Mapping[str, Any]) -> bool:
    return "request_throughput" in found and "output_throughput" in found


def _vllm(name: str, found: Mapping[str, Any]) -> list[Column]:
    counts = {
        "complete": found["completed"],
        "not complete": found.get("failed", found["num_prompts"] - found["completed"]),
        "seconds": found["duration"],
        "requests/s": found["request_throughput"],
        "output tokens/s": found["output_throughput"],
    }
    spreads, definitions = {}, {}
    for key, (theirs, meaning) in VLLM.items():
        named = {"mean": f"mean_{theirs}_ms", "p50": f"median_{theirs}_ms"}
        named |= {statistic: f"{statistic}_{theirs}_ms" for statistic in STATISTICS if statistic not in named}
        values = {statistic: found[where] / 1000 for statistic, where in named.items() if where in found}
        if values:
            spreads[key], definitions[key] = values, meaning
    return [Column(name, "vllm bench serve", counts, spreads, definitions)]


def _is_guidellm(found: Mapping[str, Any]) -> bool:
    return isinstance(found.get("benchmarks"), list)


def _guidellm(name: str, found: Mapping[str, Any]) -> list[Column]:
    runs: Sequence[Mapping[str, Any]] = found["benchmarks"]
    return [_guidellm_run(f"{name} {place}" if len(runs) > 1 else name, run) for place, run in enumerate(runs, 1)]


def _guidellm_run(name: str, run: Mapping[str, Any]) -> Column:
    metrics = run["metrics"]
    totals = metrics["request_totals"]
    counts = {
        "complete": totals["successful"],
        "not complete": totals["total"] - totals["successful"],
        "seconds": run["duration"],
        "requests/s": metrics["requests_per_second"]["successful"]["mean"],
        "output tokens/s": metrics["output_tokens_per_second"]["successful"]["mean"],
    }
    spreads = {}
    for key, (theirs, unit, _) in GUIDELLM.items():
        summary = metrics[theirs]["successful"]
        if summary["count"]:
            spreads[key] = _some(summary["percentiles"] | {"mean": summary["mean"]}, unit)
    return Column(name, "guidellm", counts, spreads, {key: GUIDELLM[key][2] for key in spreads})


def _some(values: Mapping[str, float], unit: float) -> dict[str, float]:
    return {statistic: values[statistic] * unit for statistic in STATISTICS}
