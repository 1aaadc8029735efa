"""Outputs of perftest, nvbandwidth and dcgmi diag are judged by board, and what is at fault is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.catalog.acceptance import FLOORS, commands
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance import dcgm, nvbandwidth, perftest
from runbooks.lib.acceptance.verdict import Verdict, worst
from tests.unit.runbooks.lib.acceptance.printed import NVBANDWIDTH_HEAD as HEAD
from tests.unit.runbooks.lib.acceptance.printed import copies, dcgm_table, peers, write_bw, write_lat

H100, H200, B300 = (FLOORS[name] for name in ("hgx-h100", "hgx-h200", "hgx-b300"))
PASS, FAIL, UNKNOWN = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN


def _names(found: tuple[Verdict, ...]) -> list[str]:
    return [cause.name for one in found for cause in one.causes]


@pytest.mark.parametrize(
    ("text", "board", "fabric", "outcome", "names"),
    [
        (write_bw(388.2), H200, "roce", PASS, []),
        (write_bw(388.2, unit="MiB/sec"), H200, "roce", PASS, []),
        (write_bw(388.2, unit="MB/sec"), H200, "infiniband", PASS, []),
        (write_bw(376.0), B300, "roce", PASS, []),
        (write_bw(376.0, link="IB"), B300, "infiniband", FAIL, ["the NIC's PCIe link is narrow"]),
        (write_bw(200.0), H200, "roce", FAIL, ["the NIC's PCIe link is narrow"]),
        (write_bw(200.0, gpu=True), H200, "roce", FAIL, ["ACS or IOMMU in the way"]),
        (write_bw(200.0, mtu=1024), H200, "roce", FAIL, ["the MTU is small"]),
        (write_bw(50.0), H200, "roce", FAIL, []),
        (write_bw(400.0, title="RDMA_Write Bidirectional BW Test"), H200, "roce", FAIL,
         ["the NIC's PCIe link is narrow"]),
        (write_lat(1.9), H200, "roce", PASS, []),
        (write_lat(7.5), H200, "roce", FAIL, ["replies are late"]),
        (write_bw(388.2), None, "roce", UNKNOWN, []),
        ("", H200, "roce", UNKNOWN, []),
        ("Couldn't allocate MR\nfailed to create mr\n", H200, "roce", FAIL, ["memory cannot be registered"]),
        (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n", H200, "roce", FAIL,
         ["packets are lost"]),
        ("Couldn't connect to 10.1.0.2:18515\nUnable to open file descriptor for socket connection", H200, "roce", FAIL,
         ["no peer answers"]),
        ("IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n", H200, "roce", FAIL,
         ["there is no such device"]),
        ("Failed to modify QP 139 to RTR\n Unable to Connect the HCA's through the link\n", H200, "roce", FAIL,
         ["the ports do not reach each other"]),
    ],
)  # fmt: skip
def test_perftest_is_judged(text: str, board: Any, fabric: str, outcome: Outcome, names: list[str]) -> None:
    """By the rate of a port, in every unit, with its fault."""
    found = perftest.judge(text, board, fabric)
    assert (worst(found), _names(found)) == (outcome, names)


def test_each_device_of_an_output_is_judged() -> None:
    """A slow one is not hidden by the others."""
    text = "".join(write_bw(200 if number == 3 else 388, device=f"mlx5_{number}") for number in range(8))
    found = perftest.judge(text, H200, "roce")
    assert [one.test for one in found if one.outcome is FAIL] == ["RDMA_Write BW Test of mlx5_3"]
    assert len(found) == 8


def test_a_figure_is_told_in_one_unit() -> None:
    """2^20 bytes per second, as perftest counts, in Gbit/s."""
    (found,) = perftest.judge(write_bw(388.2, unit="MiB/sec"), None, "roce")
    assert found.found == "388.2 Gbit/s"


H2D, D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
EIGHT = [55.4, 55.3, 55.4, 55.4, 55.3, 55.4, 55.4, 55.4]


@pytest.mark.parametrize(
    ("text", "board", "outcome", "names"),
    [
        (copies(H2D, EIGHT) + copies(D2H, EIGHT) + peers(8, 390), H200, PASS, []),
        (copies(H2D, [*EIGHT[:7], 27.1]), H200, FAIL, ["the PCIe link of a GPU is slow"]),
        (copies(H2D, [*EIGHT[:7], 27.1]), B300, FAIL, ["the PCIe link of a GPU is slow"]),
        (copies(H2D, [one / 2 for one in EIGHT]), H200, FAIL, ["the host is slow"]),
        (copies(H2D, EIGHT[:7]), H200, FAIL, ["GPUs are missing"]),
        (peers(8, 390, slow=5), H200, FAIL, ["NVLink of a GPU is slow"]),
        (peers(8, 50), H200, FAIL, ["NVLink is not used"]),
        (copies(H2D, EIGHT), B300, UNKNOWN, []),
        (copies(H2D, EIGHT), None, UNKNOWN, []),
        ("Running device_to_device_memcpy_read_ce.\nWaived:\n", H200, UNKNOWN, []),
        ("", H200, UNKNOWN, []),
        ("Running host_to_device_memcpy_ce.\n[CUDA_ERROR_SYSTEM_NOT_READY] system not yet initialized in cuInit\n",
         H200, FAIL, ["the NVLink fabric is not up", "the test broke off"]),
        ("Running host_to_device_memcpy_ce.\nCUDA_ERROR_ILLEGAL_ADDRESS in line 40\n", H200, FAIL,
         ["the test broke off"]),
    ],
    ids=["good", "one slow link", "one slow link, no figure", "all slow", "seven GPUs", "one slow NVLink", "no NVLink",
         "no figure", "no board", "waived", "nothing", "no fabric", "broken off"],
)  # fmt: skip
def test_nvbandwidth_is_judged(text: str, board: Any, outcome: Outcome, names: list[str]) -> None:
    """By its figures, and one GPU by the others of the host."""
    found = nvbandwidth.judge(HEAD + text if text else text, board)
    assert (worst(found), _names(found)) == (outcome, names)


def _case(test: str, matrix: list[list[str]], status: str = "Passed") -> dict[str, Any]:
    return {"name": test, "status": status, "bandwidth_description": "…", "bandwidth_matrix": matrix, "sum": 1.0}


def test_nvbandwidth_as_json_is_the_same() -> None:
    """A test that was waived, and one of which a GPU is slow."""
    cases = [_case(H2D, [[str(value) for value in [*EIGHT[:7], 27.1]]]), {"name": D2H, "status": "Waived"}]
    found = nvbandwidth.judge(json.dumps({"nvbandwidth": {"version": "v0.10", "testcases": cases}}), H200)
    assert [one.outcome for one in found] == [FAIL, UNKNOWN]
    assert _names(found) == ["the PCIe link of a GPU is slow"]


@pytest.mark.parametrize("text", ["{", '{"other": 1}', '{"nvbandwidth": []}', '{"nvbandwidth": {"testcases": [1]}}'])
def test_broken_json_cannot_be_told(text: str) -> None:
    """Of nvbandwidth and of DCGM alike."""
    assert worst(nvbandwidth.judge(text, H200)) is UNKNOWN
    assert worst(dcgm.judge(text)) is UNKNOWN


def _dcgm(*tests: dict[str, Any], key: str = "DCGM Diagnostic") -> str:
    return json.dumps({key: {"test_categories": [{"category": "Hardware", "tests": list(tests)}]}, "metadata": {}})


def _test(name: str, status: str, *warnings: str, gpu: int = 0) -> dict[str, Any]:
    said = [{"error_category": 7, "error_id": 80, "error_severity": 2, "warning": text} for text in warnings]
    result = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": gpu, "status": status}
    return {"name": name, "results": [{**result, **({"warnings": said} if said else {})}],
            "test_summary": {"status": status}}  # fmt: skip


def _old(status: str, *warnings: str) -> dict[str, Any]:
    return {
        "name": "Memory",
        "results": [{"gpu_ids": "0", "gpu_id": "3", "status": status, "warnings": list(warnings)}],
    }


@pytest.mark.parametrize(
    ("text", "outcome", "names"),
    [
        (_dcgm(_test("software", "Pass"), _test("memory", "Pass")), PASS, []),
        (_dcgm(_test("software", "Pass"), _test("memory", "Skip")), UNKNOWN, []),
        (_dcgm(_test("memory", "Not Run")), UNKNOWN, []),
        (_dcgm(_test("memory", "Pass", "Unable to allocate memory on GPU 0")), UNKNOWN, ["memory fails"]),
        (_dcgm(_test("software", "Fail", "Persistence mode of GPU 3 is disabled")), FAIL, ["persistence mode is off"]),
        (_dcgm(_test("nvlink", "Fail", "GPU 4's NvLink link 3 is currently down")), FAIL,
         ["an NVLink is down or has errors"]),
        (_dcgm(_test("pcie", "Fail", "GPU 0 PCIe replays exceed 80")), FAIL, ["the PCIe link has errors or is narrow"]),
        (_dcgm(_test("targeted_stress", "Fail")), FAIL, ["targeted_stress fails"]),
        (_dcgm(_test("nvbandwidth", "Fail", "GPU 0 is in use by another process")), FAIL,
         ["somebody else uses the GPUs"]),
        (_dcgm(_old("Fail", "GPU 3 has uncorrectable memory errors and row remappings are pending"),
               key="DCGM GPU Diagnostic"), FAIL, ["rows wait to be remapped"]),
        (json.dumps({"DCGM Diagnostic": {"runtime_error": "no GPUs", "test_categories": []}}), UNKNOWN, []),
        ("Error: unable to establish a connection to the specified host: localhost\n", UNKNOWN, []),
        ("", UNKNOWN, []),
    ],
    ids=["good", "skipped", "not run", "pass without memory", "persistence", "NVLink", "PCIe", "no word", "in use",
         "DCGM 3", "no GPUs", "no engine", "nothing"],
)  # fmt: skip
def test_dcgm_is_judged(text: str, outcome: Outcome, names: list[str]) -> None:
    """What was skipped has tested nothing (DCGM#284), and each fault has its name."""
    found = dcgm.judge(text)
    assert (worst(found), _names(found)) == (outcome, names)


def test_the_table_of_dcgm_is_read() -> None:
    """GPUs of a test that differ, and a warning over several rows whose words are cut."""
    text = dcgm_table(
        ("Denylist", "Pass"),
        ("Page Retirement/Row Remap", "Fail"),
        ("", "Error: GPU 3 had memory errors and row"),
        ("", "remappings are pending"),
        ("GPU Memory", "Pass - GPUs: 1, 2, 3, 4, 5, 6, 7"),
        ("", "Fail - GPU: 0"),
        ("Warning", "GPU 0 Thermal violations totaling 13.3 second"),
        ("", "s started at 9.7 seconds into the test"),
        ("pcie", "Pass"),
        ("", "GPU0: Pass"),
        ("", "GPU1: Pass"),
        ("diagnostic", "Skip - All"),
    )
    found = {one.test: one for one in dcgm.judge(text)}
    assert {name: one.outcome for name, one in found.items()} == {
        "dcgmi diag Page Retirement/Row Remap": FAIL, "dcgmi diag GPU Memory of GPU 0": FAIL,
        "dcgmi diag diagnostic": UNKNOWN, "dcgmi diag": PASS,
    }  # fmt: skip
    (remap,), (heat,) = (
        found["dcgmi diag Page Retirement/Row Remap"].causes,
        found["dcgmi diag GPU Memory of GPU 0"].causes,
    )
    assert (remap.name, remap.evidence) == (
        "rows wait to be remapped", "GPU 3 had memory errors and row remappings are pending",
    )  # fmt: skip
    assert heat.evidence.startswith("GPU 0 Thermal violations totaling 13.3 seconds started")


@pytest.mark.parametrize("board", FLOORS)
def test_every_board_has_its_commands(board: str) -> None:
    """With our limits in place of DCGM's own, of which that for the memory of H200 is none."""
    told = list(commands(FLOORS[board], "roce"))
    assert f"memory_bandwidth.minimum_bandwidth={FLOORS[board].hbm_mb_s}" in told[0]
    assert FLOORS[board].hbm_mb_s > 1_000_000
    assert len(list(commands(FLOORS[board], "none"))) == 3 < len(told)


def test_a_port_is_what_the_fabric_makes_of_a_nic() -> None:
    """800 Gbit/s on InfiniBand, twice 400 on Ethernet."""
    assert (B300.ports("roce"), B300.port_gbit("roce")) == (16, 400)
    assert (B300.ports("infiniband"), B300.port_gbit("infiniband")) == (8, 800)
    assert (H100.ports("roce"), H100.port_floor_gbit("roce")) == (8, 384)
