"""Draws the time of each section of the PPO loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.results import LEARNERS, SECTIONS, GroupResult, Results, section_label
from hlograph.storage.atomic_write import write_atomically

_WORKERS = range(1, 257)  # numbers of workers that are looked for


def draw(results: Results, folder: Path) -> list[Path]:
    """Draws the groups that have results, and returns the files."""
    import matplotlib as mpl

    mpl.use("svg")
    # Names of elements are drawn at random otherwise, and the file differs each time.
    mpl.rcParams["svg.hashsalt"] = "hlograph"
    if "learning" not in results:
        return []
    return [_save(_where_time_goes(results["learning"]), folder / "where-time-goes.svg")]


def _where_time_goes(result: GroupResult) -> Any:
    """Draws a stacked bar for each policy, size of module and number of workers."""
    from matplotlib import pyplot as plt

    size = {"figsize": (5.5 * len(LEARNERS), 4.5), "layout": "constrained"}
    figure, panels = plt.subplots(1, len(LEARNERS), **size, sharey=True)
    for axes, label in zip(panels, LEARNERS.values(), strict=True):
        bars = _bars(result, label)
        names = [f"{size}\n{workers} w." for size, workers in bars]
        totals = [sum(parts) for parts in bars.values()]
        below = [0.0] * len(bars)
        for place, section in enumerate(SECTIONS):
            shares = [
                100 * parts[place] / total
                for parts, total in zip(bars.values(), totals, strict=True)
            ]
            axes.bar(names, shares, bottom=below, label=section)
            below = [a + b for a, b in zip(below, shares, strict=True)]
        for place, total in enumerate(totals):
            axes.text(place, 101, f"{total:.3g} ms", ha="center", fontsize="small")
        axes.set(title=label, xlabel="instructions, workers", ylim=(0, 108))
    panels[0].set_ylabel("% of the time of a frame")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _bars(result: GroupResult, label: str) -> dict[tuple[str, int], list[float]]:
    """Returns milliseconds per frame of each section, by size and number of workers."""
    bars = {}
    for size in dict.fromkeys(figure.column for figure in result.figures):
        for workers in _WORKERS:
            rows = [result.named(section_label(label, workers, name)) for name in SECTIONS]
            if all(size in row for row in rows):
                # A part that is a rest of others may come out below nothing by a hair.
                bars[size, workers] = [max(row[size].value, 0.0) for row in rows]
    return bars


def _save(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot as plt

    write_atomically(
        path, lambda target: figure.savefig(target, format="svg", metadata={"Date": None})
    )
    plt.close(figure)
    return path
