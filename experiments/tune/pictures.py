"""Pictures of a run: ratios by program, and what was found by when."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.evaluate.metrics import geometric_mean
from experiments.evaluate.picture import Picture
from experiments.paper.report.pictures import Line, Panel, colours, line_panels
from experiments.tune.page import interval_of
from experiments.tune.results import CurvePoint
from experiments.tune.scores import Scores, best_at
from hlograph.storage.atomic_write import write_bytes_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 120  # of a curve


def write_pictures(scores: Scores, budget: float, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures of a run as SVG.

    Returns:
        File and description of each.
    """
    if not scores.programs:
        return []
    rows = len(scores.programs) * len(scores.competitors)
    bars = Picture(
        "programs",
        "Times as fast as jaxlib's default by program, with 95 % intervals.",
        1.5 + 0.16 * rows,
        lambda figure: _draw_programs(figure, scores),
    )
    pictures = {f"{picture.name}.svg": picture for picture in (bars, _curves(scores, budget))}
    for file, picture in pictures.items():
        write_bytes_atomically(folder / file, picture.svg())
    return [(file, picture.alt) for file, picture in pictures.items()]


def _draw_programs(figure: "Figure", scores: Scores) -> None:
    """Draws a bar for each program and competitor, the fastest programs on top."""
    ratios = {name: scores.by_program(name) for name in scores.competitors}
    programs = sorted(
        scores.programs, key=lambda name: -max(of_name[name] for of_name in ratios.values())
    )
    axes = figure.subplots()
    height = 0.8 / len(ratios)
    for number, (name, colour) in enumerate(colours(ratios).items()):
        places = np.arange(len(programs)) + (number - (len(ratios) - 1) / 2) * height
        values = np.array([ratios[name][program] for program in programs])
        ends = np.array([interval_of(scores, name, program) for program in programs])
        # The mean of seeds may lie beyond the interval of a seed by rounding alone.
        errors = np.maximum([values - ends[:, 0], ends[:, 1] - values], 0.0)
        axes.barh(places, values - 1, height * 0.9, left=1.0, color=colour, label=name)
        axes.errorbar(values, places, xerr=errors, fmt="none", ecolor="black", elinewidth=0.8)
    axes.set_yticks(range(len(programs)), programs, fontsize=7)
    axes.set_ylim(len(programs) - 0.5, -0.5)
    ratio_axis(axes)
    figure.legend(loc="outside upper center", ncols=min(3, len(ratios)))


def ratio_axis(axes: "Axes") -> None:
    """Makes the axis of ratios to jaxlib's default logarithmic, with a line at 1."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("times as fast as jaxlib's default")
    axes.grid(axis="x", alpha=0.3)


def _curves(scores: Scores, budget: float) -> Picture:
    """Returns lines of the geometric mean over programs, with a band between the seeds."""
    plans = max((result.plans for result in scores.results), default=1)
    seconds = np.linspace(0, budget, _POINTS)
    numbers = np.linspace(0, plans, min(_POINTS, plans + 1))
    panels = [
        Panel("", f"{unit} of the race", _lines(scores, places, best), {}, steps=True)
        for unit, places, best in (("seconds", seconds, best_at), ("plans", numbers, _best_of))
    ]
    alt = "Best screening ratio over the seconds and the plans of a race."
    return line_panels("anytime", alt, panels, "best screening ratio, geometric mean")


def _lines(
    scores: Scores, places: np.ndarray, best: Callable[[Sequence[CurvePoint], float], float]
) -> dict[str, Line]:
    lines = {}
    for name in scores.competitors:
        results = scores.of_competitor(name)
        curves = [[r.curve for r in results if r.seed == seed] for seed in scores.seeds]
        seeds = [
            [geometric_mean([best(curve, place) for curve in of_seed]) for place in places]
            for of_seed in curves
            if of_seed
        ]
        lines[name] = Line(places.tolist(), seeds)
    return lines


def _best_of(curve: Sequence[CurvePoint], plans: float) -> float:
    """Returns the best screening ratio of some plans of a race; 1 is jaxlib's default."""
    return max((point.best for point in curve if point.plans <= plans), default=1.0)
