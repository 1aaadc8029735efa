"""``infra``: what a stack comes down to, told without Pulumi and without touching anything."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.plan.facts import ObservabilityPlan, Plan

EXIT_REFUSED = 2
"""The spec is wrong or refused; nothing was touched."""

WIDTH = 120
"""Width of printed YAML (characters), as of our own files."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 when the plan holds, 2 when something is refused."""
    parser = argparse.ArgumentParser(prog="infra", description="Plan LLM inference clusters from one typed spec.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    plan = verbs.add_parser("plan", help="pools, models, memory, placement and every refusal of a stack file")
    plan.add_argument("stack_file", type=Path, metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    plan.add_argument("--json", action="store_true", help="print the plan as JSON")
    rules = verbs.add_parser("rules", help="recording and alerting rules of a stack file, as Prometheus reads them")
    rules.add_argument("stack_file", type=Path, metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    rules.add_argument("--json", action="store_true", help="print them as JSON instead of YAML")
    dashboards = verbs.add_parser("dashboards", help="dashboards of a stack file, as Grafana imports them")
    dashboards.add_argument("stack_file", type=Path, metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    dashboards.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for one JSON file each")
    options = parser.parse_args(argv)
    verb = {"plan": _plan, "rules": _rules, "dashboards": _dashboards}[options.verb]
    try:
        return verb(options)
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return EXIT_REFUSED


def _plan(options: argparse.Namespace) -> int:
    from infra.config.load import from_file
    from infra.plan.build import build

    spec = from_file(options.stack_file)
    plan = build(spec, spec.stack) if spec.stack else None
    refused = [*spec.problems, *(str(refusal) for refusal in plan.refusals)] if plan else list(spec.problems)
    if options.json:
        shown = {"stack": spec.name, "problems": refused, "plan": asdict(plan) if plan else None}
        print(json.dumps(shown, indent=2, default=_plain))
    else:
        from infra.screen import show

        show(spec.name, str(options.stack_file), plan, refused)
    return EXIT_REFUSED if refused else 0


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
    from infra.config.load import from_file
    from infra.plan.build import build

    spec = from_file(path)
    plan = build(spec, spec.stack) if spec.stack else None
    refused = [*spec.problems, *(str(refusal) for refusal in plan.refusals)] if plan else list(spec.problems)
    if plan and plan.observability is None:
        refused.append("observability: the stack has none or turns it off, so nothing watches it; add it")
    if plan is None or plan.observability is None or refused:
        raise ConfigError(*refused)
    return plan, plan.observability


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


if __name__ == "__main__":
    sys.exit(main())
