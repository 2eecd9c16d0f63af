"""Bars in groups: figure 4, whose methods have two parts, and generalisation."""

import re
from collections.abc import Mapping, Sequence

from experiments.outcomes.study import Study
from experiments.report.bars import grouped_bars
from experiments.report.comparison import Comparison
from experiments.report.figure2 import LEARNING, learning_curves
from experiments.report.methods import tables
from experiments.report.section import Section

_PARTS = re.compile(r"(.*) \((.*)\)")


def two_parts(method: str) -> tuple[str, str]:
    """Encoder and variant of a method such as "PPO, shaped rewards (GNN)".

    A method that names no encoder is one of its own.
    """
    found = _PARTS.fullmatch(method)
    return (found[2], found[1]) if found else (method, method)


def figure4(study: Study) -> list[Section]:
    """Variants of the reward and of the value function, for each encoder."""
    found = []
    for number, group in enumerate(study.groups()):
        comparison = Comparison(study, group)
        for place, against in enumerate(comparison.against()):
            series: dict[str, dict[str, list[float]]] = {}
            for method in comparison.methods:
                encoder, variant = two_parts(method)
                values = comparison.over_seeds(method, comparison.count_ratio(against))
                series.setdefault(encoder, {})[variant] = values
            found.append(_section(group, against, f"variants-{number + 1}-{place + 1}", series))
        curves = learning_curves(comparison, f"learning-{number + 1}")
        if curves:
            found.append(Section(f"Learning: {group}", (LEARNING,), curves))
        found += tables(comparison)
    return found


def _section(
    group: str, against: str, name: str, series: Mapping[str, Mapping[str, Sequence[float]]]
) -> Section:
    alt = f"Count ratio to {against} on {group}"
    bars = grouped_bars(name, alt, series, f"count ratio to {against}")
    return Section(f"Count ratio to {against}: {group}", ("Dots are seeds.",), bars)
