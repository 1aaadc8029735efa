"""What a host must reach in acceptance tests before it serves, by board, and the commands that measure it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalog.boards import BOARDS

LEAST_BYTES = 1 << 30
"""Smallest message of a collective whose bandwidth counts (bytes); below it latency is measured.

Source: oci-hpc active_healthcheck.py: -b 1G -e 16G.
"""

RING_SHARE = 0.9
"""Share of its NICs' line rate that a ring over hosts must reach, and a send from host to host.

Source: our choice, below the 760 of 800 GB/s that NVIDIA/nccl#2035 shows for a ring on B300, and below the 46 to 48 of
50 GB/s of a sound rail in NVIDIA/nccl#2409, where 13 were found at fault.
"""

EVEN_SHARE = 0.9
"""Share of the median below which one GPU of a host stands out, or one of several hosts.

Source: our choice; GPUs of a host differ by 2 %.
"""

HALF = (0.35, 0.65)
"""Shares of what is wanted between which a bandwidth is called half: what a detour over the CPU leaves of it.

Source: NCCL user guide, PCI Access Control Services; NVIDIA/nccl-tests#252.
"""


@dataclass(frozen=True, slots=True)
class Floor:
    """Figures of one board; None: nobody has published one, so that a measurement can be told and not judged."""

    board: str
    one_host_gb_s: float
    """Bus bandwidth of an all-reduce on one host, mean of messages from 1 to 16 GiB (GB/s)."""
    hosts_gb_s: float
    """The same over several hosts (GB/s)."""
    port_share: float
    """Share of a port's line rate that one RDMA write stream must reach."""
    ethernet_ports: int
    """Ports that one NIC of the fabric is on Ethernet (count)."""
    write_us: float
    """Longest mean latency of a small RDMA write (µs)."""
    host_gb_s: float | None
    """Copy between host and one GPU (GB/s)."""
    peer_gb_s: float | None
    """Copy between two GPUs of a host, one direction (GB/s)."""
    hbm_mb_s: int
    """Lowest memory bandwidth that DCGM's test may find (MB/s)."""
    stress_gflops: int
    """Lowest arithmetic that DCGM's stress test may find (GFLOPS)."""
    power_w: int
    """Power that DCGM's power test must reach (W)."""
    source: str

    @property
    def rails(self) -> int:
        """NICs of the fabric (count)."""
        return BOARDS[self.board].rails

    @property
    def gpus(self) -> int:
        """GPUs of one host (count)."""
        return BOARDS[self.board].gpus

    def ports(self, fabric: str) -> int:
        """Ports of the fabric on one host (count)."""
        return self.rails * (self.ethernet_ports if fabric == "roce" else 1)

    def port_gbit(self, fabric: str) -> float:
        """Line rate of one port (Gbit/s)."""
        return BOARDS[self.board].rail_gbit * self.rails / self.ports(fabric)

    def port_floor_gbit(self, fabric: str) -> float:
        """What one RDMA write stream must reach (Gbit/s)."""
        return self.port_gbit(fabric) * self.port_share

    def wire_gb_s(self, nics: int) -> float:
        """What ranks that use so many NICs of their host together must reach over several hosts (GB/s)."""
        return min(nics, self.rails) * BOARDS[self.board].rail_gbit / 8 * RING_SHARE


_OCI = "oci-hpc active_healthcheck.py and multi_node_active_healthcheck.py"
_DCGM = "DCGM diag-skus.yaml.in"

FLOORS = {
    row.board: row
    for row in (
        Floor("hgx-b300", 800, 700, 375 / 400, 2, 5, None, None, 4_623_360, 36_825, 1_099,
              f"{_OCI}; {_DCGM}; a NIC is two ports of 400 Gbit/s on Ethernet (nccl#2035)"),
        Floor("hgx-b200", 440, 440, 384 / 400, 1, 5, 52, None, 4_072_500, 36_949, 1_000, f"{_OCI}; {_DCGM}"),
        Floor("hgx-h200", 440, 440, 384 / 400, 1, 5, 52, 335, 2_400_000, 37_500, 700,
              f"{_OCI}; azurehpc-health-checks (335); {_DCGM}, whose 2,333 MB/s for the memory of H200 is a slip of "
              "units: half of the 4.8 TB/s of its memory, as the others have between 51 and 58 %"),
        Floor("hgx-h100", 440, 440, 192 / 200, 1, 5, 52, 335, 1_905_000, 29_250, 700,
              f"{_OCI}, where a port is 200 Gbit/s; azurehpc-health-checks (335); {_DCGM}"),
    )
}  # fmt: skip
"""By name of the board; one that is not here has no figures, and is never judged by another's."""

NVLS_TREE = (4, (2, 30, 3))
"""Hosts from which, and version of NCCL before which, its trees on B300 fall to a quarter. Source: nccl#2035."""


def commands(floor: Floor, fabric: str) -> Iterator[str]:
    """What to run on a drained host, in this order; what it prints is what is judged.

    Copies and one host first, then each wire by itself, then all of them together, so that the first to fail names the
    stage. Source: the public acceptance scripts named with each figure; nccl-tests, NCCL_TESTS_SPLIT_MASK, for rails.
    """
    limits = (
        f"memory_bandwidth.minimum_bandwidth={floor.hbm_mb_s};sm_stress.target_stress={floor.stress_gflops};"
        f"targeted_power.target_power={floor.power_w}"
    )
    yield f"dcgmi diag -r 3 -j -p '{limits}'"
    yield "nvbandwidth -t host_to_device_memcpy_ce device_to_host_memcpy_ce device_to_device_memcpy_read_ce"
    yield f"mpirun -np {floor.gpus} -x NCCL_DEBUG=INFO all_reduce_perf -b 1G -e 16G -f 2 -g 1 -n 50"
    if fabric != "none":
        for tool in ("ib_write_bw --report_gbits -q 2", "ib_write_lat"):
            gid = " -x 3" if fabric == "roce" else ""
            yield f"{tool}{gid} -d <device> --use_cuda=<gpu> <peer>"
        each = f"-np {2 * floor.gpus} --map-by ppr:{floor.gpus}:node"
        by_rail = f"-x NCCL_TESTS_SPLIT_MASK={floor.gpus - 1:#x}"
        yield f"mpirun {each} {by_rail} -x NCCL_DEBUG=INFO sendrecv_perf -b 1G -e 16G -f 2 -g 1 -n 50"
        yield f"mpirun {each} -x NCCL_DEBUG=INFO all_reduce_perf -b 1G -e 16G -f 2 -g 1 -n 50"
