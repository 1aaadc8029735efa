"""Config enters once, from a file or from Pulumi, and means the same either way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from infra.config import load
from infra.config.load import clone_root, from_file, from_pulumi, kubeconfig_path
from infra.errors import ConfigError
from infra.plan.build import build
from tests.unit.plan.specs import DIGEST, NOWHERE, STACK, Sections, changed, read


def _file(folder: Path, sections: Sections | str, name: str = "Pulumi.test.yaml") -> Path:
    path = folder / name
    if isinstance(sections, str):
        path.write_text(sections, encoding="utf-8")
    else:
        config = {f"railwright:{key}": value for key, value in sections.items()}
        path.write_text(yaml.safe_dump({"config": config}), encoding="utf-8")
    return path


def _pulumi(sections: Sections) -> dict[str, str]:
    return {f"railwright:{key}": json.dumps(value) for key, value in sections.items()}


def test_file_and_pulumi_mean_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `infra plan` judges is what `pulumi up` carries out."""
    monkeypatch.setattr(load, "clone_root", lambda: NOWHERE)
    spec = from_pulumi("test", _pulumi(STACK))
    assert spec.stack == from_file(_file(tmp_path, STACK), NOWHERE).stack
    assert spec.key_values["team"].get_secret_value() == STACK["keys"]["team"]["secret"]


def test_other_projects_config_is_left_alone(tmp_path: Path) -> None:
    """Keys such as ``pulumi:tags`` belong to others."""
    text = yaml.safe_dump({"config": {"pulumi:tags": {"a": "b"}, **{f"railwright:{k}": v for k, v in STACK.items()}}})
    assert from_file(_file(tmp_path, text), NOWHERE).problems == ()


def test_a_sealed_secret_is_enough_for_a_plan(tmp_path: Path) -> None:
    """A plan needs no passphrase."""
    sealed = changed({"keys/team/secret": {"secure": "v1:abc:def"}})
    spec = from_file(_file(tmp_path, sealed), NOWHERE)
    assert spec.problems == ()
    assert spec.key_values == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no mapping 'config'"),
        ("config: 3", "has no mapping 'config'"),
        ("[1, 2]", "has no mapping 'config'"),
        ("config: [", "is not YAML"),
        ("config: {a: 1, a: 2}", "'a' stands there twice"),
        ("config: {a: {b: {c: 1, c: 2}}}", "'c' stands there twice"),
        ("config: {a: !!python/object:os.system x}", "is not YAML"),
    ],
    ids=["empty", "no mapping", "list", "broken", "twice", "twice inside", "code"],
)
def test_a_file_that_is_no_stack_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """An error names the file and what to do, never a traceback."""
    with pytest.raises(ConfigError, match=said) as caught:
        from_file(_file(tmp_path, text))
    assert "Pulumi.test.yaml" in str(caught.value)


@pytest.mark.parametrize("name", ["stack.yaml", "Pulumi.test.yml", "test"], ids=str)
def test_a_file_of_another_name_is_refused(tmp_path: Path, name: str) -> None:
    """Its name tells the stack's."""
    with pytest.raises(ConfigError, match=r"must be Pulumi\.<stack>\.yaml; rename it"):
        from_file(_file(tmp_path, STACK, name))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The path is told, as a relative one is easily wrong."""
    with pytest.raises(ConfigError, match=r"is not there; name one"):
        from_file(tmp_path / "Pulumi.none.yaml")


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x01", b"config: \xc3\x28"], ids=["binary", "broken UTF-8"])
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    """Bytes that are no text are no YAML."""
    path = tmp_path / "Pulumi.test.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=r"is not YAML|no mapping"):
        from_file(path)


def test_numbers_as_names_of_sections_are_told(tmp_path: Path) -> None:
    """YAML reads a bare number as a number, also where a name stands."""
    assert (
        from_file(_file(tmp_path, "config: {1: {}, railwright:2: {}}"), NOWHERE)
        .problems[0]
        .startswith("2: no such key")
    )


def test_a_name_that_is_a_number_is_told() -> None:
    """It sorts with no other name, and is told all the same."""
    said = read({"models": {1: STACK["models"]["chat"], "chat": STACK["models"]["chat"]}}).problems
    assert said == ("models.1: 1 is not allowed; it should be a valid string, change it",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "is not JSON of the form"),
        ("[1]", "is not JSON of the form"),
        ('{"a": 1}', "is not JSON of the form"),
        ("\udcff", "is not JSON of the form"),
    ],
    ids=["broken", "list", "no digest", "no text"],
)
def test_a_spoilt_image_lock_is_told(tmp_path: Path, text: str, said: str) -> None:
    """It is a mistake beside the others, not a crash."""
    (tmp_path / "lock.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    problems = read({"images/lock": "lock.json"}, root=tmp_path).problems
    assert [said in problem for problem in problems] == [True]


def test_a_folder_is_no_image_lock(tmp_path: Path) -> None:
    """The reason is the system's own."""
    assert read({"images/lock": "."}, root=tmp_path).problems == (
        "images.lock: '.' cannot be read (Is a directory); name a file",
    )


