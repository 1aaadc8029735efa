"""Numbers as people read them."""

from __future__ import annotations

from infra.plan.dashboards.board import Unit

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_AFTER = {"requests/s": "/s", "tokens/s": " tokens/s", "1/s": "/s", "°C": " °C", "W": " W", "days": " d"}
"""What follows a number of a unit; counts and codes have nothing."""


def shown(value: float, unit: Unit) -> str:
    """One value with its unit."""
    match unit:
        case "ratio":
            return f"{_short(value * 100)} %"
        case "seconds":
            return _seconds(value)
        case "bytes" | "bytes/s":
            return _bytes(value) + ("/s" if unit == "bytes/s" else "")
        case "USD":
            return f"${_short(value)}"
        case "bool":
            return "yes" if value else "no"
        case _:
            return _short(value) + _AFTER.get(unit, "")


def _short(value: float) -> str:
    """Three digits that count, without an exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size < 0.001:
        return f"{value:.0e}"
    text = f"{value:.{1 if size >= 10 else 2 if size >= 1 else 3}f}"
    return text.rstrip("0").rstrip(".")


def _seconds(value: float) -> str:
    size = abs(value)
    if size and size < 0.0001:
        return f"{_short(value * 1e6)} µs"
    if size and size < 1:
        return f"{_short(value * 1000)} ms"
    return f"{_short(value)} s"


def _bytes(value: float) -> str:
    power = 0
    while abs(value) >= 1024 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{_short(value)} {_BINARY[power]}"
