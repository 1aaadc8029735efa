"""Kinds of hosts that settings are for, by what their boards are."""

from __future__ import annotations

from infra.catalog.boards import BOARDS, Board
from infra.catalog.host_tuning.setting import Case, Scope, Value

GPU_BOARDS = tuple(name for name, board in BOARDS.items() if board.gpu and board.arch == "amd64")
"""Boards that host plays know; trays of a rack (NVL72) come tuned by the cloud that has them."""
NVLINK5 = tuple(name for name in GPU_BOARDS if (gpu := BOARDS[name].gpu) and gpu.family == "blackwell")
"""Boards whose NVLink switches are managed by a subnet manager over NICs of their own."""
NVSWITCH = tuple(name for name in GPU_BOARDS if name not in NVLINK5)
"""Boards whose NVLink switches are PCIe devices."""

EVERYWHERE = Scope()
METAL = Scope(machine="metal")
ARM = Scope(cpu="arm")
CLUSTER = Scope(kubernetes=True)
ROCE = Scope(fabrics=("roce",))
ROCE_METAL = Scope(fabrics=("roce",), machine="metal")
INFINIBAND = Scope(fabrics=("infiniband",))
RDMA = Scope(fabrics=("roce", "infiniband"))
RDMA_METAL = Scope(fabrics=("roce", "infiniband"), machine="metal")
GPUS = Scope(boards=GPU_BOARDS)
GPUS_METAL = Scope(boards=GPU_BOARDS, machine="metal")
GPUS_CLUSTER = Scope(boards=GPU_BOARDS, kubernetes=True)


def by_board(values: dict[str, Value]) -> tuple[Case, ...]:
    """A case for each board.

    Raises:
        KeyError: a board is not in the catalogue of boards.
    """
    return tuple(Case(Scope(boards=(BOARDS[name].name,)), value) for name, value in values.items())


def gpu_boards() -> tuple[Board, ...]:
    """Boards with GPUs."""
    return tuple(BOARDS[name] for name in GPU_BOARDS)
