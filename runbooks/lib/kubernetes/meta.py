"""Labels and annotations, which every object has: choose by them, and set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from infra.errors import CheckError
from runbooks.lib.kubernetes.api import MERGE, Api, Object
from runbooks.lib.writing import may

if TYPE_CHECKING:
    from runbooks.engine.context import Context


def selector(labels: Mapping[str, str]) -> str:
    """Labels as the API takes them to choose by."""
    return ",".join(f"{key}={value}" for key, value in labels.items())


def patch(ctx: Context, api: Api, who: str, path: str, part: str, values: Mapping[str, str | None]) -> None:
    """Set labels or annotations of an object, and see that they are there.

    Args:
        part: ``labels`` or ``annotations``.
        values: None removes one.
    """
    shown = ", ".join(f"{key}={value}" if value is not None else f"{key} removed" for key, value in values.items())
    if not may(ctx, f"set {part} of {who}: {shown}"):
        return
    api.send("PATCH", path, {"metadata": {part: dict(values)}}, media=MERGE)
    check(who, api.ask(path), part, values)


def check(who: str, found: Object, part: str, values: Mapping[str, str | None]) -> None:
    """See that an object has what was written.

    Raises:
        CheckError: it has something else.
    """
    live = found["metadata"].get(part, {})
    for key, value in values.items():
        if live.get(key) != value:
            reason = f"{part} {key!r} was set to {value!r} and is {live.get(key)!r}"
            raise CheckError(f"{who} — {reason} — see who else writes it")
