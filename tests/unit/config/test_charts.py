"""Where charts come from: one place each, held to a digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, get_args

import pytest

from infra.catalog.charts import CHARTS
from infra.config.charts import ChartName
from infra.plan.charts import chart_of
from tests.unit.plan.specs import plan_of, read

ARCHIVE = b"an archive"
ROCE = {"pools/gpus/fabric": "roce", "pools/gpus/network": {"subnet": "10.128.0.0/16"}}
"""A pool with a fabric that the Network Operator serves."""
DIGEST = hashlib.sha256(ARCHIVE).hexdigest()


def said(charts: dict[str, Any], root: Path = Path("/nowhere")) -> list[str]:
    """The mistakes of a stack with these charts."""
    return list(read({"charts": charts}, root=root).problems)


def test_a_stack_may_name_every_chart_of_the_catalog() -> None:
    """A chart that nobody can name could never be mirrored."""
    assert set(get_args(ChartName)) == set(CHARTS)


def test_a_published_chart_has_the_digest_of_its_makers_index() -> None:
    """Without an entry the newest one comes from where it is published."""
    chart = chart_of(plan_of(), "gpu-operator")
    assert (chart.kind, chart.version) == ("repository", "v26.7.0")
    assert chart.digest == "bf6b04c16ff7cbc05720ea4b94187217316f9d869d445cfbde4fe0dffabe2557"


def test_an_archive_in_a_folder_is_compared_with_its_digest(tmp_path: Path) -> None:
    """An air-gapped clone installs what was looked at."""
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts/gpu-operator-v26.7.0.tgz").write_bytes(ARCHIVE)
    assert said({"gpu-operator": {"folder": "charts", "sha256": DIGEST}}, tmp_path) == []
    (told,) = said({"gpu-operator": {"folder": "charts"}}, tmp_path)
    assert told.startswith(f"charts.gpu-operator: 'charts/gpu-operator-v26.7.0.tgz' has the digest {DIGEST}, bf6b04c1")


def test_an_archive_whose_digest_nobody_knows_is_told_with_what_it_has(tmp_path: Path) -> None:
    """Whoever put it there has looked at it, or does so now."""
    (tmp_path / "network-operator-26.4.1.tgz").write_bytes(ARCHIVE)
    (told,) = said({"network-operator": {"folder": "."}}, tmp_path)
    assert told.startswith(
        "charts.network-operator.sha256: left out, and no source tells which network-operator-26.4.1"
    )
    assert told.endswith(f"set it to {DIGEST}")


def test_a_chart_whose_digest_no_source_tells_is_in_the_notes_of_the_plan() -> None:
    """`infra plan` reads no archive; the preview stops and names the digest."""
    notes = [note for note in plan_of({**ROCE, "charts": {}}).notes if note.startswith("charts.")]
    assert len(notes) == 1
    assert notes[0].startswith("charts.network-operator: no source tells the digest of network-operator-26.4.1.tgz")


def test_mistakes_in_charts_are_all_told_at_once() -> None:
    """Unknown chart, two places, a range, a short digest, an archive that is not there."""
    assert said(
        {
            "gpu-operatr": {},
            "gpu-operator": {"folder": "charts", "oci": "oci://mirror/charts", "sha256": DIGEST},
            "network-operator": {"version": ">=26", "sha256": "abc"},
        }
    ) == [
        "charts.gpu-operatr: 'gpu-operatr' is not allowed; did you mean 'gpu-operator'?",
        "charts.gpu-operator: oci and folder; a chart comes from one place, choose one of them",
        "charts.network-operator.version: '>=26' is not allowed; write one version such as v26.7.0, no range",
        "charts.network-operator.sha256: 'abc' is not allowed; write 64 hex digits, as sha256sum prints them",
    ]


@pytest.mark.parametrize(
    ("charts", "told"),
    [
        ({"folder": "charts"}, "charts.gpu-operator.folder: 'charts/gpu-operator-v26.7.0.tgz' cannot be read (No such"),
        ({"oci": "oci://mirror.example.com/charts"}, "charts.gpu-operator: oci without sha256; a registry's manifest"),
        ({"repository": "https://me:pw@charts"}, "charts.gpu-operator.repository: an address with a password in it is"),
        ({"oci": "oci://m/c:v1", "sha256": DIGEST}, "charts.gpu-operator.oci: 'oci://m/c:v1' is not allowed; write a"),
    ],
    ids=["not there", "registry without digest", "password", "tag"],
)
def test_a_chart_that_cannot_be_had_is_told(charts: dict[str, str], told: str) -> None:
    """In one sentence with what to do."""
    (found,) = said({"gpu-operator": charts})
    assert found.startswith(told)
