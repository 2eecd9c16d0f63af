"""Lines with a band between the seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.paper.report.section import Picture
from experiments.paper.report.style import colours, dashes, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """Values over an axis, for each seed."""

    x: Sequence[float]
    seeds: Sequence[Sequence[float]]
    """Values at each x, by seed; nan where there is none."""


@dataclass(frozen=True)
class Panel:
    """Lines and single points on the same axes."""

    title: str
    x_label: str
    lines: Mapping[str, Line]
    points: Mapping[str, Sequence[tuple[float, float]]]
    """Methods without a line: x and value of each seed."""
    log_x: bool = False
    base: float | None = 1.0
    """Value of a thin horizontal line, such as 1 for ratios; None draws none."""


_LEGEND_LETTERS = 130
"""Letters in a picture's width; a name takes its own, and six for its line."""


def line_panels(name: str, alt: str, panels: Sequence[Panel], y_label: str) -> Picture:
    """Draws panels side by side with one legend.

    Args:
        name: Name of the picture.
        alt: Description.
        panels: The panels.
        y_label: Label of the axis that they share.
    """
    names = list(dict.fromkeys(key for panel in panels for key in (*panel.lines, *panel.points)))
    columns = max(1, min(len(names), _LEGEND_LETTERS // (max(map(len, names), default=1) + 6)))

    def draw(figure: "Figure") -> None:
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(all_axes, panels, strict=True):
            _panel(axes, panel, names)
        all_axes[0].set_ylabel(y_label)
        handles = {
            label: handle
            for axes in all_axes
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside upper center",
            ncols=columns,
        )

    return picture(name, alt, 4.2 + 0.22 * ((len(names) - 1) // columns), draw)


def _panel(axes: "Axes", panel: Panel, names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    colour, dash = colours(names), dashes(names)
    for name, line in panel.lines.items():
        values = np.array(line.seeds, dtype=float)
        # A column of nan alone is a budget that no seed has a value at.
        there = ~np.isnan(values).all(axis=0)
        x, values = np.array(line.x)[there], values[:, there]
        axes.plot(x, np.nanmean(values, axis=0), dash[name], color=colour[name], label=name)
        if len(values) > 1:
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
            axes.fill_between(x, low, high, color=colour[name], alpha=0.18, linewidth=0)
    for name, points in panel.points.items():
        axes.plot(
            [x for x, _ in points], [y for _, y in points], "D", color=colour[name], label=name
        )
    if panel.base is not None:
        axes.axhline(panel.base, color="black", linewidth=0.8)
    if panel.log_x:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.grid(alpha=0.3)
