"""One replica of one model, whether a stack asks for it or somebody only wonders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.plan.cache import Pool
from infra.plan.layout import Layout
from infra.plan.memory import Memory, Options, size, size_on_host
from infra.plan.memory.blocks import blocks
from infra.plan.memory.options import Settings, settle
from infra.plan.startup import EAGER
from infra.units import GIB

if TYPE_CHECKING:
    from infra.plan.facts import ModelPlan


@dataclass(frozen=True, slots=True)
class Single:
    """All that decides where the memory of one replica goes."""

    name: str
    architecture: Architecture
    layout: Layout
    gpu: Gpu | None
    """None on a CPU."""
    engine: Engine
    version: str
    """Of the engine."""
    options: Options
    host_pool: int = 0
    """Cache of an engine on a CPU, where the spec says how much it may have (bytes)."""

    @property
    def memory(self) -> Memory:
        """Where the memory of the tightest rank goes."""
        if self.gpu is None:
            return size_on_host(self.architecture, self.layout, self.engine, self.options, self.host_pool)
        return size(self.architecture, self.layout, self.gpu, self.engine, self.options)

    @property
    def settings(self) -> Settings:
        """Options with the engine's defaults filled in."""
        return settle(self.options, self.architecture, self.layout, self.gpu, self.engine)

    def pool(self, size_bytes: int, length: int | None = None) -> Pool:
        """Blocks of a cache of another size, such as the one that an engine logged.

        Args:
            size_bytes: of one rank.
            length: longest request admitted (tokens); None: as the options say.
        """
        asked = replace(self.settings, length=length or self.settings.length)
        return blocks(self.architecture, self.layout, self.engine, self.options, asked, size_bytes)


def single_of(item: ModelPlan) -> Single:
    """Take one replica out of a planned model."""
    model = item.model
    major, minor = (int(part) for part in model.engine_version.split(".")[:2])
    options = Options(
        utilisation=item.utilisation,
        max_len=model.max_model_len,
        max_seqs=item.max_seqs,
        batched_tokens=item.batched_tokens,
        kv_dtype=item.format.cache,
        quantisation=item.format.weights,
        eager=EAGER in model.engine_args,
        version=(major, minor),
    )
    host_pool = round((model.kv_cache_gib or 0) * GIB)
    return Single(
        item.name, item.shape, item.layout, item.pool.board.gpu, item.engine, model.engine_version, options, host_pool
    )
