"""Which GPUs a pod may land on, as the pools of its stack say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infra.catalog.gpus import GPUS, Gpu
from infra.errors import Unknown
from policies.engine import GPU
from policies.field import Field
from policies.resource import Resource
from policies.supply import supply

PRODUCT = "nvidia.com/gpu.product"
"""Label that names the GPU. Source: GPU feature discovery."""
BY_PRODUCT = {gpu.product: gpu for gpu in GPUS.values()}
"""GPUs by that label."""


def gpus_of(pod: Field, stack: Sequence[Resource]) -> Iterator[Gpu]:
    """Yield each GPU that hosts with the pod's labels have; none when the stack describes no such hosts.

    Raises:
        Unknown: a pool is not known until the update.
    """
    wanted = {key: str(value.known()) for key, value in pod["spec"]["nodeSelector"].entries()}
    given = supply(stack)
    fits = [hosts for hosts in given.hosts if hosts.resources.get(GPU) and wanted.items() <= hosts.labels.items()]
    if not fits and given.unsure:
        raise Unknown(pod["spec"]["nodeSelector"].path)
    names = {hosts.labels.get(PRODUCT, "") for hosts in fits}
    yield from (BY_PRODUCT[name] for name in sorted(names) if name in BY_PRODUCT)
