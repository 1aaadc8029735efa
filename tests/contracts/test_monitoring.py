"""What the catalog says of monitoring is what the lab and the published images are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from infra.catalog.histograms import EDGES
from infra.catalog.monitoring import PUBLISHED, Image
from infra.catalog.targets import TARGETS
from lab.cluster.network import Ports
from lab.images.catalog import MONITORING

REPO = Path(__file__).resolve().parents[2]
DEFINITIONS = REPO / "infra/components/crds/prometheus-operator"


@pytest.mark.parametrize("image", PUBLISHED.values(), ids=lambda image: image.part)
def test_a_published_image_is_fixed_and_has_a_source(image: Image) -> None:
    """A digest of 64 hex digits, and whoever reads it can look it up."""
    assert re.fullmatch(r"[0-9a-f]{64}", image.digest)
    assert re.fullmatch(r"[a-z0-9.-]+\.[a-z]+/[a-z0-9/._-]+", image.name)
    assert len(image.source) >= 20


def test_no_two_images_have_one_digest() -> None:
    """A copied line would run one program under two names."""
    assert len({image.digest for image in PUBLISHED.values()}) == len(PUBLISHED)


def test_the_lab_builds_every_part_that_it_can_run() -> None:
    """All but dcgm-exporter, which needs a GPU."""
    assert set(MONITORING) == set(PUBLISHED) - {"dcgm-exporter"}


def test_the_operator_and_its_definitions_are_of_one_line() -> None:
    """Newer definitions than the operator's, or older, lose fields."""
    wanted = PUBLISHED["prometheus-operator"].version.rpartition(".")[0]
    for path in sorted(DEFINITIONS.glob("*.yaml")):
        metadata = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)["metadata"]
        assert metadata["annotations"]["operator.prometheus.io/version"].startswith(f"{wanted}.")


def test_the_operator_and_its_sidecar_are_of_one_version() -> None:
    """They are released together."""
    assert PUBLISHED["prometheus-operator"].version == PUBLISHED["prometheus-config-reloader"].version


@pytest.mark.parametrize(
    ("job", "port"),
    [("etcd", "etcd_metrics"), ("coredns", "coredns_metrics"), ("kwok", "kwok"), ("fleet", "fleet")],
)
def test_the_labs_parts_listen_where_they_are_scraped(job: str, port: str) -> None:
    """The catalog and the lab share no code, so this holds them together."""
    (scrape,) = (row for row in TARGETS["lab"].scrapes if row.job == job)
    assert scrape.port == getattr(Ports(), port)


@pytest.mark.parametrize("measure", ["first_token", "token", "latency"])
@pytest.mark.parametrize("engine", EDGES)
def test_edges_rise(engine: str, measure: str) -> None:
    """As buckets do."""
    edges = EDGES[engine][measure]
    assert list(edges) == sorted(set(edges))
