"""The lab's tools: pins are complete, installed ones serve when new enough, builds appear whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import CheckError, ConfigError
from lab import paths
from lab.toolchain import TOOLS, Binary, Event, Found, Tool, ensure_all, find, link_all
from lab.toolchain import builds as builds_module
from lab.toolchain import ensure as ensure_module
from lab.toolchain import search as search_module
from lab.toolchain.__main__ import chosen
from lab.toolchain.builds import build, folder, key
from lab.toolchain.golang import PINNED_GO, build_flags
from lab.toolchain.table import GO_VERSION, ModuleFile
from lab.toolchain.versions import Version, parse, serves

PROGRAMS = (Binary("one", "example.org/one/v2"), Binary("two", "example.org/cmd/two"))
PAIR = Tool("pair", "2.4.2", PROGRAMS, may_be_installed=True)
TOOL_NAMES = [tool.name for tool in TOOLS]


def pinned_modules(name: str) -> dict[str, str]:
    """Module and version of each requirement of a tool."""
    pins = next(tool for tool in TOOLS if tool.name == name).pins / "go.mod"
    return dict(re.findall(r"^\t(\S+) (v\S+)", pins.read_text(), re.MULTILINE))


def program(path: Path, answer: str) -> None:
    """Write a program that prints one line whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\n")
    path.chmod(0o755)


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go that builds in no time: every package becomes a program that answers the version in ``ANSWER``."""
    fake, log = tmp_path / "go", tmp_path / "calls"
    fake.write_text(
        f"""#!/bin/sh
[ "$1" = version ] && {{ echo go version go1.26.8 linux/amd64; exit; }}
echo "$@" >> {log}
[ "$1" = build ] || exit 0
while [ "$1" != -o ]; do shift; done
out=$2; shift 2; mkdir -p "$out"
for built in one two; do
  printf '#!/bin/sh\\necho %s\\n' "$(cat {tmp_path}/ANSWER)" > "$out/$built"
  chmod 755 "$out/$built"
