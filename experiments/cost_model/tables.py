"""Tables of the comparison of the cost model with baselines."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from experiments.cost_model.metrics import TOP, Ranking
from experiments.outcomes.markdown import markdown_table
from hlograph.timing.bootstrap import bootstrap_interval

HEADS = (
    *("model", "Kendall's tau", "95 % interval", "clear pairs in order"),
    *(f"top-{number} slowdown" for number in TOP),
    "plans to within 3 %",
)
"""Heads of the table."""


def table(rankings: Mapping[str, Sequence[Ranking]]) -> str:
    """Returns the table of models as Markdown.

    Args:
        rankings: The ranking of each program, for each model.
    """
    return markdown_table(HEADS, (_row(*one) for one in rankings.items()))


def programs_table(rankings: Mapping[str, Mapping[str, Ranking]]) -> str:
    """Returns the table of Kendall's tau of each program as Markdown.

    Args:
        rankings: The ranking by program, for each model.
    """
    rows = [
        (program, *(f"{of_one[program].tau:.2f}" for of_one in rankings.values()))
        for program in next(iter(rankings.values()))
    ]
    return markdown_table(("program", *rankings), rows)


def _row(name: str, rankings: Sequence[Ranking]) -> tuple[str, ...]:
    taus = [one.tau for one in rankings]
    low, high = _interval(taus)
    clear = float(np.nanmean([one.clear for one in rankings]))
    slower = [
        np.exp(fmean(np.log1p(one.slowdown[number]) for one in rankings)) - 1
        for number in range(len(TOP))
    ]
    return (
        name,
        f"{fmean(taus):.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{clear:.1%}",
        *(f"{one:.1%}" for one in slower),
        f"{fmean(one.needed for one in rankings):.1f}",
    )


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Returns the bootstrap interval of a mean."""
    low, high = bootstrap_interval([float(np.exp(value)) for value in values])
    return float(np.log(low)), float(np.log(high))
