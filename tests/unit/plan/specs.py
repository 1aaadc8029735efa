"""A small valid stack as plain data, and one change to it at a time."""

from __future__ import annotations

import copy
from datetime import date
from pathlib import Path
from typing import Any

from infra.config.load import parse
from infra.config.stack import Spec
from infra.plan.build import build
from infra.plan.facts import ModelPlan, Plan

DIGEST = "sha256:" + "a" * 64
IMAGE = f"docker.io/vllm/vllm-openai@{DIGEST}"
NOWHERE = Path("/nowhere")
"""A clone without an image lock."""

TODAY = date(2026, 12, 1)
"""Day on which scores of tests are read."""

Sections = dict[str, Any]

STACK: Sections = {
    "cluster": {"name": "prod", "target": "baremetal"},
    "pools": {
        "gpus": {
            "board": "hgx-h100",
            "hosts": 4,
            "fabric": "roce",
            "hosts_per_leaf": 2,
            "labels": {"row": "a"},
            "network": {"subnet": "10.128.0.0/16"},
        }
    },
    "models": {
        "chat": {
            "architecture": "meta-llama/Llama-3.1-8B-Instruct",
            "engine_version": "0.32.0",
            "image": IMAGE,
            "pool": "gpus",
            "replicas": 2,
            "max_model_len": 8192,
            "weights": {"host_path": "/weights/chat"},
        }
    },
    "gateway": {"image": IMAGE},
    "charts": {"network-operator": {"sha256": "a" * 64}},
    "keys": {"team": {"tenant": "team", "tier": "standard", "secret": "0123456789abcdef0123456789abcdef"}},
}
"""On target ``baremetal``: one pool of 4 HGX H100 hosts, one model of 2 replicas."""

LAB: Sections = {
    **STACK,
    "cluster": {"name": "lab", "target": "lab"},
    "pools": {"host": {"board": "lab-host", "hosts": 1}},
    "models": {
        "tiny": {
            "architecture": "tiny",
            "shape": {
                "layers": 2,
                "hidden": 128,
                "heads": 4,
                "kv_heads": 2,
                "head_dim": 32,
                "intermediate": 512,
                "vocab": 8192,
                "max_context": 32768,
            },
            "engine_version": "0.32.0",
            "image": IMAGE,
            "pool": "host",
            "replicas": 1,
            "max_model_len": 8192,
            "kv_cache_gib": 1,
            "weights": {"host_path": "models/tiny"},
        }
    },
}
"""On target ``lab``: its one host without GPUs, one tiny model."""

DROP = "(absent)"
"""As a value: take the key away."""


def changed(changes: dict[str, Any], base: Sections = STACK) -> Sections:
    """Copy a stack with some keys set, such as ``{"models/chat/replicas": 3}``."""
    sections = copy.deepcopy(base)
    for path, value in changes.items():
        *parents, last = path.split("/")
        inner = sections
        for parent in parents:
            inner = inner.setdefault(parent, {})
        if value == DROP:
            del inner[last]
        else:
            inner[last] = value
    return sections


def read(changes: dict[str, Any] | None = None, base: Sections = STACK, root: Path = NOWHERE) -> Spec:
    """Read a changed stack as the program would."""
    return parse("test", changed(changes or {}, base), root, TODAY)


def plan_of(changes: dict[str, Any] | None = None, base: Sections = STACK, root: Path = NOWHERE) -> Plan:
    """Plan a changed stack, whose form must be right."""
    spec = read(changes, base, root)
    assert spec.problems == (), spec.problems
    assert spec.stack is not None
    return build(spec, spec.stack)


def model_of(changes: dict[str, Any] | None = None, base: Sections = STACK) -> ModelPlan:
    """Plan the first model of a changed stack."""
    return plan_of(changes, base).models[0]


def all_said(changes: dict[str, Any], base: Sections = STACK) -> list[str]:
    """Every sentence a user would read: mistakes, then refusals."""
    spec = read(changes, base)
    refusals = build(spec, spec.stack).refusals if spec.stack else ()
    return [*spec.problems, *(str(refusal) for refusal in refusals)]