done
"""
    )
    fake.chmod(0o755)
    (tmp_path / "ANSWER").write_text("v2.4.2")
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "go.mod").write_text("module x\n")
    monkeypatch.setattr(Tool, "pins", property(lambda self: tmp_path / "pins"))
    monkeypatch.setattr(paths, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(builds_module, "go_binary", lambda: fake)
    monkeypatch.setattr(search_module, "go_binary", lambda: fake)
    return fake


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Kubernetes v1.36.3", (1, 36, 3)),
        ("etcd Version: 3.6.16\nGit SHA: none", (3, 6, 16)),
        ("containerd github.com/containerd/containerd/v2 v2.4.2 abc", (2, 4, 2)),
        ("go version go1.26 linux/amd64", (1, 26, 0)),
        ("command not found", None),
    ],
)
def test_version_is_the_first_one_in_the_answer(text: str, version: Version | None) -> None:
    """A major version in a module path is not taken for the version."""
    assert parse(text) == version


@pytest.mark.parametrize(
    ("found", "does"),
    [((2, 4, 2), True), ((2, 10, 0), True), ((2, 4, 1), False), ((3, 0, 0), False), (None, False)],
    ids=["same", "newer", "older", "next major", "unknown"],
)
def test_a_version_serves_when_not_older_and_of_the_same_major(found: Version | None, does: bool) -> None:
    """A next major version may have dropped what the lab uses, so it does not serve."""
    assert serves(found, (2, 4, 2)) is does


@pytest.mark.parametrize("tool", TOOLS, ids=TOOL_NAMES)
def test_pins_are_whole(tool: Tool) -> None:
    """Every tool has a go.mod, hashes for all it requires, and no folder of this machine in it."""
    pins = (tool.pins / "go.mod").read_text()
    assert "require" not in pins or (tool.pins / "go.sum").exists(), f"{tool.name} has no go.sum"
    assert not re.search(r"=> *[./]", pins), f"{tool.name} replaces a module by a folder"


@pytest.mark.parametrize("tool", TOOLS, ids=TOOL_NAMES)
def test_go_of_the_pins_is_one_that_the_lab_accepts(tool: Tool) -> None:
    """No go.mod asks for a newer Go than the oldest that the lab takes from PATH."""
    wanted = re.search(r"^go (.*)$", (tool.pins / "go.mod").read_text(), re.MULTILINE)
    assert wanted is not None
    assert (parse(wanted[1]) or GO_VERSION) <= GO_VERSION


@pytest.mark.parametrize("tool", [t for t in TOOLS if t.name != "pause"], ids=lambda tool: tool.name)
def test_version_in_the_table_is_the_pinned_one(tool: Tool) -> None:
    """A go.mod that moves on without the table, or the other way round, is noticed before anything is built."""
    assert f" v{tool.module_version or tool.version}" in (tool.pins / "go.mod").read_text()


@pytest.mark.parametrize("tool", TOOLS, ids=TOOL_NAMES)
def test_packages_are_tools_of_the_pins(tool: Tool) -> None:
    """A package that is not our own is named by a tool directive, so that tidying keeps what it needs."""
    pins = (tool.pins / "go.mod").read_text()
    missing = [b.package for b in tool.binaries if b.package != "." and f"{b.package}\n" not in pins]
    assert missing == []


def test_programs_over_the_same_kubernetes_client_share_its_build() -> None:
    """Operator and kube-state-metrics pin one version of each module they share, so that Go compiles it once."""
    operator, metrics = pinned_modules("prometheus-operator"), pinned_modules("kube-state-metrics")
    assert {name for name in operator.keys() & metrics.keys() if operator[name] != metrics[name]} == set()
    assert "k8s.io/client-go" in operator.keys() & metrics.keys()


def test_go_from_pypi_is_new_enough() -> None:
    """Where there is no Go, the pinned one from PyPI is at least the oldest accepted."""
    assert serves(parse(PINNED_GO.read_text().split("==")[1]), GO_VERSION)


@pytest.mark.parametrize(
    ("answers", "version"),
    [
        ({"a/one": "2.4.2", "a/two": "v2.5.0"}, "2.4.2"),
        ({"a/one": "2.4.2", "a/two": "2.4.1"}, None),
        ({"a/one": "2.4.2", "b/two": "2.4.2"}, None),
        ({"a/one": "2.4.2"}, None),
        ({"a/one": "2.4.2", "a/two": "no version"}, None),
    ],
    ids=["all new enough", "one too old", "from two places", "one missing", "one says nothing"],
)
def test_installed_tool_serves_only_whole(
    go: Path, tmp_path: Path, answers: dict[str, str], version: str | None
) -> None:
    """All programs of a tool on PATH are of one place and new enough, or none is used."""
    for name, answer in answers.items():
        program(tmp_path / name, answer)
    found = find(PAIR, f"{tmp_path}/a:{tmp_path}/b")
    assert (found.version if found else None) == version


def test_a_name_that_means_something_else_on_path_is_not_used(go: Path, tmp_path: Path) -> None:
    """A CNI plugin has the name of any program, such as `loopback`, so PATH is not looked at."""
    for binary in PAIR.binaries:
        program(tmp_path / "a" / binary.name, "2.4.2")
    assert find(replace(PAIR, may_be_installed=False), f"{tmp_path}/a") is None


def test_own_links_do_not_count_as_installed(go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shell of the lab its own links are on PATH; they do not make a tool an installed one."""
    monkeypatch.setattr(paths, "bin_dir", lambda: tmp_path / "a")
    for binary in PAIR.binaries:
        program(tmp_path / "a" / binary.name, "2.4.2")
    assert find(PAIR, f"{tmp_path}/a") is None


def silent(line: str) -> None:
    """Take a line of progress and say nothing."""


def test_build_is_found_afterwards_and_not_repeated(go: Path, tmp_path: Path) -> None:
    """What was built is found by its pins, and a second build runs no compiler."""
    programs = build(PAIR, tmp_path / "log", 2, silent)
    calls = (tmp_path / "calls").read_text()
    assert build(PAIR, tmp_path / "log", 2, silent) == programs
    assert (tmp_path / "calls").read_text() == calls
    assert find(PAIR, "") == Found(programs, built=True, version="2.4.2")


def test_build_tells_how_long_it_took(go: Path, tmp_path: Path) -> None:
    """A record beside the programs names the tool and its seconds."""
    record = json.loads((build(PAIR, tmp_path / "log", 2, silent).parent / "build.json").read_text())
    assert (record["tool"], record["version"]) == ("pair", "2.4.2")
    assert record["seconds"] >= 0


def test_leftover_of_a_killed_build_is_not_taken_for_a_tool(go: Path, tmp_path: Path) -> None:
    """A build killed half way left a folder; the next one does not find it, and starts anew."""
    target = folder(PAIR, go)
    half = target.with_name(f".{target.name}.1.partial")
    program(half / "bin" / "one", "half")
    assert find(PAIR, "") is None
    assert "half" not in (build(PAIR, tmp_path / "log", 2, silent) / "one").read_text()
    assert not half.exists()


