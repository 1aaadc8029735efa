"""What we tell the GPU Operator is what its published charts know, field by field."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from infra.catalog.charts import CHARTS
from infra.catalog.compat import DRIVER_BRANCHES, GPU_OPERATORS, NETWORK_OPERATORS, branch_of
from infra.catalog.gpus import GPUS
from infra.catalog.kueue import NEWEST
from infra.catalog.mig import BALANCED, INSTANCES
from infra.components.gpu_operator import DEFINITIONS
from infra.plan.gpu_operator.objects import drivers
from infra.plan.gpu_operator.values import values
from lab.toolchain import chart_kinds
from tests.contracts.definitions import strict
from tests.unit.plan.specs import plan_of

ARCHIVES = {row.version: row for row in CHARTS["gpu-operator"]}
UNSAID = {"dcgmExporter.config", "migManager.gpuClientsConfig"}
"""Keys that templates read, and values.yaml shows as a comment only."""
WHOLE = {
    "cluster/ownership": "baremetal-operator",
    "gpu_operator": {"gds": True, "gdrcopy": True, "registry": "mirror.example.com/nvidia", "nri": True,
                     "driver": {"version": "595.91.07", "module": "open"},
                     "upgrade": {"wait_for_pods": "app=batch", "parallel": 2, "unavailable": "3", "drain": True}},
    "pools/gpus/gpu_operator": {"driver": {"version": "580.173.02"}},
    "observability": {"storage": {"size_gib": 10}, "gpu_exporter": "operator"},
}  # fmt: skip
"""A stack that sets all there is to set."""
STACKS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "all": WHOLE,
    "dra": {
        "cluster/ownership": "baremetal-operator",
        "gpu_operator": {"dra": True, "operator": "install"},
        "models": {},
    },
    "gke": {
        "cluster": {"name": "prod", "target": "gke", "ownership": "gke-cos", "region": "us-central1"},
        "pools": {"gpus": {"board": "hgx-h100", "hosts": 2}},
        "models": {},
    },
    "aks": {
        "cluster": {"name": "prod", "target": "aks", "ownership": "aks-ubuntu", "region": "eastus"},
        "pools": {"gpus": {"board": "hgx-h100", "hosts": 2}},
        "models": {},
    },
}


@cache
def chart(version: str, file: str) -> Any:
    """A YAML file of the published chart."""
    archive = Path(__file__).parent / "charts" / f"gpu-operator-{version}.tgz"
    with tarfile.open(archive) as content:
        member = content.extractfile(f"gpu-operator/{file}")
        assert member is not None
        return yaml.safe_load(member.read())


def unknown(said: Mapping[str, Any], known: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Keys that the chart's values do not have."""
    for key, value in said.items():
        here = f"{path}{key}"
        if here in UNSAID:
            continue
        if key not in known:
            yield here
        elif isinstance(value, dict) and isinstance(known[key], dict) and known[key]:
            yield from unknown(value, known[key], f"{here}.")


@pytest.mark.parametrize("version", ARCHIVES)
def test_the_digest_of_a_published_chart_is_that_of_its_archive(version: str) -> None:
    """What is compared with it at an update is what was read here."""
    archive = Path(__file__).parent / "charts" / f"gpu-operator-{version}.tgz"
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == ARCHIVES[version].sha256
    assert chart(version, "Chart.yaml")["version"] == version


@pytest.mark.parametrize("version", ARCHIVES)
@pytest.mark.parametrize("stack", STACKS)
def test_every_value_is_one_that_the_chart_knows(stack: str, version: str) -> None:
    """Helm says nothing of a mistyped key, and does nothing either."""
    plan = plan_of({**STACKS[stack], "charts": {"gpu-operator": {"version": version}}})
    if stack == "dra" and version != "v26.7.0":
        pytest.skip("only the newer chart has the DRA stack; with the older one it is refused")
    assert list(unknown(values(plan), chart(version, "values.yaml"))) == []


@pytest.mark.parametrize("version", ARCHIVES)
def test_a_driver_of_a_pool_is_what_its_kind_allows(version: str) -> None:
    """An API server refuses a field that the kind does not name."""
    plan = plan_of({**WHOLE, "charts": {"gpu-operator": {"version": version}}})
    kind = chart(version, "crds/nvidia.com_nvidiadrivers.yaml")
    schema = strict(kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"])
    (driver,) = drivers(plan).values()
    assert [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(driver["spec"])] == []


@pytest.mark.parametrize("version", ARCHIVES)
def test_what_is_known_of_a_version_is_what_its_chart_says(version: str) -> None:
    """Its default driver, exporter, NFD and modules; a row that went stale would refuse what works."""
    row, own = GPU_OPERATORS[version], chart(version, "values.yaml")
    assert row.drivers[0] == own["driver"]["version"]
    assert own["dcgmExporter"]["version"].startswith(row.dcgm_exporter)
    assert (row.gdrcopy, row.gds) == (own["gdrcopy"]["version"], own["gds"]["version"])
    assert row.nfd == chart(version, "Chart.yaml")["dependencies"][0]["version"]
    assert (row.dra_kubernetes is not None) == ("gpuCluster" in own)


def test_committed_kinds_are_those_of_the_published_chart() -> None:
    """A new version without its kinds, or an edit by hand, is noticed."""
    made = chart_kinds.render(
        Path(__file__).parent / "charts" / f"gpu-operator-{CHARTS['gpu-operator'][0].version}.tgz"
    )
    found = {f"{folder}/{path.name}": path.read_text() for folder in chart_kinds.SOURCES
             for path in (DEFINITIONS / folder).glob("*.yaml")}  # fmt: skip
    assert found == made


def test_every_chart_has_a_row_of_what_it_goes_with() -> None:
    """Otherwise the default of a stack would be refused."""
    rows = {"gpu-operator": GPU_OPERATORS, "network-operator": NETWORK_OPERATORS, "kueue": [NEWEST]}
    assert {name: [row.version for row in known] for name, known in CHARTS.items()} == {
        name: list(known) for name, known in rows.items()
    }


def test_every_driver_is_of_a_branch_that_is_known() -> None:
    """Its end is told where it is refused."""
    named = {branch for row in GPU_OPERATORS.values() for branch in (*row.branches, *row.precompiled)}
    assert named <= set(DRIVER_BRANCHES)
    assert {branch_of(row.drivers[0]) for row in GPU_OPERATORS.values()} <= named


def test_gpus_are_split_as_the_mig_manager_splits_them() -> None:
    """Instances of one GPU never take more than all of it."""
    assert set(INSTANCES) == set(BALANCED) <= set(GPUS)
    for gpu, kinds in INSTANCES.items():
        for kind, count in kinds.items():
            gib = int(kind.removesuffix(".me").partition(".")[2].removesuffix("gb"))
            # Sizes in names are rounded.
            assert count * (gib - 1) <= GPUS[gpu].memory_marketing_gb, (gpu, kind)
