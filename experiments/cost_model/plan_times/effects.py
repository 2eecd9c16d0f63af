"""Effects of single values of knobs, by the data set of plan times."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.cost_model.settings import EffectsConfig
from hlograph.corpus import plan_times
from hlograph.corpus.plan_times import PlanTime
from hlograph.optimization.methods.coordinate import kind_of
from hlograph.plans.knobs import stage_of

_LEAST_LOG_RATIO = -0.7
"""Plans that are slower than half as fast count as this: how slow they are decides nothing."""

_CLEAR = 0.1


class Effect(NamedTuple):
    """Effect of a value on the run time.

    Attributes:
        value: The flag and its value, or the stage and the first word of the value.
        programs: Number of programs.
        gain: Mean of the log ratios that are above 0; the others count as 0, as a search drops
            what hurts.
        mean: Mean of the log ratios.
        clear: Share of the programs with more than 0.1.
    """

    value: str
    programs: int
    gain: float
    mean: float
    clear: float


def effects(by_program: Mapping[str, Sequence[PlanTime]], config: EffectsConfig) -> list[Effect]:
    """Returns what values bring, the largest gain first."""
    of_value: dict[str, list[float]] = defaultdict(list)
    for plans in by_program.values():
        if len(plans) >= config.least_plans:
            for value, coefficient in _coefficients(plans, config).items():
                of_value[value].append(coefficient)
    rows = [_effect(value, np.array(coefficients)) for value, coefficients in of_value.items()]
    return sorted(rows, key=lambda row: (-row.gain, row.value))


def _effect(value: str, coefficients: np.ndarray) -> Effect:
    gain, mean = np.maximum(coefficients, 0).mean(), coefficients.mean()
    clear = (coefficients > _CLEAR).mean()
    return Effect(value, len(coefficients), float(gain), float(mean), float(clear))


def _coefficients(plans: Sequence[PlanTime], config: EffectsConfig) -> dict[str, float]:
    """Returns the log ratio that each value adds in one program."""
    words = [_words(plan) for plan in plans]
    columns = sorted(set().union(*words))
    rows = np.array([[1.0, *(word in of_plan for word in columns)] for of_plan in words])
    logs = np.log([max(plan.ratio, np.exp(_LEAST_LOG_RATIO)) for plan in plans])
    square = rows.T @ rows + config.ridge * np.eye(len(columns) + 1)
    solution = np.linalg.solve(square, rows.T @ logs)[1:]
    uses = rows.sum(axis=0)[1:]
    return {
        word: float(coefficient)
        for word, coefficient, used in zip(columns, solution, uses, strict=True)
        if used >= config.least_uses
    }


def _words(plan: PlanTime) -> set[str]:
    flags = {f"{name}={value}" for name, value in plan.flags.items()}
    others = {
        " ".join(kind_of(name, value))
        for name, value in plan.decisions.items()
        if stage_of(name) not in ("flags", "steps")
    }
    return flags | others


def print_effects(config: EffectsConfig) -> None:
    """Prints the table."""
    print("gain   mean   clear  programs  value")
    for row in effects(plan_times.load(*config.splits).by_program(), config):
        print(f"{row.gain:.3f} {row.mean:+.3f} {row.clear:6.2f} {row.programs:9}  {row.value}")
