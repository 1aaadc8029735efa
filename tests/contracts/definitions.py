"""Published definitions of custom resources as a strict judge: what they do not name is a mistake."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

FOLDER = Path(__file__).parent / "crds"


@cache
def _definitions() -> dict[tuple[str, str], dict[str, Any]]:
    """Schema by apiVersion and kind."""
    found = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        spec = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]
        for version in spec["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}
            found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = {**schema, "x-scope": spec["scope"]}
    return found


def strict(schema: Any) -> Any:
    """An API server drops what a schema does not name; here it is refused."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and not made.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def mistakes(manifest: dict[str, Any]) -> list[str]:
    """What the definition of its kind says against an object; one of a kind without definition is a mistake too."""
    schema = _definitions().get((manifest["apiVersion"], manifest["kind"]))
    if schema is None:
        return [f"no definition of {manifest['apiVersion']} {manifest['kind']}"]
    errors = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    said = [f"{'.'.join(str(step) for step in error.absolute_path)}: {error.message}" for error in errors]
    if (schema["x-scope"] == "Namespaced") != ("namespace" in manifest["metadata"]):
        said.append(f"metadata.namespace: the kind is {schema['x-scope']}")
    return said


def is_defined(manifest: dict[str, Any]) -> bool:
    """Whether there is a definition of its kind."""
    return (manifest["apiVersion"], manifest["kind"]) in _definitions()
