"""Draws the datasheet's plots: `python datasets/plots.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from manifest import ROOT, Row, read_manifest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from opcode_coverage import OpcodeUse, read_opcode_uses

FOLDER = ROOT / "plots"
SPLIT_COLOURS = {
    "train": "#4269d0",
    "validation": "#97bbf5",
    "test-seen": "#efb118",
    "test-unseen": "#ff725c",
}
MOST_FREQUENT = 40


def draw(rows: list[Row], uses: list[OpcodeUse]) -> None:
    """Writes all plots as PNG images."""
    mpl.use("agg")
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    FOLDER.mkdir(exist_ok=True)
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    draw_sizes(axes, rows)
    save(figure, FOLDER / "sizes.png")
    figure, axes = plt.subplots(figsize=(7.5, 7.0), layout="constrained")
    draw_opcodes(axes, uses)
    save(figure, FOLDER / "opcodes.png")
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    draw_reductions(axes, rows)
    save(figure, FOLDER / "reductions.png")


def draw_sizes(axes: Axes, rows: list[Row]) -> None:
    """Draws how large modules are, by split."""
    edges = np.geomspace(20, 50_000, 35)
    sizes = [[row.op_count for row in rows if row.split == split] for split in SPLIT_COLOURS]
    labels = [f"{split} ({len(part)})" for split, part in zip(SPLIT_COLOURS, sizes, strict=True)]
    axes.hist(sizes, bins=edges, stacked=True, label=labels, color=list(SPLIT_COLOURS.values()))
    axes.set(xscale="log", xlabel="instructions", ylabel="modules", title="Size of modules")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)


def draw_opcodes(axes: Axes, uses: list[OpcodeUse]) -> None:
    """Draws the most frequent opcodes: instructions, and the modules that have them."""
    first = sorted(uses, key=lambda use: -use.instructions)[:MOST_FREQUENT][::-1]
    names = [use.opcode for use in first]
    axes.barh(names, [use.instructions for use in first], color="#4269d0", label="instructions")
    axes.plot([use.modules for use in first], names, "o", color="#ff725c", label="modules", ms=4)
    axes.set(xscale="log", title=f"The {len(first)} most frequent opcodes", ylim=(-0.7, len(first)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, loc="lower right")


def draw_reductions(axes: Axes, rows: list[Row]) -> None:
    """Draws what the two reference pipelines leave of each module."""
    sizes = [row.op_count for row in rows]
    for column, colour in (("op_count_xla_cpu", "#ff725c"), ("op_count_xla_simplify", "#4269d0")):
        left = [getattr(row, column) / row.op_count for row in rows]
        label = column.removeprefix("op_count_").replace("_", "-")
        axes.plot(sizes, left, ".", ms=3, alpha=0.6, color=colour, label=label)
    axes.axhline(1, color="grey", lw=0.6)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="instructions",
        ylabel="instructions left / before",
        title="What the reference pipelines leave",
    )
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_yticks([0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3], minor=False)
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, markerscale=3)


def save(figure: plt.Figure, path: Path) -> None:
    """Writes an image that is the same for the same data."""
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(read_manifest(), read_opcode_uses())
