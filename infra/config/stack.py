"""The whole spec of one stack, and what it needs from outside the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, SecretStr

from infra.catalog.architecture import Architecture
from infra.config.base import Frozen, Name
from infra.config.charts import ChartName, ChartSource
from infra.config.cluster import Cluster
from infra.config.evidence import Evidence
from infra.config.fabric import FabricConfig
from infra.config.gateway import Gateway
from infra.config.gpu_operator import GpuOperator
from infra.config.images import Images
from infra.config.keys import Key
from infra.config.machines import Machine
from infra.config.models import Model
from infra.config.observability import Observability
from infra.config.pools import BoardName, Pool
from infra.config.prices import BoardPrice
from infra.config.scheduling import Scheduling
from infra.errors import Unknown


class Stack(Frozen):
    """What the user asked for, typed; every layer derives from it."""

    cluster: Cluster
    pools: dict[Name, Pool]
    models: dict[Name, Model]
    gateway: Gateway
    keys: dict[Name, Key] = Field(default={})
    images: Images = Images()
    charts: dict[ChartName, ChartSource] = Field(default={})
    fabric: FabricConfig = FabricConfig()
    gpu_operator: GpuOperator = GpuOperator()
    scheduling: Scheduling = Scheduling()
    observability: Observability | None = None
    prices: dict[BoardName, BoardPrice] = Field(default={})


SECTIONS: Mapping[str, Any] = {name: info.annotation for name, info in Stack.model_fields.items()}
"""Top-level config keys and the type of each."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A stack as it was read: its parts that are valid, its mistakes, and the facts beside the file."""

    name: str
    stack: Stack | None
    """None when a part that everything needs is missing or wrong."""
    problems: tuple[str, ...]
    """One sentence for each mistake in the shape of the spec."""
    mistaken: frozenset[str] = frozenset()
    """What is there and wrong, such as ``gateway`` or ``pools.large``: what hangs on it cannot be judged."""
    root: str = "."
    """Folder that relative paths start from: the clone."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each image in the image lock."""
    has_lock: bool = False
    """Whether the image lock was there to read."""
    architectures: Mapping[str, Architecture | Unknown] = field(default_factory=dict)
    """Of each model that names its own config file, or why nothing can be told of it."""
    evidence: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    """Scores of each model that names a file of them."""
    machines: Mapping[str, tuple[Machine, ...]] = field(default_factory=dict)
    """Of each pool that names its hosts, in place or in a file."""
    key_values: Mapping[str, SecretStr] = field(default_factory=dict)
    """Value of each key; empty where nothing needs them, as in ``infra plan``."""
