"""Options that describe one replica of one model without a stack file."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from infra.cli.numbers import NUMBERS, convert
from infra.errors import ConfigError, Unknown

if TYPE_CHECKING:
    from infra.catalog.architecture import Architecture
    from infra.catalog.engines import Engine
    from infra.catalog.gpus import Gpu
    from infra.plan.single import Single

CONFIGS = ("config.json", "params.json")
"""Files in which a checkpoint's folder describes itself."""

Found = TypeVar("Found")

NAMES = ("gpu", "expert_parallel", "engine", "engine_version", "quantisation", "kv_cache_dtype", "eager")
"""Options of one model that are no numbers, as the namespace has them."""

USUAL_ENGINE = "vllm"
"""Engine where nobody says."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options to a verb."""
    group = parser.add_argument_group("one model without a stack file")
    group.add_argument("--gpu", metavar="GPU", help="such as h100 or b200")
    group.add_argument("--gpus", metavar="N", help="GPUs of one replica (1)")
    group.add_argument("--pipeline", metavar="N", help="stages among them (1)")
    group.add_argument("--data", metavar="N", help="data-parallel ranks among them (1)")
    group.add_argument("--expert-parallel", action="store_true", help="whole experts on each rank")
    group.add_argument("--engine", metavar="NAME", help="vllm, sglang, trtllm, tgi or lightllm (vllm)")
    group.add_argument("--engine-version", metavar="X.Y.Z", help="the newest whose rules are known")
    group.add_argument("--max-len", metavar="TOKENS", help="longest request (what the model was trained for)")
    group.add_argument("--max-seqs", metavar="N", help="requests in a batch (the engine's default)")
    group.add_argument("--batched-tokens", metavar="N", help="tokens in a batch (the engine's default)")
    group.add_argument("--utilisation", metavar="SHARE", help="the engine's share of memory (its default)")
    group.add_argument("--quantisation", metavar="FORMAT", help="format of the weights (the checkpoint's)")
    group.add_argument("--kv-cache-dtype", metavar="FORMAT", help="format of the cache (the model's)")
    group.add_argument("--speculative-tokens", metavar="N", help="tokens a drafter proposes (0)")
    group.add_argument("--eager", action="store_true", help="without CUDA graphs")


def single_of(options: argparse.Namespace) -> Single:
    """Describe the replica that the options ask for.

    Raises:
        ConfigError: something named is not known, or the numbers do not go together.
        Unknown: the model's config has traits that are not known here, or the engine is too old.
    """
    from infra.catalog.quantisations import quantisation
    from infra.plan.layout import Layout
    from infra.plan.memory import Options
    from infra.plan.single import Single

    mistakes = Mistakes(convert(options))
    gpu = mistakes.none_in(lambda: _gpu(options.gpu))
    found = mistakes.none_in(lambda: _engine(options))
    mistakes.none_in(lambda: quantisation(options.quantisation or "bf16"))
    architecture = mistakes.none_in(lambda: architecture_of(options.model))
    tensor = mistakes.none_in(lambda: _tensor(options)) if not mistakes.numbers else None
    mistakes.end()
    if gpu is None or found is None or architecture is None or tensor is None:
        raise AssertionError("whatever is not found is a mistake")
    engine, version = found
    asked = Options(
        utilisation=options.utilisation,
        max_len=options.max_len,
        max_seqs=options.max_seqs,
        batched_tokens=options.batched_tokens,
        kv_dtype=options.kv_cache_dtype or "auto",
        quantisation=options.quantisation,
        speculative_tokens=options.speculative_tokens,
        eager=options.eager,
        version=version if options.engine_version else None,
    )
    layout = Layout(tensor, options.pipeline, options.data, options.expert_parallel)
    said = options.engine_version or f"{version[0]}.{version[1]} or newer"
    return Single(architecture.name, architecture, layout, gpu, engine, said, asked)


class Mistakes:
    """Mistakes of one command line, gathered until all are known."""

    def __init__(self, numbers: list[str]) -> None:
        self.numbers = tuple(numbers)
        self._told = list(numbers)
        self._unknown: Unknown | None = None

    def none_in(self, find: Callable[[], Found]) -> Found | None:
        """Find something; None when that is a mistake or nobody can tell."""
        try:
            return find()
        except ConfigError as error:
            self._told += error.problems
        except Unknown as error:
            self._unknown = self._unknown or error
        return None

    def end(self) -> None:
        """Raise all that was gathered; what nobody can tell is told once nothing is wrong."""
        if self._told:
            raise ConfigError(*self._told)
        if self._unknown:
            raise self._unknown


def alone(options: argparse.Namespace) -> None:
    """Refuse options of one model beside a stack file, which says these things itself."""
    given = [name for name in (*NAMES, *NUMBERS) if getattr(options, name, None) not in (None, False)]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{flags} — a stack file says that itself; drop it, or change the stack file")


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


def _gpu(name: str | None) -> Gpu:
    from infra.catalog.gpus import GPUS

    found = GPUS.get((name or "").lower())
    return found or _not_one_of("--gpu", name, GPUS)


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
            f"{name} {options.engine_version} — its rules before {oldest[0]}.{oldest[1]} are not known, so its memory "
            "cannot be told; use a newer one"
        )
    return engine, version


def _tensor(options: argparse.Namespace) -> int:
    gpus, others = int(options.gpus), int(options.pipeline * options.data)
    if gpus % others:
        raise ConfigError(
            f"--gpus {gpus} — cannot be shared out among {options.pipeline} stages and {options.data} data-parallel "
            f"ranks; give a multiple of {others}"
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
