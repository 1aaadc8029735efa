"""The lab's model: a tiny Llama with random weights, made once by the engine's own libraries."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from math import prod
from pathlib import Path

from filelock import FileLock

from infra.errors import CheckError
from lab import paths
from lab.engine import vllm
from lab.images.chroot import Mount
from lab.steps import Report

SCRIPT = "write_tiny_llama.py"
"""The program that makes the model; its text is the model's key."""

FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
"""What the engine reads."""

BYTES_PER_WEIGHT = 2
"""Size of one bfloat16 (bytes)."""


@dataclass(frozen=True)
class Model:
    """A model's folder.

    Args:
        path: folder on the machine, readable by every user.
    """

    path: Path

    def weight_bytes(self) -> int:
        """Bytes of all tensors, without the file's header.

        Source: the safetensors format: eight bytes of header length, the header as JSON, the tensors.
        """
        with (self.path / "model.safetensors").open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return sum(prod(tensor["shape"]) * BYTES_PER_WEIGHT for name, tensor in header.items() if name[0] != "_")


def model() -> Model:
    """The model of this script, made or not."""
    key = hashlib.sha256((vllm.HERE / SCRIPT).read_bytes()).hexdigest()[:12]
    return Model(paths.cache_dir() / "models" / f"tiny-llama-{key}")


def ensure(report: Report) -> Model:
    """Make the model unless it is there.

    Raises:
        CheckError: the program failed, or a file is absent after it.
    """
    made = model()
    if made.path.exists():
        return made
    made.path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(made.path.with_suffix(".lock")):
        if made.path.exists():
            return made
        engine = vllm.ensure(report)
        report("makes the model")
        partial = made.path.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        mounts = (Mount(vllm.HERE, "/opt/railwright"), Mount(partial, "/models"))
        arguments = [f"/opt/railwright/{SCRIPT}", "/models", "/usr/share/common-licenses"]
        vllm.run_in(engine.host_path, arguments, mounts, "model.log", report)
        _expect_all(partial)
        vllm.open_to_all(partial)
        partial.replace(made.path)
    return made


def _expect_all(folder: Path) -> None:
    for name in FILES:
        if not (folder / name).exists():
            raise CheckError(
                f"tiny model — {name} is absent after {SCRIPT} — all of {', '.join(FILES)} are needed — "
                "see .lab/log/up/model.log"
            )
