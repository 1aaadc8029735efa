"""``infra rules`` and ``infra dashboards``: what watches a stack, as Prometheus and Grafana read it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.plan.facts import ObservabilityPlan, Plan

WIDTH = 120
"""Width of printed YAML (characters), as of our own files."""


def add_to(verbs: Any) -> None:
    """Add both verbs to a command line."""
    rules = verbs.add_parser("rules", help="recording and alerting rules of a stack file, as Prometheus reads them")
    rules.add_argument("stack_file", type=Path, metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    rules.add_argument("--json", action="store_true", help="print them as JSON instead of YAML")
    rules.set_defaults(run=_rules)
    dashboards = verbs.add_parser("dashboards", help="dashboards of a stack file, as Grafana imports them")
    dashboards.add_argument("stack_file", type=Path, metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    dashboards.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for one JSON file each")
    dashboards.set_defaults(run=_dashboards)


def _rules(options: argparse.Namespace) -> int:
    import yaml

    from infra.plan.rules import rules

    plan, _ = _watched(options.stack_file)
    said = {"groups": rules(plan)}
    print(json.dumps(said, indent=2) if options.json else yaml.safe_dump(said, sort_keys=False, width=WIDTH), end="")
    return 0


def _dashboards(options: argparse.Namespace) -> int:
    from infra.plan.dashboards import BOARDS
    from infra.plan.dashboards.grafana import rendered

    _, seen = _watched(options.stack_file)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for board in BOARDS:
            path = options.out / f"{board.name}.json"
            path.write_text(json.dumps(rendered(board, seen), indent=2, sort_keys=True) + "\n", encoding="utf-8")
            print(path)
    except OSError as error:
        raise ConfigError(f"--out {options.out} — cannot be written ({error}) — name a folder of yours") from error
    return 0


def _watched(path: Path) -> tuple[Plan, ObservabilityPlan]:
    """The plan of a stack file that has monitoring."""
    from infra.cli.stack import planned

    spec, plan = planned(path)
    refused = [*spec.problems, *(str(refusal) for refusal in plan.refusals)] if plan else list(spec.problems)
    if plan and plan.observability is None:
        refused.append("observability: the stack has none or turns it off, so nothing watches it; add it")
    if plan is None or plan.observability is None or refused:
        raise ConfigError(*refused)
    return plan, plan.observability
