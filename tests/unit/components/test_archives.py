"""Archives of charts: fetched once, and only ever the one that was looked at."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from infra.components import archives, release
from infra.errors import ConfigError, Unknown
from infra.plan.charts import Chart

CONTENT = b"an archive"
INDEX = b"""
entries:
  gpu-operator:
    - {version: v2.0.0, urls: [gpu-operator-v2.0.0.tgz]}
    - {version: v1.0.0, urls: [https://elsewhere.example.com/gpu-operator-v1.0.0.tgz]}
"""
ADDRESSES = {
    "https://charts.example.com/stable/index.yaml": INDEX,
    "https://charts.example.com/stable/gpu-operator-v2.0.0.tgz": CONTENT,
    "https://elsewhere.example.com/gpu-operator-v1.0.0.tgz": CONTENT,
}


def chart(version: str = "v2.0.0", content: bytes = CONTENT) -> Chart:
    """A chart of the repository."""
    digest = hashlib.sha256(content).hexdigest()
    return Chart("gpu-operator", version, "repository", "https://charts.example.com/stable", digest)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that the repository was asked for."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        found = ADDRESSES.get(str(request.url))
        return httpx.Response(404) if found is None else httpx.Response(200, content=found)

    client = httpx.Client
    monkeypatch.setattr(
        archives.httpx, "Client", lambda **options: client(transport=httpx.MockTransport(answer), **options)
    )
    return seen


@pytest.mark.parametrize("version", ["v2.0.0", "v1.0.0"], ids=["beside the index", "elsewhere"])
def test_an_archive_is_fetched_from_where_the_index_says(version: str, asked: list[str], tmp_path: Path) -> None:
    """Relative addresses start at the repository."""
    archives.gather([chart(version)], tmp_path)
    assert (tmp_path / f".charts/gpu-operator-{version}.tgz").read_bytes() == CONTENT


def test_an_archive_that_is_there_is_not_fetched_again(asked: list[str], tmp_path: Path) -> None:
    """So that the next preview needs no network."""
    archives.gather([chart()], tmp_path)
    before = list(asked)
    archives.gather([chart()], tmp_path)
    assert asked == before


def test_another_archive_than_expected_is_not_installed(asked: list[str], tmp_path: Path) -> None:
    """Nothing of it stays on disk."""
    with pytest.raises(ConfigError, match=r"RW-402 charts.gpu-operator: .* do not install it"):
        archives.gather([chart(content=b"what was looked at")], tmp_path)
    assert not (tmp_path / ".charts").exists()


def test_an_archive_that_was_changed_on_disk_is_fetched_anew(asked: list[str], tmp_path: Path) -> None:
    """A cut off copy does not stay."""
    archives.gather([chart()], tmp_path)
    (tmp_path / chart().path).write_bytes(b"half")
    archives.gather([chart()], tmp_path)
    assert (tmp_path / chart().path).read_bytes() == CONTENT


def test_a_version_that_is_not_listed_is_told_with_those_that_are(asked: list[str], tmp_path: Path) -> None:
    """A mistake of the stack, not of the network."""
    with pytest.raises(ConfigError, match=r"'v3.0.0' is not in .*; it has v2.0.0, v1.0.0"):
        archives.gather([chart("v3.0.0")], tmp_path)


def test_a_repository_that_does_not_answer_is_told_with_a_way_out(asked: list[str], tmp_path: Path) -> None:
    """A folder works without it."""
    away = Chart("gpu-operator", "v2.0.0", "repository", "https://gone.example.com", "0" * 64)
    with pytest.raises(Unknown, match=r"charts\.gpu-operator\.folder"):
        archives.gather([away], tmp_path)


def test_a_folder_is_taken_as_it_is(asked: list[str], tmp_path: Path) -> None:
    """Its archives were compared when the stack was read."""
    there = Chart("gpu-operator", "v2.0.0", "folder", "charts", "0" * 64)
    archives.gather([there], tmp_path)
    assert there.path == "charts/gpu-operator-v2.0.0.tgz"
    assert asked == []


def test_an_archive_that_nobody_named_stops_the_preview_and_tells_its_digest(asked: list[str], tmp_path: Path) -> None:
    """Where no source has the digest, whoever looked at the archive says so."""
    unsaid = replace(chart(), digest="")
    with pytest.raises(ConfigError, match=rf"RW-402 charts\.gpu-operator\.sha256.*set it to {chart().digest}"):
        archives.gather([unsaid], tmp_path)
    assert (tmp_path / ".charts" / unsaid.archive).read_bytes() == CONTENT


def test_an_archive_that_was_looked_at_is_not_fetched_a_second_time(asked: list[str], tmp_path: Path) -> None:
    """What is installed is the copy that was looked at."""
    with pytest.raises(ConfigError):
        archives.gather([replace(chart(), digest="")], tmp_path)
    before = list(asked)
    archives.gather([chart()], tmp_path)
    assert asked == before


def test_all_that_is_wrong_with_archives_is_told_at_once(asked: list[str], tmp_path: Path) -> None:
    """Before anything is declared."""
    with pytest.raises(ConfigError) as told:
        archives.gather([replace(chart(), digest=""), chart("v3.0.0"), chart(content=b"another")], tmp_path)
    assert [problem.partition(" ")[0] for problem in told.value.problems] == [
        "RW-402",
        "charts.gpu-operator.version:",
        "RW-402",
    ]


def test_a_registry_is_not_asked_for_an_archive(asked: list[str], tmp_path: Path) -> None:
    """Helm fetches it by the digest of its manifest."""
    archives.gather([replace(chart(), kind="oci", source="oci://mirror.example.com/charts")], tmp_path)
    assert asked == []


def test_an_archive_is_read_once_in_an_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release takes what was compared before anything was declared."""
    read: list[str] = []
    (tmp_path / ".charts").mkdir()
    (tmp_path / chart().path).write_bytes(CONTENT)
    monkeypatch.setattr(archives, "doubt", lambda *said: read.append(said[1]) or "")
    monkeypatch.setattr(release.load, "clone_root", lambda: tmp_path)
    archives.gather([chart()], tmp_path)
    monkeypatch.chdir(tmp_path)
    assert release._where(chart()) == {"chart": ".charts/gpu-operator-v2.0.0.tgz"}
    assert read == [chart().path]
