"""TPE and NSGA-II, driven by optuna.

https://optuna.readthedocs.io/
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from experiments.search.tuning.library_searcher import LibrarySearcher, loss_of
from hlograph.errors import HloError
from hlograph.tuning.searcher import Result

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import Trial

_POPULATION = 16
"""Population of NSGA-II: optuna's 50 would be most of a search of a minute."""


class _Optuna(LibrarySearcher["Trial"]):
    _num_objectives = 1

    def _prepare(self, numbers: Sequence[int], seed: int) -> None:
        optuna = _optuna()
        self._distributions = {
            f"{index}": optuna.distributions.CategoricalDistribution(range(number))
            for index, number in enumerate(numbers)
        }
        with warnings.catch_warnings():
            # Settings of the samplers are experimental.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._study = optuna.create_study(
                sampler=self._sampler(optuna, seed),
                directions=["minimize"] * self._num_objectives,
            )

    @abstractmethod
    def _sampler(self, optuna: Any, seed: int) -> BaseSampler: ...

    def _losses(self, result: Result) -> list[float]:
        return [loss_of(result)]

    def _ask(self) -> tuple[Trial, list[int]]:
        trial = self._study.ask(self._distributions)
        return trial, [trial.params[name] for name in self._distributions]

    def _tell(self, candidate: Trial, result: Result) -> None:
        self._study.tell(candidate, self._losses(result))

    def _repeat(self, candidate: Trial, known: Result | None) -> None:
        if known is not None:
            self._tell(candidate, known)
        else:
            self._study.tell(candidate, state=_optuna().trial.TrialState.FAIL)

    def _tell_other(self, positions: Sequence[int], result: Result) -> None:
        self._study.enqueue_trial(dict(zip(self._distributions, positions, strict=True)))
        trial = self._study.ask(self._distributions)
        self._adopt(trial)
        self._tell(trial, result)

    def _adopt(self, trial: Trial) -> None:
        """Prepares a trial that the sampler did not propose."""


class TPE(_Optuna):
    """Tree-structured Parzen estimator over all knobs together.

    Its knobs are those of the start; knobs that appear later are left out. The first ten points are
    random. For its arguments, see ``LibrarySearcher``.
    """

    def _sampler(self, optuna: Any, seed: int) -> BaseSampler:
        return optuna.samplers.TPESampler(
            seed=seed % 2**32, multivariate=True, group=True, constant_liar=True
        )


class NSGA2(_Optuna):
    """NSGA-II over two objectives: time and memory.

    A point whose memory is not known counts with the largest that was told; the default point
    counts when it is told. Its knobs are those of
    the start; knobs that appear later are left out. For its arguments, see ``LibrarySearcher``.
    """

    _num_objectives = 2
    _knows_default = False  # its memory is not known
    _largest = 0

    def _sampler(self, optuna: Any, seed: int) -> BaseSampler:
        self._nsga2 = optuna.samplers.NSGAIISampler(seed=seed % 2**32, population_size=_POPULATION)
        return self._nsga2

    def _adopt(self, trial: Trial) -> None:
        # Without a generation it would never be a parent; this gives it the present one.
        self._nsga2.get_trial_generation(self._study, self._study.trials[trial.number])

    def _losses(self, result: Result) -> list[float]:
        self._largest = max(self._largest, result.memory)
        return [loss_of(result), float(result.memory or self._largest)]


def _optuna() -> Any:
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise HloError(
            "this searcher needs optuna, which is not installed: pip install 'hlograph[paper]'"
        ) from error
    # It would write a line for each study and trial.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna
