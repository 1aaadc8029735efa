"""The three plots of a report, as SVG that is the same for the same plan."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.plan.outlook import Outlook
from infra.report.curves import Points, cost_by_load, held_by_length
from infra.screen.bar import parts
from infra.units import GIB

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {
    "weights": "#3b6fb6",
    "activation": "#a65ea6",
    "outside PyTorch": "#d6a92c",
    "CUDA graphs": "#4aa5b5",
    "KV cache": "#4f9e58",
    "kept back": "#d9d9d9",
}
"""Colour of each part of a rank's memory, as on the screen."""

WIDTH_INCHES = 8.0
"""Width of every plot (inches)."""


def memory_plot(outlooks: list[Outlook], path: Path) -> None:
    """Draw where the memory of a rank goes, a bar for each model."""
    figure, axes = _axes(1.6 + 0.5 * len(outlooks))
    seen: set[str] = set()
    for row, outlook in enumerate(outlooks):
        left = 0.0
        for part in parts(outlook.memory):
            label = part.name if part.name not in seen else None
            seen.add(part.name)
            size = part.size / GIB
            axes.barh(row, size, left=left, color=COLOURS[part.name], label=label)
            left += size
    axes.set_yticks(range(len(outlooks)), [outlook.single.name for outlook in outlooks])
    axes.invert_yaxis()
    axes.set_xlabel("memory of a rank (GiB)")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    _save(figure, path)


def held_plot(outlooks: list[Outlook], path: Path) -> bool:
    """Draw how many requests fit at once against their length; False when no model holds any."""
    return _lines(
        ((outlook.single.name, held_by_length(outlook)) for outlook in outlooks),
        path,
        across="length of a request (tokens)",
        up="requests at once on a rank",
    )


def cost_plot(outlooks: list[Outlook], path: Path) -> bool:
    """Draw what a million answered tokens costs against the load; False when no model has both speed and price."""
    return _lines(
        ((outlook.single.name, cost_by_load(outlook)) for outlook in outlooks),
        path,
        across="requests at once on a replica",
        up="US dollars per million tokens answered",
    )


def _lines(curves: Iterable[tuple[str, Points]], path: Path, *, across: str, up: str) -> bool:
    drawn = [(name, points) for name, points in curves if points]
    if not drawn:
        return False
    figure, axes = _axes(4.5)
    for name, points in drawn:
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    # Powers of two and ten would make people count.
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    _save(figure, path)
    return True


def _axes(height_inches: float) -> tuple[Any, Axes]:
    # Here, because it takes half a second that no other command has to wait for.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    return figure, figure.subplots()


def _save(figure: Any, path: Path) -> None:
    import matplotlib as mpl

    # Ids and a date would differ from run to run.
    with mpl.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
