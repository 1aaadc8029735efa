"""What a pod tells vLLM to do: ranks, lengths and formats, and the checkpoint that it serves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import CHECKPOINTS
from infra.errors import ConfigError, Unknown
from policies.field import NUMBER, Field, MalformedError
from policies.resource import Resource, annotation, pods, words

SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
}
"""Short spellings of flags. Source: vLLM's argument parser."""
LENGTH = "--max-model-len"
_TIMES = {"k": 10**3, "m": 10**6, "K": 2**10, "M": 2**20}
_SHORT_COUNT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?(?=[km])|[0-9]{1,6}(?=[KM]))([kmKM])")
"""Thousands and millions, as vLLM reads them. Source: vllm 0.32.0 utils/argparse_utils.py."""
_COUNT = re.compile(r"[0-9]{1,12}")
_SHARE = re.compile(r"[0-9]?\.?[0-9]{1,12}")

GPU = "nvidia.com/gpu"
"""Extended resource of whole GPUs. Source: k8s-device-plugin."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One container that runs vLLM."""

    pod: Field
    container: Field
    flags: Mapping[str, str]
    """Long spelling with dashes to value; empty for a switch."""
    pods: int
    """Pods that answer as one: the size of a LeaderWorkerSet, else 1 (count)."""

    def count(self, flag: str, default: int = 1) -> int:
        """Whole number that a flag is set to.

        Raises:
            MalformedError: it is something else.
        """
        text = self.flags.get(flag, str(default))
        if not _COUNT.fullmatch(text) or (flag in self.flags and not int(text)):
            found = f"{flag} {text!r} is not a whole number above 0; write it as in '8'"
            raise MalformedError(self.container["args"].path, found)
        return int(text)

    @property
    def longest(self) -> int:
        """Longest request that it is told to admit; 0 when it chooses itself (tokens).

        Raises:
            MalformedError: it is told something else.
        """
        text = self.flags.get(LENGTH, "auto").strip()
        if text == "-1" or text.lower() == "auto":
            return 0
        if short := _SHORT_COUNT.fullmatch(text):
            return int(float(short[1]) * _TIMES[short[2]])
        return self.count(LENGTH)

    def share(self, flag: str, default: float) -> float:
        """Share above 0 and up to 1 that a flag is set to.

        Raises:
            MalformedError: it is something else.
        """
        text = self.flags.get(flag, str(default))
        if not _SHARE.fullmatch(text) or not 0 < float(text) <= 1:
            found = f"{flag} {text!r} is not a share above 0 and up to 1; write it as in '0.9'"
            raise MalformedError(self.container["args"].path, found)
        return float(text)

    @property
    def tensor(self) -> int:
        """Ranks that share each layer (count)."""
        return self.count("--tensor-parallel-size")

    @property
    def ranks(self) -> int:
        """Ranks that share one copy of the weights (count)."""
        return self.tensor * self.count("--pipeline-parallel-size")

    @property
    def gpus(self) -> int:
        """GPUs of this container (count)."""
        resources = self.container["resources"]
        return int(resources["limits"][GPU].number() or resources["requests"][GPU].number() or 0)

    @property
    def checkpoint(self) -> str:
        """Name of the checkpoint, as the pod states it or as vLLM is told to fetch it; empty when neither says."""
        if stated := annotation(self.pod, "checkpoint").known():
            return str(stated)
        given = words(self.container)
        after = given[given.index("serve") + 1 :] if "serve" in given else []
        named = after[0] if after and not after[0].startswith("-") else self.flags.get("--model", "")
        return "" if named.startswith("/") else named

    @property
    def architecture(self) -> Architecture | None:
        """Shape of the checkpoint; None for one that the catalog does not know."""
        try:
            return CHECKPOINTS.get(self.checkpoint)
        except (ConfigError, Unknown):
            return None


def engines(resource: Resource) -> Iterator[Engine]:
    """Yield the containers of a resource that run vLLM.

    Raises:
        Unknown: what one runs can be told at the update only.
    """
    size = int(resource.inputs.at("spec", "leaderWorkerTemplate", "size").number() or 1)
    for pod in pods(resource):
        for container in pod["spec"]["containers"].each():
            if runs_vllm(container):
                yield Engine(pod, container, flags(container), size)


def runs_vllm(container: Field) -> bool:
    """Whether a container runs vLLM: by its command, its module, or the entrypoint of its image."""
    programs = [word.rpartition("/")[2] for word in words(container)]
    image = str(container["image"].value or "").partition("@")[0].rpartition("/")[2]
    entrypoint = container["command"].value is None and image.startswith("vllm")
    return entrypoint or "vllm" in programs or any(name.startswith("vllm.entrypoints") for name in programs)


def flags(container: Field) -> dict[str, str]:
    """Read the flags of a command line; of two spellings and two settings the last one counts, as for vLLM."""
    given = words(container)
    found = {}
    for at, word in enumerate(given):
        name, equals, value = word.partition("=")
        if not name.startswith("-") or NUMBER.fullmatch(name[1:]):
            continue
        follows = given[at + 1] if at + 1 < len(given) else ""
        plain = "" if follows.startswith("-") and not NUMBER.fullmatch(follows[1:]) else follows
        found[SHORT.get(name, name.replace("_", "-"))] = value if equals else plain
    return found
