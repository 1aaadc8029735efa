"""Take the kinds out of a chart's published archive: ``python -m lab.toolchain.chart_kinds ARCHIVE``.

The files are committed, because a stack brings the kinds before anything of them. Descriptions are left out: they are
most of the text, and would lie in the state of every stack.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from infra.catalog.charts import CHARTS
from infra.errors import CheckError, RailwrightError
from lab import paths
from lab.toolchain.crds import without_descriptions

SOURCES = {
    "gpu-operator": "gpu-operator/crds/",
    "node-feature-discovery": "gpu-operator/charts/node-feature-discovery/crds/",
}
"""Folder of ours to the folder in the archive."""


def target() -> Path:
    """Folder of the committed folders."""
    return paths.repo_root() / "infra" / "components" / "crds"


def render(archive: Path) -> dict[str, str]:
    """The committed files by their path below the folder.

    Raises:
        CheckError: the archive is not the newest that the catalog knows.
    """
    newest = CHARTS["gpu-operator"][0]
    if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != newest.sha256:
        raise CheckError(
            f"{archive} — has the digest {found} — {newest.sha256} of {newest.version} is known — fetch it"
        )
    made: dict[str, str] = {}
    with tarfile.open(archive) as content:
        for folder, inside in SOURCES.items():
            for member in content.getmembers():
                if member.name.startswith(inside) and member.name.endswith(".yaml"):
                    file = content.extractfile(member)
                    made |= {f"{folder}/{name}": text for name, text in _kinds(file.read() if file else b"", folder)}
    return made


def _kinds(text: bytes, folder: str) -> Iterator[tuple[str, str]]:
    origin = f"# From the chart gpu-operator {CHARTS['gpu-operator'][0].version}"
    of = "" if folder == "gpu-operator" else f", subchart {folder}"
    head = f"{origin}{of} (Apache-2.0), without descriptions.\n# Made by `python -m lab.toolchain.chart_kinds`.\n"
    for kind in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if kind:
            body = yaml.dump(without_descriptions(kind), Dumper=yaml.CSafeDumper, width=120)
            yield f"{kind['spec']['names']['plural']}.yaml", head + body


def main() -> int:
    """Write the files anew."""
    try:
        made = render(Path(sys.argv[1]))
    except RailwrightError as error:
        print(error, file=sys.stderr)
        return 1
    for name, text in made.items():
        (target() / name).parent.mkdir(parents=True, exist_ok=True)
        (target() / name).write_text(text)
        print(f"{name:<46} {len(text) / 1024:7.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
