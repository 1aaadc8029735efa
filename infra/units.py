"""Sizes and their names: bytes in, one way of printing them out."""

from __future__ import annotations

MIB = 1024**2
"""Bytes in one MiB. Source: IEC 80000-13."""
GIB = 1024**3
"""Bytes in one GiB. Source: IEC 80000-13."""
GB = 10**9
"""Bytes in one GB, as disks, links and model cards count. Source: SI."""


def ceil_div(value: int, by: int) -> int:
    """Divide and round up, in whole numbers."""
    return -(-value // by)


def gib(size: float) -> str:
    """Print bytes as GiB with one decimal, such as ``88.3 GiB``."""
    return f"{size / GIB:,.1f} GiB"


def duration(seconds: float) -> str:
    """Print seconds as people say them, such as ``45 s``, ``12 min`` or ``1 h 05 min``."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    hours, minutes = divmod(ceil_div(whole, 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
