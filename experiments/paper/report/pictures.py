"""Pictures: bars with a dot for each seed, lines with a band between the seeds, and their style."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.evaluate.picture import GREY, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito, Color Universal Design (2008), without the yellow, which is lost on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", GREY)
_OWN = ("GNN", "op counts")
_DASHES = ("-", "--", ":", "-.")
Values = Mapping[str, Sequence[float]]
"""Values of the seeds, by the name of the bar."""
_DOTS: Any = {
    "marker": "o",
    "color": "black",
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "markersize": 4.5,
    "linestyle": "none",
    "zorder": 3,
}
_LABELS = 12  # largest number of bars beside each other that have their values written
_TICKS = 10
"""Intervals of the value axes of panels side by side, together."""
_TITLE_WIDTH = 14
"""Letters in a line of a panel's title: five panels stand side by side."""
_LEGEND_LETTERS = 130
"""Letters in a picture's width; a name takes its own, and six for its line."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """Returns a colour for each name; the GNN and the op-count agent always have the same."""
    return {name: _COLOURS[n % len(_COLOURS)] for name, n in _numbered(names).items()}


def row_colours(names: Iterable[str]) -> dict[str, str]:
    """Returns a colour for each row of a labelled chart; the project's own agents stand out."""
    numbers = _numbered(names)
    others = GREY if min(numbers.values(), default=0) < len(_OWN) else _COLOURS[0]
    return {name: _COLOURS[n] if n < len(_OWN) else others for name, n in numbers.items()}


def dashes(names: Iterable[str]) -> dict[str, str]:
    """Returns a line style for each name; names of the same colour have different styles."""
    return {
        name: _DASHES[n // len(_COLOURS) % len(_DASHES)] for name, n in _numbered(names).items()
    }


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Returns a number for each name; the first two are kept for the project's own agents."""
    names = list(names)
    own: dict[str, int] = {}
    for number, agent in enumerate(_OWN):
        variants = [n for n in names if n.startswith(agent) or n == f"PPO ({agent})"]
        # Of several the plain one: variants have more in their names.
        own |= dict.fromkeys(sorted(variants, key=len)[:1], number)
    others = [name for name in names if name not in own]
    own |= {name: number for number, name in enumerate(others, start=len(_OWN))}
    return {name: own[name] for name in names}


def seed_bars(name: str, alt: str, panels: Mapping[str, Values], base: float = 1.0) -> Picture:
    """Draws panels side by side, each with horizontal bars to the mean and dots for seeds.

    Args:
        name: Name of the picture.
        alt: Description.
        panels: Values by title of the panel; all panels have the bars of the first.
        base: Value at which bars begin, such as 1 for ratios.
    """
    names = list(next(iter(panels.values())))

    def draw(figure: "Figure") -> None:
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
            for place, bar in enumerate(names):
                _bar(axes, place, values.get(bar, ()), row_colours(names)[bar], base)
            axes.axvline(base, color="black", linewidth=0.8)
            axes.set_title(textwrap.fill(title, _TITLE_WIDTH))
            axes.grid(axis="x", alpha=0.3)
            axes.locator_params(axis="x", nbins=max(2, _TICKS // len(panels)), min_n_ticks=1)
            axes.use_sticky_edges = False
            axes.margins(x=0.08)
        all_axes[0].set_yticks(range(len(names)), names)
        all_axes[0].set_ylim(len(names) - 0.5, -0.5)

    return Picture(name, alt, 1.0 + 0.38 * len(names), draw)


def _bar(axes: "Axes", place: int, values: Sequence[float], colour: str, base: float) -> None:
    """Draws a horizontal bar, its dots, and its mean as text."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        right = axes.get_yaxis_transform()
        axes.text(1.01, place, "undefined", transform=right, va="center", fontsize=8)
        return
    mean = math.fsum(defined) / len(defined)
    axes.barh(place, mean - base, left=base, color=colour, height=0.62)
    if len(defined) > 1:
        axes.plot(defined, [place] * len(defined), **_DOTS)
    # In a column beside the panel: at the end of its bar it would cover the panel to the left.
    right = axes.get_yaxis_transform()
    axes.text(1.01, place, f"{mean:.3f}", transform=right, va="center", fontsize=8)


def grouped_bars(
    name: str, alt: str, series: Mapping[str, Values], label: str, base: float = 1.0
) -> Picture:
    """Draws groups of vertical bars, one bar of each series in a group, with dots for seeds.

    Args:
        name: Name of the picture.
        alt: Description.
        series: Values of seeds by group, for each series; a series has one colour.
        label: Label of the value axis.
        base: Value at which bars begin.
    """
    groups = list(dict.fromkeys(group for values in series.values() for group in values))
    width = 0.8 / len(series)

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for number, (title, colour) in enumerate(colours(series).items()):
            shift = (number - (len(series) - 1) / 2) * width
            _standing(axes, groups, series[title], shift, width, title, colour, base)
        axes.axhline(base, color="black", linewidth=0.8)
        axes.set_xticks(range(len(groups)), groups)
        axes.set_ylabel(label)
        axes.grid(axis="y", alpha=0.3)
        axes.use_sticky_edges = False
        axes.margins(y=0.12)
        figure.legend(loc="outside upper center", ncols=min(len(series), 4))

    return Picture(name, alt, 4.0, draw)


def _standing(
    axes: "Axes",
    groups: Sequence[str],
    values: Values,
    shift: float,
    width: float,
    title: str,
    colour: str,
    base: float,
) -> None:
    """Draws the bars of one series at their places in the groups."""
    label: Any = title
    for place, group in enumerate(groups):
        defined = [value for value in values.get(group, ()) if not math.isnan(value)]
        if not defined:
            continue
        mean = math.fsum(defined) / len(defined)
        x = place + shift
        axes.bar(x, mean - base, width * 0.92, bottom=base, color=colour, label=label)
        label = None
        if len(defined) > 1:
            axes.plot([x] * len(defined), defined, **_DOTS)
        if len(groups) * round(0.8 / width) <= _LABELS:
            end = max([*defined, base]) if mean >= base else min([*defined, base])
            axes.annotate(
                f"{mean:.3f}",
                (x, end),
                (0, 3 if mean >= base else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if mean >= base else "top",
                fontsize=8,
            )


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
    steps: bool = False
    """True for values that hold until the next one."""


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

    return Picture(name, alt, 4.2 + 0.22 * ((len(names) - 1) // columns), draw)


def _panel(axes: "Axes", panel: Panel, names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    colour, dash = colours(names), dashes(names)
    for name, line in panel.lines.items():
        values = np.array(line.seeds, dtype=float)
        # A column of nan alone is a budget that no seed has a value at.
        there = ~np.isnan(values).all(axis=0)
        x, values = np.array(line.x)[there], values[:, there]
        style: Any = {"color": colour[name], "label": name}
        style |= {"drawstyle": "steps-post"} if panel.steps else {}
        axes.plot(x, np.nanmean(values, axis=0), dash[name], **style)
        if len(values) > 1:
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
            step = "post" if panel.steps else None
            axes.fill_between(x, low, high, step=step, color=colour[name], alpha=0.18, linewidth=0)
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
