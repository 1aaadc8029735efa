"""What the lab's images are as bytes, and what is asked of containerd."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from infra.errors import CheckError
from lab.images import build, catalog, oci, rootfs
from lab.toolchain import TOOLS

DIGEST = "sha256:" + "0" * 64


def image(folder: Path) -> oci.Image:
    """A one-layer image over a folder."""
    return oci.Image("docker.io/railwright/x", "1", ((oci.Tree(folder, "opt"),),), {"User": "10001:10001"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, a link and a folder that may be left out."""
    made = tmp_path / "tree"
    (made / "skip").mkdir(parents=True)
    (made / "skip" / "inner").write_text("x")
    (made / "file").write_text("hello")
    (made / "link").symlink_to("file")
    return made


def layer(*trees: oci.Tree) -> dict[str, tarfile.TarInfo]:
    """The entries of a layer by name."""
    out = io.BytesIO()
    oci.write_layer(trees, out)
    out.seek(0)
    with tarfile.open(fileobj=out) as tar:
        return {info.name: info for info in tar}


def test_same_content_has_the_same_digest(folder: Path, tmp_path: Path) -> None:
    """Times of files do not reach the image: a second build has the same digest."""
    first = oci.write_image(image(folder), tmp_path / "a.tar")
    os.utime(folder / "file", (1, 1))
    assert oci.write_image(image(folder), tmp_path / "b.tar") == first


def test_other_content_has_another_digest(folder: Path, tmp_path: Path) -> None:
    """A changed byte changes the digest."""
    first = oci.write_image(image(folder), tmp_path / "a.tar")
    (folder / "file").write_text("hullo")
    assert oci.write_image(image(folder), tmp_path / "b.tar") != first


def test_index_names_tag_and_digest(folder: Path, tmp_path: Path) -> None:
    """containerd finds an image under both names: the tag, and the digest that pods ask for."""
    digest = oci.write_image(image(folder), tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as tar:
        content = tar.extractfile("index.json")
        assert content is not None
        names = [entry["annotations"][oci.NAME] for entry in json.load(content)["manifests"]]
    assert names == ["docker.io/railwright/x:1", f"docker.io/railwright/x@{digest}"]


def test_digest_is_read_back_from_the_archive(folder: Path, tmp_path: Path) -> None:
    """What is written to images.json comes from the archive and is what writing said."""
    assert oci.write_image(image(folder), tmp_path / "a.tar") == oci.digest_of(tmp_path / "a.tar")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("opt", tarfile.DIRTYPE),
        ("opt/file", tarfile.REGTYPE),
        ("opt/link", tarfile.SYMTYPE),
    ],
)
def test_layer_keeps_kinds(folder: Path, name: str, kind: bytes) -> None:
    """Folders, files and links stay what they are, and belong to root at time 0."""
    info = layer(oci.Tree(folder, "opt"))[name]
    assert (info.type, info.uid, info.mtime) == (kind, 0, 0)


def test_volatile_folders_are_empty(folder: Path) -> None:
    """A folder that is left out is there as a mount point, without its content."""
    entries = layer(oci.Tree(folder, "", without=("skip",)))
    assert "skip" in entries
    assert "skip/inner" not in entries


def test_layer_brings_the_folders_above_a_file(folder: Path) -> None:
    """A single file deep in the image comes with folders that others can enter."""
    entries = layer(oci.Tree(folder / "file", "usr/local/bin/envoy"))
    assert {name: entries[name].mode for name in ("usr", "usr/local/bin")} == {"usr": 0o755, "usr/local/bin": 0o755}


def test_key_follows_content(folder: Path) -> None:
    """A changed file gives the image another key, so that it is built anew."""
    before = catalog.key(image(folder), Path("debian"))
    (folder / "file").write_text("other")
    assert catalog.key(image(folder), Path("debian")) != before


def test_no_image_runs_as_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every image names a user that is not root."""
    monkeypatch.setattr(catalog, "envoy_binary", lambda: tmp_path / "envoy")
    users = {made.name: made.settings["User"] for made in catalog.images(tmp_path)}
    assert {name for name, user in users.items() if user.startswith("0")} == set()
    assert len(users) == 3 + len(catalog.MONITORING)


@pytest.mark.parametrize("made", [*catalog.monitoring(Path("debian"))], ids=lambda made: made.name.rsplit("/", 1)[1])
def test_a_monitoring_image_is_its_program_and_certificate_roots(made: oci.Image) -> None:
    """The operator starts these images with arguments only, so the entrypoint is the one program that lies in them."""
    roots, program = (layer[0] for layer in made.layers)
    assert (roots.source, roots.target) == (Path("debian") / catalog.CA_ROOTS, catalog.CA_ROOTS)
    assert made.settings["Entrypoint"][0] == f"/{program.target}"
    assert program.source.name in {binary.name for tool in TOOLS for binary in tool.binaries}


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    """A digest that was kept is not given for other content under the same name."""
    file = tmp_path / "program"
    digests = []
    for content in ("one", "other"):
        file.write_text(content)
        digests.append(catalog.key(image(file), Path("debian")))
    assert digests[0] != digests[1]


def test_recipe_pins_the_user() -> None:
    """The user of the pod specs is in the folder's recipe, and so in its key."""
    assert any(f"railwright:x:{rootfs.USER_ID}:{rootfs.USER_ID}:" in part for part in rootfs.recipe())


class Containerd:
    """Answers as ``ctr images`` would, and notes what it imported."""

    def __init__(self, names: set[str], brings: set[str]) -> None:
        self.names, self.brings, self.imported = names, brings, list[str]()

    def __call__(self, argv: list[str]) -> str:
        if "import" in argv:
            self.imported.append(argv[-1])
            self.names |= self.brings
        return "\n".join(self.names)


NAMES = {"docker.io/railwright/x:1", f"docker.io/railwright/x@{DIGEST}"}


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """One archive, with a known digest."""
    monkeypatch.setattr(build, "archives", lambda: {"docker.io/railwright/x": Path("x.tar")})
    monkeypatch.setattr(oci, "digest_of", lambda _: DIGEST)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("present", "imported"),
    [
        (set(), ["x.tar"]),
        ({"docker.io/railwright/x:1"}, ["x.tar"]),
        (NAMES, []),
    ],
    ids=["absent", "old digest under the same tag", "present"],
)
def test_load_imports_what_is_absent(present: set[str], imported: list[str]) -> None:
    """An image is imported unless both its names are there."""
    containerd = Containerd(set(present), NAMES)
    build.load(["ctr"], lambda _: None, run=containerd)
    assert containerd.imported == imported


@pytest.mark.usefixtures("archive")
def test_load_reads_back() -> None:
    """An import that brings nothing is an error that names the image."""
    with pytest.raises(CheckError, match=f"lacks .*x@{DIGEST}"):
        build.load(["ctr"], lambda _: None, run=Containerd(set(), set()))
