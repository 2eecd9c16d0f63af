"""Bar charts with a dot for each seed."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.paper.report.section import Picture
from experiments.paper.report.style import colours, picture, row_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
            axes.set_title(title)
            axes.grid(axis="x", alpha=0.3)
            axes.use_sticky_edges = False
            axes.margins(x=0.08)
        all_axes[0].set_yticks(range(len(names)), names)
        all_axes[0].set_ylim(len(names) - 0.5, -0.5)

    return picture(name, alt, 1.0 + 0.38 * len(names), draw)


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

    return picture(name, alt, 4.0, draw)


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
