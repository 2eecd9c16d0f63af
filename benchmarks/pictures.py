"""Draws results: the time of each section, and the growth of times and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.labels import (
    BYTES,
    EXPONENT,
    LAST_DECADE,
    LEARNERS,
    SECTIONS,
    section_label,
)
from benchmarks.results import GroupResult, Results
from hlograph.storage.atomic_write import write_atomically

_WORKERS = range(1, 257)  # numbers of workers that are looked for
_SUMMARIES = (EXPONENT, LAST_DECADE)


def draw(results: Results, folder: Path) -> list[Path]:
    """Draws the groups that have results, and returns the files."""
    import matplotlib as mpl

    mpl.use("svg")
    # Names of elements are drawn at random otherwise, and the file differs each time.
    mpl.rcParams["svg.hashsalt"] = "hlograph"
    drawn = []
    if "learning" in results:
        figure = _where_time_goes(results["learning"])
        drawn.append(_save(figure, folder / "where-time-goes.svg"))
    if "growth" in results or "memory" in results:
        drawn.append(_save(_growth(results), folder / "growth.svg"))
    return drawn


def _where_time_goes(result: GroupResult) -> Any:
    """Draws a stacked bar for each policy, size of module and number of workers."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
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
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
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


def _growth(results: Results) -> Any:
    """Draws times and memory against instructions, on logarithmic axes."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(14, 4.5), layout="constrained")
    titles = (("growth", "Time", "ms of the processor"), ("memory", "Peak memory", "MiB"))
    for axes, (name, title, unit) in zip(panels, titles, strict=True):
        result = results.get(name)
        for what in dict.fromkeys(f.what for f in result.figures) if result else ():
            row = result.named(what) if result else {}
            if what == BYTES:
                continue
            slope = row.get(EXPONENT)
            points = [(int(c.replace(",", "")), f) for c, f in row.items() if c not in _SUMMARIES]
            label = f"{what}, {slope.value:.2f}" if slope else what
            axes.loglog([n for n, _ in points], [f.value for _, f in points], "o-", label=label)
        axes.set(title=f"{title}, with exponents", xlabel="instructions", ylabel=unit)
        axes.grid(alpha=0.3)
        if result:
            axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _save(figure: Any, path: Path) -> Path:
    from matplotlib import pyplot as plt

    write_atomically(
        path, lambda target: figure.savefig(target, format="svg", metadata={"Date": None})
    )
    plt.close(figure)
    return path
