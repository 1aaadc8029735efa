"""Outputs of nccl-tests are judged by board and hosts, and what is at fault is named."""

from __future__ import annotations

import pytest

from infra.catalog.acceptance import FLOORS
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance.nccl import judge
from runbooks.lib.acceptance.verdict import Verdict
from tests.unit.runbooks.lib.acceptance.printed import HCAS, info, nccl

GOT = "NET/IB: Got completion from peer 10.0.0.1<1>"


def _judged(text: str, board: str = "hgx-h100", fabric: str = "roce") -> Verdict:
    return judge(text, FLOORS[board], fabric)


def _names(text: str, board: str = "hgx-h100", fabric: str = "roce") -> list[str]:
    found = _judged(text, board, fabric)
    assert found.outcome is Outcome.FAIL
    return [cause.name for cause in found.causes]


@pytest.mark.parametrize(
    ("board", "hosts", "busbw", "outcome"),
    [
        ("hgx-h100", 1, 455.9, Outcome.PASS), ("hgx-h100", 1, 439.0, Outcome.FAIL),
        ("hgx-b300", 1, 455.9, Outcome.FAIL), ("hgx-b300", 1, 801.0, Outcome.PASS),
        ("hgx-b300", 2, 701.0, Outcome.PASS), ("hgx-b300", 2, 699.0, Outcome.FAIL),
        ("hgx-b200", 4, 441.0, Outcome.PASS),
    ],
)  # fmt: skip
def test_the_figure_is_that_of_board_and_hosts(board: str, hosts: int, busbw: float, outcome: Outcome) -> None:
    """What is right for H100 is half of what B300 must reach."""
    found = _judged(nccl(busbw, hosts=hosts), board)
    assert (found.outcome, found.found) == (outcome, f"{busbw:.1f} GB/s")


def test_a_ring_over_hosts_is_held_against_its_nics() -> None:
    """8 x 400 Gbit/s are 400 GB/s, of which a ring reaches nine tenths."""
    text = nccl(370, hosts=2, info=info() + "\nNCCL INFO NCCL_ALGO set by environment to Ring")
    found = _judged(text)
    assert (found.outcome, found.wanted) == (Outcome.PASS, "at least 360 GB/s, all values right")


@pytest.mark.parametrize(("rate", "outcome"), [(46.0, Outcome.PASS), (48.0, Outcome.PASS), (13.1, Outcome.FAIL)])
@pytest.mark.parametrize("by_rail", [True, False])
def test_a_send_is_held_against_the_one_nic_that_it_has(rate: float, outcome: Outcome, by_rail: bool) -> None:
    """46 to 48 GB/s are a sound rail of 400 Gbit/s and 13.1 are not, and neither is held against eight (nccl#2409)."""
    found = _judged(nccl(rate, hosts=2, info=info(), test="sendrecv_perf", by_rail=by_rail))
    assert (found.outcome, found.wanted) == (outcome, "at least 45 GB/s, all values right")


def test_rails_beside_each_other_have_one_nic_each() -> None:
    """Eight reductions of two GPUs over one rail each, not one reduction of sixteen."""
    found = _judged(nccl(47, hosts=2, by_rail=True))
    assert (found.outcome, found.wanted) == (Outcome.PASS, "at least 45 GB/s, all values right")


def test_sends_that_all_take_one_rail_are_named() -> None:
    """Eight jobs, and one NIC carries them."""
    slow = nccl(6, hosts=2, info=info(devices=1), test="sendrecv_perf", by_rail=True)
    assert _names(slow) == ["one rail"]
    few = nccl(44, hosts=2, info=info(devices=1), test="sendrecv_perf")
    assert _names(few) == []


@pytest.mark.parametrize("test", ["all_gather_perf", "alltoall_perf", "sendrecv_perf"])
def test_what_has_no_figure_of_its_own_is_not_held_against_that_of_a_reduction(test: str) -> None:
    """On one host it is told, and neither right nor wrong."""
    found = _judged(nccl(380, test=test))
    assert (found.outcome, found.found) == (Outcome.UNKNOWN, "380.0 GB/s")


