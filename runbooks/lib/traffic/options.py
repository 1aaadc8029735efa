"""The profile as options of the command, over those of a profile file, over the defaults; every mistake at once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from infra.errors import ConfigError
from runbooks.engine.options import span
from runbooks.lib.traffic.arrivals import Arrivals
from runbooks.lib.traffic.lengths import SPREADS
from runbooks.lib.traffic.profile import Profile, Tenant, profile_of, read_profile
from runbooks.lib.traffic.tenants import key_from, tenants_of, with_keys

T = TypeVar("T")

RATE, SECONDS = 1.0, 30.0
"""Arrivals per second and time of a run that is told neither."""

VALUES = {
    "url": "base URL, ending in /v1; left out, the gateway of --stack",
    "arrivals": f"{' or '.join(cast(Any, Arrivals).__args__)} (default: poisson)",
    "seed": "the same seed gives the same requests (default: 1)",
    "prompt": f"tokens of a prompt: {SPREADS} (default: 64)",
    "output": "tokens of an answer, written likewise (default: 32)",
    "shared-prefix": "tokens that many prompts have in common at their start (default: 0)",
    "prefixes": "different shared prefixes (default: 1)",
    "stream-share": "share of requests that ask for a stream, 0 to 1 (default: 1)",
    "chat-share": "share of requests to chat/completions instead of completions (default: 1)",
    "abort-share": "share of streams that the client leaves in the middle, on purpose (default: 0)",
    "ca-file": "certificates to trust",
}
"""Options that are one value of the profile, and what they are."""

SPANS = {
    "timeout": "longest that a request may take, such as 60s (default)",
    "gap": "silence within a stream beyond which it is late, such as 5s (default)",
    "first-token": "wait for the first token beyond which an answer is late",
}
"""Options that are spans of time; the profile has them as ``…_seconds``."""

FLAGS = {
    "exact": "ask for exactly the drawn number of output tokens (ignore_eos)",
    "numbered": "ask the engine to number its tokens, so that a doubled or lost one shows (default: yes)",
    "new-connections": "open a connection for each request",
}
"""Options that are yes or no."""


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the profile."""
    group = parser.add_argument_group("the profile")
    group.add_argument("--stack", default="", help="take the gateway and the keys of this stack")
    group.add_argument("--profile", type=Path, metavar="FILE", help="YAML with the same names; options go before it")
    group.add_argument("--model", action="append", default=[], metavar="NAME[=WEIGHT]", help="may be given repeatedly")
    group.add_argument("--rate", default="", help=f"requests per second (default: {RATE:g})")
    group.add_argument("--for", default="", dest="lasts", metavar="SPAN", help=f"how long (default: {SECONDS:g}s)")
    group.add_argument(
        "--segment", action="append", default=[], metavar="RATExSPAN", help="such as 4x10m; one after the other"
    )
    group.add_argument(
        "--key", action="append", default=[], metavar="NAME[=WEIGHT]", help="a key of the stack, by name"
    )
    group.add_argument(
        "--key-file", action="append", default=[], metavar="NAME=PATH", help="a tenant and its key's file"
    )
    for name, told in (VALUES | SPANS).items():
        group.add_argument(f"--{name}", default=None, help=told)
    for name, told in FLAGS.items():
        group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=told)


@dataclass
class _Mistakes:
    """Collects what is wrong, so that all of it is told together."""

    found: list[str]

    def past(self, otherwise: T, step: Callable[..., T], *given: Any) -> T:
        """Take a step; note what is wrong and go on without."""
        try:
            return step(*given)
        except ConfigError as error:
            self.found += error.problems
            return otherwise


def profile_from(args: argparse.Namespace, outputs: Sequence[Path] = ()) -> Profile:
    """Make the profile.

    Raises:
        ConfigError: all that is wrong with it, and with where the report is to go.
    """
    mistakes = _Mistakes([])
    values: dict[str, Any] = mistakes.past({}, read_profile, args.profile) if args.profile else {}
    values |= _given(args, mistakes)
    tenants: list[Any] = mistakes.past([], _tenants, args, values)
    if tenants:
        values["tenants"] = tenants
    if args.stack and "url" not in values:
        values["url"] = mistakes.past("http://unknown/v1", gateway_of, args.stack)
    mistakes.found += [
        f"report {str(path)!r} — its folder is not there — make it, or name another"
        for path in outputs
        if not path.absolute().parent.is_dir()
    ]
    profile = mistakes.past(None, profile_of, values)
    if mistakes.found or profile is None:
        raise ConfigError(*mistakes.found)
    return profile


def _given(args: argparse.Namespace, mistakes: _Mistakes) -> dict[str, Any]:
    """What the command line says, by the profile's names."""
    given: dict[str, Any] = {}
    for name in (*VALUES, *FLAGS):
        field = name.replace("-", "_")
        if (value := getattr(args, field)) is not None:
            given[field] = value
    for name in SPANS:
        field = name.replace("-", "_")
        if (text := getattr(args, field)) is not None:
            given[f"{field}_seconds"] = mistakes.past(1.0, _span, f"--{name}", text)
    if args.model:
        given["models"] = _weights(args.model)
    segments = [mistakes.past({"rate": RATE}, _segment, text) for text in args.segment]
    if segments or args.rate or args.lasts or not args.profile:
        lasts = mistakes.past(SECONDS, _span, "--for", args.lasts) if args.lasts else SECONDS
        given["segments"] = segments or [{"rate": args.rate or RATE, "seconds": lasts}]
    return given


def _span(option: str, text: str) -> float:
    try:
        return span(text).total_seconds()
    except ValueError as error:
        raise ConfigError(f"{option} {text!r} — is no span of time — write it like 500ms, 30s or 10m") from error


def _segment(text: str) -> dict[str, Any]:
    rate, cross, lasts = text.partition("x")
    if not cross:
        raise ConfigError(f"--segment {text!r} — is no rate for a time — write it like 4x10m")
    return {"rate": rate, "seconds": _span("--segment", lasts)}


def _weights(given: Sequence[str]) -> dict[str, Any]:
    return {name: weight or 1.0 for name, _, weight in (entry.partition("=") for entry in given)}


def _tenants(args: argparse.Namespace, values: Mapping[str, Any]) -> list[Any]:
    """Whose keys are used: those of the profile's file, or of the stack, or of single files."""
    files = {name: Path(path) for name, _, path in (entry.partition("=") for entry in args.key_file)}
    if values.get("tenants"):
        return with_keys(values["tenants"])
    if args.stack:
        shares = _shares(args.key)
        found = tenants_of(args.stack, shares, files)
        asked = set(values.get("models", ()))
        return [tenant for tenant in found if shares or not tenant.models or asked & set(tenant.models)]
    return [Tenant(name=name, key=key_from(path)) for name, path in files.items()]


def _shares(given: Sequence[str]) -> dict[str, float]:
    try:
        return {name: float(weight) for name, weight in _weights(given).items()}
    except ValueError as error:
        raise ConfigError(f"--key {' '.join(given)} — {error} — write it like research or research=2") from error


def gateway_of(stack: str) -> str:
    """The address of a stack's gateway; the clients of runbooks find it, and only read for that."""
    from runbooks.lib.clients import Clients

    return Clients(cast(Any, SimpleNamespace(stack=stack, may_write=False))).gateway.url