def test_wrong_version_is_an_error_and_not_installed(go: Path, tmp_path: Path) -> None:
    """Programs that answer with another version than the pinned one are refused, with both named."""
    (tmp_path / "ANSWER").write_text("v2.4.1")
    with pytest.raises(CheckError, match=r"one .*\(2, 4, 1\).* 2\.4\.2 was to be built"):
        build(PAIR, tmp_path / "log", 2, silent)
    assert find(PAIR, "") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda pins, tool: (pins / "go.mod").write_text("module y\n") and tool,
        lambda pins, tool: (pins / "main.go").write_text("package main\n") and tool,
        lambda pins, tool: replace(tool, tags=("seccomp",)),
        lambda pins, tool: replace(tool, shipped=(ModuleFile("m", "LICENSE", "LICENSE"),)),
    ],
    ids=["pins", "source", "tags", "files"],
)
def test_whatever_decides_the_build_is_in_its_key(
    go: Path, tmp_path: Path, change: Callable[[Path, Tool], Tool]
) -> None:
    """A change of pins, sources, flags or files leads to another folder, so that nothing stale is used."""
    before = key(PAIR, go)
    assert key(change(tmp_path / "pins", PAIR), go) != before


def test_flags_carry_tags_and_version(go: Path) -> None:
    """Tags and stamped variables reach the compiler in the form that it takes."""
    flags = build_flags(replace(PAIR, tags=("a", "b"), stamps=(("main.version", "v1"),)))
    assert "-tags=a,b" in flags
    assert "-ldflags=-s -w -X main.version=v1" in flags


def events_of(tools: list[Tool], tmp_path: Path) -> tuple[list[tuple[str, str]], Exception | None]:
    """Run a set-up and give its events without times, and the error that ended it."""
    seen: list[Event] = []
    try:
        ensure_all(tools, tmp_path / "logs", seen.append)
    except CheckError as error:
        return [(event.tool, event.state) for event in seen], error
    return [(event.tool, event.state) for event in seen], None


def test_nothing_new_starts_after_a_failure(go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failure is raised, and tools that had not been started stay unbuilt."""
    (tmp_path / "ANSWER").write_text("v9.9.9")
    monkeypatch.setattr(ensure_module, "WORKERS", 1)
    events, error = events_of([replace(PAIR, name="a"), replace(PAIR, name="b")], tmp_path)
    assert "9, 9, 9" in str(error)
    assert ("a", "failed") in events
    assert ("b", "building") not in events


def test_tool_that_is_there_is_ready_at_once(go: Path, tmp_path: Path) -> None:
    """A second set-up reports every tool as ready and builds none."""
    build(PAIR, tmp_path / "log", 2, silent)
    assert events_of([PAIR], tmp_path) == ([("pair", "ready")], None)


def test_links_follow_a_tool_that_moved(tmp_path: Path) -> None:
    """A link to an older build is replaced, and a folder of files beside the programs is linked too."""
    tool = replace(PAIR, shipped=(ModuleFile("m", "a.yaml", "stages/a.yaml"), ModuleFile("m", "b", "stages/b.yaml")))
    for where in ("old", "new"):
        link_all([tool], {"pair": Found(tmp_path / where, built=True, version="2.4.2")}, tmp_path / "bin")
    links = {path.name: path.readlink() for path in (tmp_path / "bin").iterdir()}
    assert links == {name: tmp_path / "new" / name for name in ("one", "two", "stages")}


def test_bin_does_not_grow_with_each_run(tmp_path: Path) -> None:
    """A link that is there already leaves no second name of itself, and those of killed runs go."""
    program(tmp_path / "built" / "one", "2.4.2")
    program(tmp_path / "built" / "two", "2.4.2")
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / ".one.4711").write_text("of a killed run")
    for _ in range(2):
        link_all([PAIR], {"pair": Found(tmp_path / "built", built=True, version="2.4.2")}, bin_dir)
    assert sorted(path.name for path in bin_dir.iterdir()) == ["one", "two"]
    assert (bin_dir / "one").samefile(tmp_path / "built" / "one")


def test_unknown_name_is_refused_with_the_known_ones() -> None:
    """The command names the tools that there are when asked for one that is not."""
    with pytest.raises(ConfigError, match=r"'kubernets'.*kubernetes"):
        chosen(["kubernets"])