@pytest.mark.parametrize(("hosts", "rate"), [(2, 481.0), (2, 620.0), (1, 900.0)])
def test_a_bandwidth_is_never_too_high(hosts: int, rate: float) -> None:
    """Trees and NVLink SHARP show more than the NICs have, and nobody is to be puzzled (nccl-tests#196, nccl#837)."""
    assert _judged(nccl(rate, hosts=hosts)).outcome is Outcome.PASS


def test_the_printed_mean_over_all_sizes_decides_nothing() -> None:
    """It depends on where the sizes begin: 92 or 124 for the same hosts (aws-k8s-tester#503)."""
    text = nccl(455.9).replace("# Avg bus bandwidth    : 455.900", "# Avg bus bandwidth    : 92.000")
    assert "92.000" in text
    found = _judged(text)
    assert (found.outcome, found.found) == (Outcome.PASS, "455.9 GB/s")


def test_only_large_messages_count() -> None:
    """Small ones measure latency, and pull the mean that the test prints far down."""
    small = "     1048576  262144  float  sum  -1   30.0  34.95  61.16  0   30.0  34.95  61.16  0\n"
    text = nccl(455.9).replace("# Out of bounds", f"{small}# Out of bounds")
    assert _judged(text).found == "455.9 GB/s"


def test_the_best_of_several_tries_counts() -> None:
    """The first after a start is often slow (azurehpc#628)."""
    assert _judged(nccl(300) + nccl(450)).outcome is Outcome.PASS


CASES = {
    "one rail": (nccl(45, hosts=2, info=info(hcas=HCAS[:1], devices=1)), ["one rail"]),
    "one rail carries all": (nccl(45, hosts=2, info=info(devices=1)), ["one rail"]),
    "three rails": (nccl(160, hosts=2, info=info(hcas=HCAS[:3], devices=3)), ["rails are missing"]),
    "no peermem": (nccl(190, hosts=2, info=info(direct=False)), ["GPUDirect RDMA is off"]),
    "no peermem, told": (
        nccl(300, hosts=2, info=info() + "\nh:1:2 [5] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 5 'mlx5_5'"),
        ["GPUDirect RDMA is off"],
    ),
    "ACS": (nccl(220, hosts=2, info=info()), ["ACS or IOMMU in the way"]),
    "ACS, told": (
        nccl(220, hosts=2, info=info() + "\nNCCL INFO HINT: In many cases this error indicates that ACS is enabled, …"),
        ["ACS is on"],
    ),
    "sockets": (
        nccl(10, hosts=2, info=info(net="Socket") + "\nh:1:2 [0] NCCL INFO Using network Socket"), ["RDMA is not used"],
    ),
    "names differ": (
        nccl(300, hosts=2, info=info(hosts=1) + "\n" + info(hcas=[f"rdma{n}:1" for n in range(8)]).replace(
            "host-0:", "host-1:")),
        ["NICs have other names on other hosts"],
    ),
    "no word": (nccl(220, hosts=2), ["nothing is told"]),
    "wrong values": (nccl(455, wrong=3), ["values are wrong"]),
    "each alone": ("".join(nccl(0, gpus=1) for _ in range(8)), ["wrong launch"]),
    "all on one GPU": (nccl(20, same_gpu=True), ["wrong launch"]),
    "half of the ranks": (nccl(450, gpus=4), ["wrong launch"]),
}  # fmt: skip
"""What was printed, and the faults that must be named."""


@pytest.mark.parametrize("case", CASES)
def test_the_fault_is_named(case: str) -> None:
    """And no other."""
    text, names = CASES[case]
    assert _names(text) == names