@pytest.mark.parametrize("lock", [None, {"docker.io/x/y": DIGEST}], ids=["absent", "present"])
def test_an_image_lock_is_read_when_it_is_there(tmp_path: Path, lock: dict[str, str] | None) -> None:
    """Absent is no mistake yet: it is built later."""
    if lock:
        (tmp_path / "lock.json").write_text(json.dumps(lock), encoding="utf-8")
    spec = read({"images/lock": "lock.json"}, root=tmp_path)
    assert (spec.problems, spec.has_lock, dict(spec.digests)) == ((), lock is not None, lock or {})


def test_a_key_without_a_value_is_a_mistake_only_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`infra plan` works before any key exists; the program does not."""
    monkeypatch.setattr(load, "clone_root", lambda: tmp_path)
    sections = changed({"keys/team": {"tenant": "team", "tier": "standard", "secret_file": "none"}})
    assert read({"keys/team": sections["keys"]["team"]}).problems == ()
    (problem,) = from_pulumi("test", _pulumi(sections)).problems
    assert re.match(r"keys\.team: secret_file 'none' — cannot be read \(No such file or directory\); write", problem)


@pytest.mark.parametrize("where", ["spec", "environment"])
def test_a_missing_kubeconfig_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The message says how to get one."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "other"))
    spec = read({"cluster/kubeconfig": "config"} if where == "spec" else {}, root=tmp_path)
    with pytest.raises(ConfigError, match=r"there is no kubeconfig at .*(config|other)'; start the cluster"):
        kubeconfig_path(spec)


def test_the_specs_kubeconfig_goes_before_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack that names its cluster reaches that one, whatever shell it runs in."""
    for name in ("mine", "other"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'other'}:/elsewhere")
    assert kubeconfig_path(read({"cluster/kubeconfig": "mine"}, root=tmp_path)) == tmp_path / "mine"
    assert kubeconfig_path(read(root=tmp_path)) == tmp_path / "other"


def test_a_typo_in_a_pool_hides_no_mistake_of_its_models(tmp_path: Path) -> None:
    """What refers to a mistaken entry is judged by the keys of it that are right."""
    text = yaml.safe_load((clone_root() / "stacks/Pulumi.lab.yaml").read_text())
    text["config"]["railwright:pools"]["b300"]["fabrik"] = "roce"
    text["config"]["railwright:models"]["llama-405b"] |= {"tensor_parallel": 2, "image": "docker.io/x/y:v1"}
    path = tmp_path / "Pulumi.test.yaml"
    path.write_text(yaml.safe_dump(text))
    spec = from_file(path)
    assert spec.problems == ("pools.b300.fabrik: no such key; did you mean 'fabric'?",)
    assert spec.stack is not None
    assert [item.id for item in build(spec, spec.stack).refusals] == ["RW-101", "RW-402"]


def test_a_price_of_a_day_to_come_is_a_mistake() -> None:
    """Nobody knows it yet; a table dated 2999 was taken."""
    price = {"usd_per_gpu_hour": 2.5, "as_of": "2999-01-01", "source": "our contract"}
    assert [problem.split(",")[0] for problem in read({"prices": {"hgx-h200": price}}).problems] == [
        "prices.hgx-h200.as_of: 2999-01-01"
    ]
