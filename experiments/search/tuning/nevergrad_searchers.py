"""Discrete (1+1) evolution and simulated annealing, driven by nevergrad.

https://facebookresearch.github.io/nevergrad/
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.search.tuning.library_searcher import LibrarySearcher, loss_of
from hlograph.errors import HloError
from hlograph.tuning.searcher import Result

if TYPE_CHECKING:
    from nevergrad.parametrization.core import Parameter

_BUDGET = 1000
"""Number of proposals that nevergrad plans for; it gives more if asked."""


class OnePlusOne(LibrarySearcher["Parameter"]):
    """Mutates the best point: each value with probability one over their number.

    Its knobs are those of the start; knobs that appear later are left out. For its arguments, see
    ``LibrarySearcher``.
    """

    _name = "DiscreteOnePlusOne"
    # A known point is not told again: nevergrad would take it for a more certain one, and prefer it
    # to faster points that were told once.
    _repeats = 200

    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        nevergrad = _nevergrad()
        upper = np.array(numbers, float) - 1
        array = nevergrad.p.Array(init=np.zeros(len(numbers)), lower=0 * upper, upper=upper)
        # So wide that a mutation may take any value: values have no order.
        array.set_mutation(sigma=float(upper.max()) / 2)
        array.set_integer_casting()
        array.random_state = np.random.RandomState(seed % 2**32)
        with warnings.catch_warnings():
            # Remarks on settings, and on numpy functions that nevergrad should no longer use.
            warnings.simplefilter("ignore")
            self._optimizer = nevergrad.optimizers.registry[self._name](array, budget=_BUDGET)

    def _ask(self) -> tuple[Parameter, list[int]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = self._optimizer.ask()
        return asked, [int(position) for position in asked.value]

    def _tell(self, candidate: Parameter, result: Result) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell(candidate, loss_of(result))

    def _tell_other(self, positions: Sequence[int], result: Result) -> None:
        value = np.array(positions, float)
        self._tell(self._optimizer.parametrization.spawn_child(new_value=value), result)


class Annealing(OnePlusOne):
    """Simulated annealing: also mutates slower points, ever more seldom.

    The temperature falls by a tenth with each proposal. Its knobs are those of the start; knobs
    that appear later are left out. For its arguments, see ``LibrarySearcher``.
    """

    _name = "SADiscreteOnePlusOneExp09"
    # nevergrad itself looks for new points here, which takes long where few are left.
    _repeats = 3


def _nevergrad() -> Any:
    # The import takes seconds.
    try:
        import nevergrad
    except ModuleNotFoundError as error:
        if error.name != "nevergrad":
            raise
        raise HloError(
            "this searcher needs nevergrad, which is not installed: pip install 'hlograph[paper]'"
        ) from error
    return nevergrad
