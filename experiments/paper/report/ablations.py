"""Variants beside each other: of graph and encoder (ablations), of rewards (figure 4)."""

import math
import re
from collections.abc import Iterator, Sequence

from experiments.paper.report.bars import grouped_bars, seed_bars
from experiments.paper.report.comparison import BETTER, Comparison, for_each_group
from experiments.paper.report.figure2 import learning
from experiments.paper.report.lines import Line, Panel, line_panels
from experiments.paper.report.methods import tables
from experiments.paper.report.section import Picture, Section

_DEPTH = re.compile(r"(?:depth|layers)\D{0,3}(\d+)|(\d+)\s*layers?\b", re.IGNORECASE)


def depth(method: str) -> int | None:
    """Returns the layers of a method whose name has "depth 3", "layers=3" or "3 layers"."""
    found = _DEPTH.search(method)
    return int(found[1] or found[2]) if found else None


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
    """Yields the variants sorted by their mean, a line over depth, and the common tables."""
    for against in c.against()[:1]:
        text = (f"Count ratio to {against}, the best first; dots are seeds.",)
        yield Section(f"Variants: {c.group}", text, _sorted(c))
    line = _depths(c)
    if line:
        text = ("Count ratio by number of layers; the band lies between the seeds.",)
        yield Section(f"Depth: {c.group}", text, line)
    yield from tables(c)


def _mean(values: Sequence[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else -math.inf


def _sorted(comparison: Comparison) -> Picture:
    """Draws bars to the first reference and the better of both, in the first one's order."""
    against = [a for a in comparison.against() if a in (comparison.against()[0], BETTER)]
    values = {
        a: {m: comparison.over_seeds(m, comparison.count_ratio(a)) for m in comparison.methods}
        for a in against
    }
    order = sorted(comparison.methods, key=lambda m: -_mean(values[against[0]][m]))
    panels = {f"to {a}": {m: values[a][m] for m in order} for a in against}
    alt = f"Count ratio of each variant on {comparison.group}, sorted"
    return seed_bars(f"variants-{comparison.number}", alt, panels)


def _depths(comparison: Comparison) -> Picture | None:
    """Draws a line over the methods that differ in depth; returns None for fewer than two."""
    by_depth = {d: m for m in comparison.methods if (d := depth(m)) is not None}
    if len(by_depth) < 2:
        return None
    lines = {}
    for against in comparison.against():
        columns = {
            d: comparison.over_seeds(by_depth[d], comparison.count_ratio(against))
            for d in sorted(by_depth)
        }
        count = max(map(len, columns.values()))
        seeds = [
            [column[n] if n < len(column) else math.nan for column in columns.values()]
            for n in range(count)
        ]
        lines[f"to {against}"] = Line(list(columns), seeds)
    panel = Panel("", "layers", lines, {})
    alt = f"Count ratio by number of layers on {comparison.group}"
    return line_panels(f"depth-{comparison.number}", alt, [panel], "count ratio")


_PARTS = re.compile(r"(.*) \((.*)\)")


def two_parts(method: str) -> tuple[str, str]:
    """Returns encoder and variant of a method such as "PPO, shaped rewards (GNN)".

    A method that names no encoder is an encoder of its own.
    """
    found = _PARTS.fullmatch(method)
    return (found[2], found[1]) if found else (method, method)


@for_each_group
def reward_sections(c: Comparison) -> Iterator[Section]:
    """Yields bars of the variants to each reference, learning curves, and the common tables."""
    for place, against in enumerate(c.against(), 1):
        series: dict[str, dict[str, Sequence[float]]] = {}
        for method in c.methods:
            encoder, variant = two_parts(method)
            values = c.over_seeds(method, c.count_ratio(against))
            series.setdefault(encoder, {})[variant] = values
        alt = f"Count ratio to {against} on {c.group}"
        label = f"count ratio to {against}"
        bars = grouped_bars(f"variants-{c.number}-{place}", alt, series, label)
        yield Section(f"Count ratio to {against}: {c.group}", ("Dots are seeds.",), bars)
    yield from learning(c)
    yield from tables(c)
