"""Where pools of a cloud go: a cluster that is there or is made, refused with the fix where it cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from infra.catalog.shapes import SHAPES
from infra.plan.needs import Need
from tests.contracts.clouds import EXAMPLES, made, of_shape, plan, sections
from tests.unit.plan.specs import DROP, Sections, all_said, changed, plan_of, read

AWS, GCP, AZURE, OCI = (sections(EXAMPLES[target]) for target in ("eks", "gke", "aks", "oci"))


def _refused(changes: dict[str, Any], base: Sections) -> list[str]:
    return [str(refusal) for refusal in plan_of(changes, base).refusals]


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_cluster_that_is_there_and_made_is_a_mistake(target: str) -> None:
    """As is one that is neither."""
    there, new = sections(EXAMPLES[target]), made(target)
    key = next(name for name in new["cluster"] if name in ("aws", "gcp", "azure", "oci"))
    both = {f"cluster/{key}/made": new["cluster"][key]["made"]}
    assert any("leave one of them out" in said for said in all_said(both, there))
    neither = {f"cluster/{key}/existing": DROP}
    assert any("neither existing nor made" in said for said in all_said(neither, there))


def test_all_mistakes_about_a_cloud_are_told_at_once() -> None:
    """Each with its key."""
    wrong = {
        "cluster/aws/made/network": "10.0.0.0/99",
        "cluster/aws/made/zones": ["us-east-2"],
        "cluster/aws/disk_gib": 1,
    }
    said = read(wrong, made("eks")).problems
    for key in ("cluster.aws.made.network", "cluster.aws.made.zones", "cluster.aws.disk_gib"):
        assert any(problem.startswith(key) for problem in said), said


@pytest.mark.parametrize(
    ("target", "changes", "said"),
    [
        ("gke", {"cluster/gcp/made/pods": "10.0.0.0/16"},
         "RW-303 cluster.gcp.made.pods: 10.0.0.0/16 overlaps cluster.gcp.made.network, which is 10.0.0.0/18"),
        ("aks", {"cluster/azure/made/services": "10.244.128.0/20"},
         "RW-303 cluster.azure.made.services: 10.244.128.0/20 overlaps cluster.azure.made.pods"),
        ("oci", {"cluster/oci/made/network": "10.96.0.0/12"}, "overlaps cluster.oci.made.network"),
        ("eks", {"cluster/aws/made/services": "10.0.4.0/22"}, "RW-303 cluster.aws.made.services: 10.0.4.0/22 overlaps"),
        ("eks", {"cluster/kubeconfig": "kube"}, "RW-303 cluster.kubeconfig: 'kube', and the stack makes the cluster"),
        ("eks", {"cluster/region": DROP}, "RW-303 cluster.region: missing, and target eks is asked there; name"),
    ],
    ids=["pods", "services", "network", "services of EKS", "a kubeconfig", "no region"],
)  # fmt: skip
def test_a_cluster_that_cannot_be_made_is_refused(target: str, changes: dict[str, Any], said: str) -> None:
    """Networks with addresses in common, or a way into a cluster that is not there yet."""
    assert any(said in refusal for refusal in _refused(changes, made(target))), _refused(changes, made(target))


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_cluster_that_can_be_made_is_not_refused(target: str) -> None:
    """So that the test above says something."""
    assert _refused({}, made(target)) == []


@pytest.mark.parametrize(
    ("base", "changes", "said"),
    [
        (GCP, {"pools/b200/supply": {"kind": "on-demand"}, "pools/b200/zone": "us-east4-c"},
         "RW-303 pools.b200.zone: a4-highgpu-8g is not sold in 'us-east4-c' as far as is known; choose one of "),
        (GCP, {"pools/b200/supply": {"kind": "flex-start"}},
         "RW-303 pools.b200.spare_hosts: 1, and hosts that come when their turn comes"),
        (GCP, {"pools/b200/supply/reservation": "projects/x/y"}, "pools.b200.supply.reservation: 'projects/x/y'"),
        (GCP, {"pools/b200/supply/zone": "us-east4-a"}, "RW-303 pools.b200.zone: 'us-east4-b', reservation"),
        (AZURE, {"pools/h200-large": AZURE["pools"]["h200"]},
         "RW-303 pools.h200-large: 'h200-large', and AKS allows 12 lower-case letters and digits; rename the pool"),
        (AZURE, {"pools/h200/supply/reservation": "cr-1"}, "the resource id of a capacity reservation group"),
        (AZURE, {"pools/h200/hosts": 9}, "RW-303 pools.h200.hosts: 9, reservation"),
        (OCI, {"pools/b300/zone": ""}, "RW-303 pools.b300.zone: missing, and a fabric"),
        (OCI, {"cluster/oci/kubernetes": "v1.35.1"}, "cluster.oci.kubernetes: 'v1.35.1', and cluster.kubernetes"),
        (OCI, {"pools/b300/shape": "BM.GPU.B30.8"}, "did you mean 'BM.GPU.B300.8'?"),
        (OCI, {"pools/b300/supply/reservation": "ocid1.computegpumemoryfabric.oc1.iad.x"},
         "a GPU memory fabric, and BM.GPU.B300.8 is no tray of a rack"),
        (AWS, {"pools/b300/supply/reservation": "reservation-1"}, "the id of a capacity reservation or block, cr-…"),
    ],
    ids=["sold elsewhere", "spares of a turn", "a path", "booked elsewhere", "a name with a dash", "an id of AWS",
         "more than booked", "no domain", "two versions", "mistyped", "a rack for a host", "no id"],
)  # fmt: skip
def test_what_one_cloud_refuses(base: Sections, changes: dict[str, Any], said: str) -> None:
    """With what is allowed and what to do."""
    assert any(said in refusal for refusal in _refused(changes, base)), _refused(changes, base)


def test_what_is_booked_is_there_whatever_a_list_says() -> None:
    """A reservation in a zone shows that the zone has the machine type."""
    changes = {"pools/b200/zone": "us-east4-c", "pools/b200/supply/zone": "us-east4-c"}
    assert _refused(changes, GCP) == []


def test_a_cluster_that_is_made_on_gke_has_gpus_of_one_network() -> None:
    """RoCE networks are of one zone."""
    base = made("gke")
    other = {**base["pools"]["b200"], "zone": "us-east4-a", "supply": {"kind": "reservation", "reservation": "other"}}
    assert any(
        one.startswith("RW-303 pools.other.zone: 'us-east4-a', pool 'b200' has 'us-east4-b'")
        for one in _refused({"pools/other": other}, base)
    )


@pytest.mark.parametrize("name", [shape.name for shape in SHAPES.values() if shape.board.startswith("nvl72")])
def test_a_rack_is_no_more_than_its_hosts(name: str) -> None:
    """NVLink does not reach from one to the next."""
    if SHAPES[name].target == "coreweave":
        return
    said = of_shape(SHAPES[name])
    assert any("a rack of" in one for one in _refused({"pools/gpus/hosts": 19}, said))
    assert not any("a rack of" in one for one in _refused({"pools/gpus/hosts": 18}, said))


def test_trays_of_a_rack_have_arm() -> None:
    """An image of another architecture would not start on them."""
    (pool,) = plan(of_shape(SHAPES["a4x-highgpu-4g"])).pools
    assert pool.board.arch == "arm64"


def test_hosts_of_your_own_are_no_trays_of_a_rack() -> None:
    """No play knows how to tune them, and saying nothing would be taken for leave."""
    base = sections("bare-h100")
    changes = {"pools/h100/board": "nvl72-gb200", "pools/h100/machines_file": DROP}
    assert any("whose trays no host play knows" in one for one in _refused(changes, base))


def _needs(base: Sections, changes: dict[str, Any] | None = None) -> list[Need]:
    return list(plan_of(changes, base).needs)


@pytest.mark.parametrize(
    ("base", "changes", "name", "amount"),
    [
        (AWS, {"pools/b300/supply": {"kind": "on-demand"}}, "Running On-Demand P instances (L-417A185B)", 16 * 192),
        (GCP, {"pools/b200/supply": {"kind": "on-demand"}},
         "compute.googleapis.com/gpus_per_gpu_family (NVIDIA_B200)", 64),
        (AZURE, {}, "standardNDISRH200V5Family", 8 * 96),
        (OCI, {"pools/b300/supply": {"kind": "on-demand"}}, "gpu-b300-count", 128),
    ],
    ids=["eks", "gke", "aks", "oci"],
)  # fmt: skip
def test_a_quota_is_told_by_name_and_number(base: Sections, changes: dict[str, Any], name: str, amount: int) -> None:
    """As the cloud calls it, for all hosts of the stack."""
    found = {need.name: need.amount for need in _needs(base, changes) if need.kind == "quota"}
    assert found[name] == amount


def test_days_that_are_booked_count_against_no_quota() -> None:
    """A capacity block of AWS brings its own."""
    assert [need for need in _needs(AWS) if need.kind == "quota"] == []


def test_pools_of_one_family_share_a_quota() -> None:
    """One line, for both."""
    second = changed({}, AZURE)["pools"]["h200"]
    (quota,) = (need for need in _needs(AZURE, {"pools/second": second}) if need.kind == "quota")
    assert (quota.amount, quota.for_whom) == (2 * 8 * 96, "pool h200, pool second")


def test_what_is_no_quota_is_told_too() -> None:
    """The feature that puts hosts on one fabric, and the right to join."""
    assert "Microsoft.ContainerService/AKSInfinibandSupport" in [need.name for need in _needs(AZURE)]
    assert any("{CLUSTER_JOIN}" in need.name for need in _needs(OCI))


def test_hosts_of_your_own_need_nothing_of_an_account() -> None:
    """There is none."""
    assert _needs(sections("bare-h100"), {"pools/h100/machines_file": DROP}) == []
