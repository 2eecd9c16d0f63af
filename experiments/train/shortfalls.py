"""Deals benchmarks more often on which a policy falls short of the best known order of passes.

A form of prioritised level replay (Jiang, Grefenstette and Rocktäschel 2021, arXiv:2010.03934),
which draws levels by what is left to learn in them. The error of values stands for that there;
here it is the distance from what searches found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from experiments.evaluate.evaluation import Ended

_STEP = 0.01
"""Shortfall for which a benchmark is dealt once more."""
_MOST = 8
"""Times that a benchmark is dealt at most, before all have been dealt."""
EPISODE_WEIGHT = 0.5
"""Weight of an episode of training, whose actions are drawn, beside the shortfall so far."""


class Shortfalls:
    """By benchmark, how far a policy stays behind the least op count that is known.

    A shortfall is the logarithm of op count / known op count, and at least 0.

    Args:
        known: Least op count that is known, by benchmark; others are dealt once.
        found: Shortfalls so far.
    """

    def __init__(self, known: Mapping[str, int], found: Mapping[str, float]) -> None:
        self.known = known
        """Least op count that is known, by benchmark."""
        self.found = dict(found)
        """Shortfalls so far, by benchmark."""

    @property
    def mean(self) -> float:
        """Mean of the shortfalls so far; 0 without any."""
        return sum(self.found.values()) / max(len(self.found), 1)

    def note(self, results: Iterable[Ended], weight: float) -> None:
        """Takes results of a policy into account.

        Args:
            results: Ended episodes.
            weight: Weight of a result beside the shortfall so far; 1 forgets that.
        """
        for result in results:
            known = self.known.get(result.benchmark)
            if known is not None:
                new = max(0.0, math.log(result.op_count / known))
                old = self.found.get(result.benchmark, new)
                self.found[result.benchmark] = old + weight * (new - old)

    def dealt(self, benchmarks: Sequence[str]) -> list[str]:
        """Returns benchmarks with repetitions, one for each percent of shortfall.

        Args:
            benchmarks: Names of all.
        """
        return [
            name
            for name in benchmarks
            for _ in range(min(_MOST, 1 + round(self.found.get(name, 0.0) / _STEP)))
        ]
