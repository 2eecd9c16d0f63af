"""Figure 4: variants of the reward and of the value function, for each encoder."""

import re
from collections.abc import Iterator, Sequence

from experiments.report.bars import grouped_bars
from experiments.report.comparison import Comparison, for_each_group
from experiments.report.figure2 import learning
from experiments.report.methods import tables
from experiments.report.section import Section

_PARTS = re.compile(r"(.*) \((.*)\)")


def two_parts(method: str) -> tuple[str, str]:
    """Returns encoder and variant of a method such as "PPO, shaped rewards (GNN)".

    A method that names no encoder is an encoder of its own.
    """
    found = _PARTS.fullmatch(method)
    return (found[2], found[1]) if found else (method, method)


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
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