def test_ranks_that_print_at_once_are_told_as_alone() -> None:
    """Eight processes, each with a list of devices of its own, and their results behind all of them."""
    head, rows = nccl(0, gpus=1).split("#\n#       size")
    text = head * 8 + ("#\n#       size" + rows) * 8
    found = _judged(text)
    assert [(cause.name, cause.evidence) for cause in found.causes] == [
        ("wrong launch", "8 ranks each ran alone, as number 0 of their own")
    ]


def test_an_old_nccl_on_many_hosts_of_b300_is_named() -> None:
    """Its trees fall to a quarter from four hosts on (nccl#2035)."""
    ports = [f"mlx5_{number}:1" for number in range(16)]
    text = nccl(200, hosts=4, info=info(hcas=ports, hosts=4, version="2.28.9"))
    assert _names(text, "hgx-b300") == ["NCCL is too old"]
    assert "2.28.9 over 4 hosts of B300" in _judged(text, "hgx-b300").said
    newer = nccl(200, hosts=4, info=info(hcas=ports, hosts=4, version="2.30.4"))
    assert _judged(newer, "hgx-b300").causes == ()


def test_a_nic_of_two_ports_needs_both() -> None:
    """On Ethernet a NIC of B300 is two ports, on InfiniBand one."""
    text = nccl(300, hosts=2, info=info())
    assert _names(text, "hgx-b300") == ["rails are missing"]
    assert "rails are missing" not in _names(text, "hgx-b300", "infiniband")


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (f"{GOT} with status=IBV_WC_RETRY_EXC_ERR(12) opcode=0", "packets are lost"),
        (f"{GOT} with status=12 opcode=0 len=0 vendor err 129", "packets are lost"),
        (f"{GOT} with status=4 opcode=0 len=0 vendor err 81", "ACS is on"),
        (f"{GOT} with status=1 opcode=0 len=0 vendor err 105", "MTUs differ"),
        ("NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory", "memlock is too small"),
        ("NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out", "rails do not reach each other"),
        ("test.cu:100 CUDA failure 802 'system not yet initialized'", "the NVLink fabric is not up"),
        ("NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", "wrong launch"),
    ],
)  # fmt: skip
def test_a_run_that_broke_off_is_named_by_its_last_words(line: str, name: str) -> None:
    """There is no table of results, and the reason is in the text."""
    found = _judged(nccl(0, hosts=2, sizes=(), info=info(), ends=False) + f"host-0:1:2 [0] {line}\n")
    assert (found.outcome, [cause.name for cause in found.causes]) == (Outcome.FAIL, [name])


@pytest.mark.parametrize(
    "text",
    ["", "mpirun: command not found\n", nccl(455, sizes=(8, 1 << 20)), nccl(455, ends=False), "1 2 3 4 a b"],
    ids=["nothing", "no program", "small messages", "no end", "no table"],
)  # fmt: skip
def test_what_is_no_result_cannot_be_told(text: str) -> None:
    """It is neither a pass nor a fault of the host."""
    assert _judged(text).outcome is Outcome.UNKNOWN


def test_a_board_without_figures_is_not_judged() -> None:
    """What was measured is told all the same."""
    found = judge(nccl(455), None, "roce")
    assert (found.outcome, found.found) == (Outcome.UNKNOWN, "455.0 GB/s")


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", " 0: "], ids=["mpirun --tag-output", "srun --label"])
def test_tags_of_launchers_do_not_matter(tag: str) -> None:
    """Each line begins with whose it is."""
    text = "".join(f"{tag}{line}\n" for line in nccl(455.9).splitlines())
    assert _judged(text).outcome is Outcome.PASS


def test_the_sentence_holds_everything() -> None:
    """Test, outcome, figure, what is wanted, the fault and what to do."""
    text, _ = CASES["no peermem"]
    said = _judged(text).said
    assert said.startswith("all_reduce_perf on 2 hosts, 16 ranks — fail: 190.0 GB/s, wanted at least 440 GB/s")
    assert said.endswith("load nvidia-peermem after OFED, or use DMA-BUF with the open driver (role rdma)")
