"""Outside judges of what is rendered: kubeconform with schemas of the API server and of kinds, and kube-score."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.contracts.definitions import FOLDER, strict
from tests.tools import built, module

REPO = Path(__file__).resolve().parents[2]
Manifest = dict[str, Any]

SWAGGER = "api/openapi-spec/swagger.json"
"""What the API server publishes of its own kinds, in its module."""
KINDS = (FOLDER, REPO / "infra/components/crds", REPO / "lab/fleet")
"""Folders with definitions of custom kinds."""
_START = "#/definitions/"


@dataclass(frozen=True, slots=True)
class Objection:
    """What a judge says against one object."""

    kind: str
    name: str
    check: str
    said: str


def manifests(graph: Mapping[str, Any]) -> list[Manifest]:
    """The Kubernetes objects of a recorded stack; labels for hosts that are there are no objects of their own."""
    found = []
    for item in graph["resources"]:
        inputs = {key: value for key, value in item["inputs"].items() if value != "[secret]"}
        if item["type"].startswith("kubernetes:") and inputs.get("kind") and not item["type"].endswith("Patch"):
            found.append(inputs)
    return found


def schemas(folder: Path) -> Path:
    """Write one JSON schema per kind, in which every unknown field is a mistake; give the pattern of their names."""
    for name, schema in {**_of_the_server(), **_of_kinds()}.items():
        (folder / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")
    return folder / "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json"


def kubeconform(objects: Sequence[Manifest], schema: Path) -> list[Objection]:
    """Fields that a kind does not have, or of another type; a kind without schema is a mistake too."""
    command = [built("kubeconform"), "-strict", "-schema-location", str(schema), "-output", "json", "-"]
    said = json.loads(_run(command, objects))
    return [
        Objection(item["kind"], item["name"], item["status"], item["msg"])
        for item in said["resources"]
        if item["status"] != "statusValid"
    ]


def kube_score(objects: Sequence[Manifest], kubernetes: str) -> list[Objection]:
    """Everything that is not as kube-score would have it, warnings too.

    Args:
        kubernetes: version of the cluster, such as ``1.36``.
    """
    command = [built("kube-score"), "score", "--output-format", "json", "--kubernetes-version", f"v{kubernetes}", "-"]
    return list(_below(json.loads(_run(command, objects))))


def _run(command: list[str], objects: Iterable[Manifest]) -> str:
    # JSON is YAML too, and written many times as fast.
    text = "\n---\n".join(json.dumps(item) for item in objects)
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout.startswith(("{", "[")), ended.stderr or ended.stdout
    return ended.stdout


def _below(scored: Iterable[Mapping[str, Any]]) -> Iterator[Objection]:
    for item in scored:
        kind, name = item["type_meta"]["kind"], item["object_meta"]["name"]
        for check in item["checks"]:
            if check["grade"] < 10 and not check["skipped"]:
                for note in check["comments"] or ({"path": "", "summary": ""},):
                    yield Objection(kind, name, check["check"]["id"], f"{note['path']}: {note['summary']}")


def _of_the_server() -> dict[str, Manifest]:
    """Schemas of the kinds that Kubernetes brings along, each with all that it refers to."""
    swagger = (module("kubernetes", "k8s.io/kubernetes") / SWAGGER).read_text(encoding="utf-8")
    parts = {name: strict(_as_taken(part)) for name, part in json.loads(swagger)["definitions"].items()}
    found = {}
    for part in parts.values():
        for kind in part.get("x-kubernetes-group-version-kind", ()):
            needed = {name: parts[name] for name in sorted(_needed(part, parts))}
            found[_name(kind["kind"], kind["group"], kind["version"])] = {**part, "definitions": needed}
    return found


def _of_kinds() -> dict[str, Manifest]:
    """Schemas of custom kinds, from their definitions."""
    found = {}
    for path in sorted(path for folder in KINDS for path in folder.rglob("*.yaml")):
        spec = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]
        for version in spec["versions"]:
            schema = strict(_as_taken(version["schema"]["openAPIV3Schema"]))
            own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
            schema["properties"] = {**schema["properties"], **own}
            found[_name(spec["names"]["kind"], spec["group"], version["name"])] = schema
    return found


def _name(kind: str, group: str, version: str) -> str:
    """As kubeconform fills in the pattern: the group of what has none is its version."""
    return f"{kind.lower()}-{group or version}-{version}"


def _as_taken(schema: Any) -> Any:
    """A schema that says what the API server takes: a number where a quantity or a port may be one."""
    if isinstance(schema, list):
        return [_as_taken(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string") is True:
        return {"type": ["integer", "string"]}
    return {key: _as_taken(value) for key, value in schema.items()}


def _needed(schema: Any, parts: Mapping[str, Any]) -> set[str]:
    """Names of all definitions that a schema leads to."""
    found: set[str] = set()
    todo = _references(schema)
    while todo:
        name = todo.pop()
        found.add(name)
        todo |= _references(parts[name]) - found
    return found


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for part in schema for name in _references(part)}
    if not isinstance(schema, dict):
        return set()
    own = schema.get("$ref")
    inner = {name for value in schema.values() for name in _references(value)}
    return inner | ({own.removeprefix(_START)} if isinstance(own, str) else set())
