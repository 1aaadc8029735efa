"""Faults of simulated hosts: read from a Node, shown in its series, taken back with the annotation."""

from __future__ import annotations

from typing import Any

import pytest

from lab.fleet import hosts, series
from lab.fleet.exporter import Page
from lab.fleet.signals import NOT_READY, PREFIX, signals_of


def node(family: str = "blackwell", labels: dict[str, str] | None = None, **signals: str) -> dict[str, Any]:
    """A simulated host with two GPUs, two NICs and these signals."""
    return {
        "metadata": {
            "name": "b300-0000",
            "labels": {
                "railwright.dev/pool": "b300",
                "railwright.dev/leaf": "b300-leaf-0",
                "nvidia.com/gpu.family": family,
                "nvidia.com/gpu.memory": "275040",
                **(labels or {}),
            },
            "annotations": {PREFIX + name.replace("_", "-"): text for name, text in signals.items()},
        },
        "status": {"capacity": {"nvidia.com/gpu": "2", "rdma/hca": "2"}},
    }


def values(text: str, name: str) -> list[float]:
    """Value of each series of a name."""
    return [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{")]


@pytest.mark.parametrize(
    ("signals", "name", "expected"),
    [
        ({}, "DCGM_FI_DEV_XID_ERROR", [0, 0]),
        ({"xid": "1:79"}, "DCGM_FI_DEV_XID_ERROR", [0, 79]),
        ({"gpu_lost": "0"}, "DCGM_FI_DEV_XID_ERROR", [0]),
        ({"gpu_lost": "0,1"}, "DCGM_FI_DEV_FB_FREE", []),
        ({"gpu_temperature": "0:95.5"}, "DCGM_FI_DEV_GPU_TEMP_CELSIUS", [95.5, 38]),
        ({"nic_down": "1"}, "node_infiniband_state_id", [4, 1]),
        ({"nic_down": "1"}, "node_infiniband_physical_state_id", [5, 3]),
        ({"nic_flaps": "0:6"}, "node_infiniband_link_downed_total", [6, 0]),
        ({"xid": "0:31"}, "DCGM_EXP_XID_ERRORS_COUNT", [1]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_signal_shows_in_the_series_it_is_about(signals: dict[str, str], name: str, expected: list[float]) -> None:
    """The GPU or NIC that is named differs, the others say what they always say."""
    assert values(series.render(node(**signals)), name) == expected


def test_a_host_that_is_gone_says_nothing() -> None:
    """Its exporters went with it: no series at all, and they are back when the label is."""
    assert series.render(node(labels={NOT_READY: "true"})) == ""
    assert series.render(node(labels={NOT_READY: "false"})) != ""


def test_hosts_before_blackwell_speak_the_older_dcgm() -> None:
    """Names of DCGM 4.5 and 4.6 both occur in a fleet, as they do in the field, and never both on one host."""
    old, new = series.render(node(family="hopper")), series.render(node())
    assert values(old, "DCGM_FI_DEV_GPU_TEMP") == [38, 38]
    assert not values(old, "DCGM_FI_DEV_GPU_TEMP_CELSIUS")
    assert not values(new, "DCGM_FI_DEV_GPU_TEMP")


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [("xid", "79", "'3:79'"), ("gpu_lost", "all", "'0,3'"), ("gpu_lots", "1", "gpu-lost")],
)
def test_a_signal_that_cannot_be_read_is_named_and_left_out(name: str, text: str, allowed: str) -> None:
    """The others on the same host count; the sentence says what is allowed."""
    told = signals_of(node(nic_down="0", **{name: text}))
    assert told.nic_down == {0}
    assert len(told.mistakes) == 1
    assert allowed in told.mistakes[0]


def test_a_lost_gpu_is_not_offered_to_pods() -> None:
    """Allocatable falls as a device plugin would let it fall; capacity does not."""
    pool = {
        "metadata": {"name": "b300"},
        "spec": {"hosts": 1, "hostsPerLeaf": 1, "template": {"capacity": {hosts.GPU: "8"}}},
    }
    [fresh] = hosts.changes(pool, []).create
    live = fresh.node()
    live["metadata"]["annotations"][PREFIX + "gpu-lost"] = "3"
    [(_, told)] = hosts.changes(pool, [live]).update
    assert (told.stamp["allocatable"][hosts.GPU], told.stamp["capacity"][hosts.GPU]) == ("7", "8")


def test_the_page_follows_its_hosts() -> None:
    """A change replaces a host's series, a deletion removes them, and a new list forgets who is not in it."""
    page = Page()
    page.reset([node()])
    page.see({"type": "MODIFIED", "object": node(xid="0:48")})
    assert values(page.text().decode(), "DCGM_FI_DEV_XID_ERROR") == [48, 0]
    page.see({"type": "DELETED", "object": node()})
    assert "b300-0000" not in page.text().decode()


def test_pods_are_ready_again_only_on_hosts_that_came_back() -> None:
    """A running pod that was marked unready with its host is revived; one that waits elsewhere is not touched."""
    conditions = [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]
    pod = {"spec": {"nodeName": "b300-0000"}, "status": {"phase": "Running", "conditions": conditions}}
    assert hosts.must_be_ready_again(pod, {"b300-0000"})
    assert not hosts.must_be_ready_again(pod, {"b300-0001"})
    assert hosts.ready_pod_patch(pod, "now")["status"]["conditions"][0]["status"] == "True"
