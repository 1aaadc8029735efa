"""Options that describe one replica of one model without a stack file."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from infra.errors import ConfigError, Unknown

if TYPE_CHECKING:
    from infra.catalog.architecture import Architecture
    from infra.catalog.engines import Engine
    from infra.plan.single import Single

CONFIGS = ("config.json", "params.json")
"""Files in which a checkpoint's folder describes itself."""

USUAL_ENGINE = "vllm"
"""Engine where nobody says."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options to a verb."""
    group = parser.add_argument_group("one model without a stack file")
    group.add_argument("--gpu", metavar="GPU", help="such as h100 or b200")
    group.add_argument("--gpus", type=int, default=1, metavar="N", help="GPUs of one replica (1)")
    group.add_argument("--pipeline", type=int, default=1, metavar="N", help="stages among them (1)")
    group.add_argument("--data", type=int, default=1, metavar="N", help="data-parallel ranks among them (1)")
    group.add_argument("--expert-parallel", action="store_true", help="whole experts on each rank")
    group.add_argument("--engine", metavar="NAME", help="vllm, sglang, trtllm, tgi or lightllm (vllm)")
    group.add_argument("--engine-version", metavar="X.Y.Z", help="the newest whose rules are known")
    group.add_argument("--max-len", type=int, metavar="TOKENS", help="longest request (what the model was trained for)")
    group.add_argument("--max-seqs", type=int, metavar="N", help="requests in a batch (the engine's default)")
    group.add_argument("--batched-tokens", type=int, metavar="N", help="tokens in a batch (the engine's default)")
    group.add_argument("--utilisation", type=float, metavar="SHARE", help="the engine's share of memory (its default)")
    group.add_argument("--quantisation", metavar="FORMAT", help="format of the weights (the checkpoint's)")
    group.add_argument("--kv-cache-dtype", default="auto", metavar="FORMAT", help="format of the cache (the model's)")
    group.add_argument("--speculative-tokens", type=int, default=0, metavar="N", help="tokens a drafter proposes (0)")
    group.add_argument("--eager", action="store_true", help="without CUDA graphs")


def single_of(options: argparse.Namespace) -> Single:
    """Describe the replica that the options ask for.

    Raises:
        ConfigError: something named is not known, or the numbers do not go together.
        Unknown: the model's config has traits that are not known here, or the engine is too old.
    """
    from infra.catalog.gpus import GPUS
    from infra.catalog.quantisations import quantisation
    from infra.plan.layout import Layout
    from infra.plan.memory import Options
    from infra.plan.single import Single

    if options.gpu not in GPUS:
        _not_one_of("--gpu", options.gpu, GPUS)
    engine, version = _engine(options)
    if options.quantisation:
        quantisation(options.quantisation)
    architecture = architecture_of(options.model)
    asked = Options(
        utilisation=options.utilisation,
        max_len=options.max_len,
        max_seqs=options.max_seqs,
        batched_tokens=options.batched_tokens,
        kv_dtype=options.kv_cache_dtype,
        quantisation=options.quantisation,
        speculative_tokens=options.speculative_tokens,
        eager=options.eager,
        version=version if options.engine_version else None,
    )
    layout = Layout(_tensor(options), options.pipeline, options.data, options.expert_parallel)
    said = options.engine_version or f"{version[0]}.{version[1]} or newer"
    return Single(architecture.name, architecture, layout, GPUS[options.gpu], engine, said, asked)


def architecture_of(name: str) -> Architecture:
    """Find a model: a config file, a folder with one, or a checkpoint that the catalog knows."""
    from infra.catalog.checkpoints import checkpoint
    from infra.catalog.configs import read_file

    path = Path(name)
    if path.is_dir():
        path = next((path / file for file in CONFIGS if (path / file).is_file()), path / CONFIGS[0])
    if path.suffix == ".json" or path.is_file():
        return read_file(path)
    return checkpoint(name)


def _engine(options: argparse.Namespace) -> tuple[Engine, tuple[int, int]]:
    from infra.catalog.engines import ENGINES, engine_for

    name = options.engine or USUAL_ENGINE
    if name not in ENGINES:
        _not_one_of("--engine", name, ENGINES)
    version = _version(options.engine_version) if options.engine_version else ENGINES[name][0].since
    engine = engine_for(name, version)
    if engine is None:
        oldest = ENGINES[name][-1].since
        raise Unknown(
            f"--engine-version {options.engine_version} — the rules of {name} before "
            f"{oldest[0]}.{oldest[1]} are not known; give a newer one"
        )
    return engine, version


def _tensor(options: argparse.Namespace) -> int:
    gpus, others = int(options.gpus), int(options.pipeline * options.data)
    if others < 1 or gpus < 1 or gpus % others:
        raise ConfigError(
            f"--gpus {gpus} — cannot be shared out among {options.pipeline} stages and {options.data} data-parallel "
            f"ranks; give a multiple of {max(others, 1)}"
        )
    return gpus // others


def _version(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"v?(\d+)\.(\d+)(?:\..*)?", text)
    if found is None:
        raise ConfigError(f"--engine-version {text!r} — is no version such as 0.32.0; give major, minor and patch")
    return int(found[1]), int(found[2])


def _not_one_of(option: str, value: str | None, known: Iterable[str]) -> NoReturn:
    near = difflib.get_close_matches(value or "", list(known), 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; choose one of {', '.join(known)}"
    raise ConfigError(f"{option} {value or '(nothing)'} — is not known{hint}")
