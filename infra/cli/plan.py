"""``infra plan``: a stack, one of its models, or one model alone; as a screen, as JSON, as a report or a difference."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli import single, stack
from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.config.stack import Spec
    from infra.plan.facts import ModelPlan, Plan
    from infra.plan.outlook import Outlook

EXIT_REFUSED = 2
"""Something is refused; nothing was touched."""

EXIT_UNKNOWN = 4
"""All that is refused is what cannot be told from here."""


def add_to(verbs: Any) -> None:
    """Add the verb to a command line."""
    parser = verbs.add_parser(
        "plan",
        help="pools, models, memory, speed, cost and every refusal of a stack file, or of one model",
        description="With STACKFILE: the stack, or with --model one of its models. Without: --model and --gpu. "
        "Exit code 0: it holds, 2: something is refused, 4: cannot tell.",
    )
    parser.add_argument("stack_file", type=Path, nargs="?", metavar="STACKFILE", help="such as stacks/Pulumi.lab.yaml")
    parser.add_argument("--model", metavar="MODEL", help="model of the stack; without one a checkpoint or config.json")
    parser.add_argument("--diff", type=Path, nargs=2, metavar=("A", "B"), help="what changes from stack A to stack B")
    parser.add_argument("--json", action="store_true", help="print it as JSON (docs/plan.schema.json)")
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of --json and do nothing else")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write a report with plots into a folder")
    load = parser.add_argument_group("load of one model without a stack file")
    load.add_argument("--prompt", metavar="TOKENS", help="prompt of a request (1024)")
    load.add_argument("--output", metavar="TOKENS", help="answer to it (1024)")
    load.add_argument("--concurrency", metavar="N", help="requests at once (16)")
    load.add_argument("--usd-per-gpu-hour", metavar="USD", help="what you pay (a public reference)")
    single.add_to(parser)
    parser.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> int:
    if options.schema:
        from infra.document.plan import schema

        print(json.dumps(schema(), indent=2, ensure_ascii=False))
        return 0
    if options.diff:
        return _diff(options)
    if options.stack_file:
        return _of_stack(options)
    if options.model:
        return _alone(options)
    raise ConfigError("infra plan — was given nothing to plan; give a STACKFILE, or --model and --gpu, or --diff A B")


def _of_stack(options: argparse.Namespace) -> int:
    single.alone(options)
    spec, plan = stack.planned(options.stack_file)
    refused = stack.refused(spec, plan)
    if options.model:
        _of_model(options, stack.model_in(options.stack_file, spec, plan, options.model), refused)
    elif options.json:
        from infra.document.write import stack_document

        print(stack_document(spec.name, plan, refused).model_dump_json(indent=2))
    else:
        from infra.screen.stack import show

        show(spec.name, str(options.stack_file), plan, refused)
    if options.report and plan and not options.model:
        from infra.plan.outlook import outlook_of

        _report(options, spec.name, [outlook_of(item, refused) for item in plan.models])
    return _code(spec, plan)


def _of_model(options: argparse.Namespace, item: ModelPlan, refused: list[str]) -> None:
    """Tell of one model of a stack, and that there is more to fix where there is."""
    from infra.plan.outlook import names, outlook_of

    _told(options, outlook_of(item, refused))
    if others := sum(not names(problem, item.name) for problem in refused):
        print(f"its stack has {others} more to fix; infra plan {options.stack_file} tells", file=sys.stderr)


def _code(spec: Spec, plan: Plan | None) -> int:
    """Exit code of a stack: what only cannot be told is no mistake of anyone."""
    refusals = plan.refusals if plan else ()
    if not spec.problems and refusals and all(refusal.is_unknown for refusal in refusals):
        return EXIT_UNKNOWN
    return EXIT_REFUSED if spec.problems or refusals else 0


def _alone(options: argparse.Namespace) -> int:
    from infra.catalog.prices import REFERENCES, Price
    from infra.plan.outlook import Asked, outlook

    replica = single.single_of(options)
    asked = Asked(options.prompt, options.output, options.concurrency)
    paid, gpu = options.usd_per_gpu_hour, replica.gpu
    reference = REFERENCES.get(gpu.name) if gpu else None
    price = Price(paid, "--usd-per-gpu-hour", "", "the command line") if paid else reference
    return _told(options, outlook(replica, asked, price))


def _told(options: argparse.Namespace, outlook: Outlook) -> int:
    """Tell of one model."""
    if options.json:
        from infra.document.write import single_document

        print(single_document(outlook).model_dump_json(indent=2))
    else:
        from rich.console import Console

        from infra.screen.model import show

        show(Console(highlight=False), outlook)
    if options.report:
        _report(options, outlook.single.name, [outlook])
    return EXIT_REFUSED if outlook.problems else 0


def _diff(options: argparse.Namespace) -> int:
    from infra.plan.diff import difference

    _only_diff(options)
    specs, plans, problems = [], [], []
    for path in options.diff:
        spec, plan = stack.planned(path)
        problems += [f"{path}: {problem}" for problem in spec.problems]
        if plan is None:
            raise ConfigError(*problems)
        specs.append(spec)
        plans.append(plan)
    before, after = (str(path) for path in options.diff)
    changes = difference(*plans)
    if options.json:
        from infra.document.write import diff_document

        print(diff_document(before, after, changes).model_dump_json(indent=2))
    else:
        from infra.screen.console import wide_console
        from infra.screen.diff import show

        show(wide_console(), before, after, changes)
    # A stack that is refused already is where one starts from; that the other one is refused is the answer.
    for problem in (*problems, *(f"{after}: {refusal}" for refusal in plans[1].refusals)):
        print(problem, file=sys.stderr)
    return EXIT_REFUSED if problems else _code(specs[1], plans[1])


def _only_diff(options: argparse.Namespace) -> None:
    """Refuse what a difference of two stacks has no use for, so that nobody believes it was heeded."""
    given = [name for name in ("model", "report", "stack_file") if getattr(options, name)]
    if given:
        told = " and ".join("STACKFILE" if name == "stack_file" else f"--{name}" for name in given)
        raise ConfigError(f"{told} — of no use beside --diff, which tells all of two stack files; drop it")
    single.alone(options)


def _report(options: argparse.Namespace, title: str, outlooks: list[Outlook]) -> None:
    from infra.report.write import write

    for path in write(options.report, title, outlooks):
        # What --json prints is one document and nothing else.
        print(path, file=sys.stderr if options.json else sys.stdout)
