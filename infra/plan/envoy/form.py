"""How Envoy's JSON form spells an extension, a condition, a duration and an address."""

from __future__ import annotations

from datetime import timedelta
from typing import Any


def extension(name: str, message: str, **fields: Any) -> dict[str, Any]:
    """Name an extension and give it its configuration, whose message type is ``message``."""
    return {"name": name, "typed_config": {"@type": f"type.googleapis.com/{message}"} | fields}


def when(expression: str) -> dict[str, Any]:
    """Log only what an expression in CEL holds for."""
    message = "envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter"
    return {"extension_filter": extension("cel", message, expression=expression)}


def seconds(span: timedelta) -> str:
    """Print a duration, such as ``600s``."""
    return f"{span.total_seconds():g}s"


def socket(host: str, port: int) -> dict[str, Any]:
    """Print a TCP address."""
    return {"socket_address": {"address": host, "port_value": port}}
