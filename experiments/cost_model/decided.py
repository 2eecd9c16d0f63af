"""Decisions about whole programs, as examples for trees: plans that differ by one decision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from experiments.cost_model.ranking import clear_pairs, interval_of_mean
from experiments.evaluate.results import markdown_table
from hlograph import corpus
from hlograph.corpus.plan_times import PlanTime, PlanTimes
from hlograph.decisions.plan_states import PREDICTED, PlanAction, PlanStates, PointState
from hlograph.decisions.predicted_gains import LEAST_LOG_RATIO, decision_rows, log_ratios
from hlograph.errors import HloError
from hlograph.plans import Program
from hlograph.plans.knobs import Point
from hlograph.plans.versions import STEPS
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import PredictTime
from hlograph.profiling.kernel_trees import KernelTrees
from hlograph.profiling.plan_words import decision_words, rule_word

Floats = NDArray[np.float64]

# Decisions about less than this share of a program say little beside the noise.
_LEAST_SHARE = 0.1
# What is left of the time of kernels, at least, and the logarithms of gains that count.
_LEAST_LEFT, _GAINS = 0.03, (-3.0, 3.5)

_RATES, _TREES = "rates of work, of rules alone", "trees"
_DEFAULT, _BEYOND = "default", "plans with decisions"
_HEADS = (
    "decisions about",
    "prediction",
    "states",
    "clear pairs in order",
    "ratio of the decision predicted best (95 % interval)",
    "ratio of the best decision",
    "share of its logarithm",
    "choices that are slower",
)
_PERCENTILES = (50, 90)
_SECONDS_HEADS = (
    "prediction",
    "kernels",
    "programs",
    *(f"{what} off by, at {n} %" for what in ("kernels", "programs") for n in _PERCENTILES),
)
_LEAST_OF_RUN = 0.01
# Logarithms of ratios of which two differ clearly, and below which a choice is slower.
_CLEAR, _SLOWER = 0.1, 0.03


class DecidedExamples(NamedTuple):
    """Decisions about programs as trees see them.

    Attributes:
        rows: float64 ``[N, F]``, features (``hlograph.profiling.kernel_trees.of_gains``).
        log_gains: float64 ``[N]``, logarithms of what each brought to the kernels it is about.
        weights: float64 ``[N]``, share of these kernels in the time of the program.
    """

    rows: Floats
    log_gains: Floats
    weights: Floats


def words_of_decided(plans: Iterable[PlanTime]) -> set[str]:
    """Returns the words of recorded decisions."""
    words = {word for plan in plans for word in decision_words(plan.decisions)}
    return words | {rule_word(PREDICTED)} if words else words


def recorded_actions(
    states: PlanStates, ratios: Mapping[Point, float], point: Point
) -> dict[PlanAction, float]:
    """Returns the ratios of the actions of a state whose plans were recorded.

    Args:
        states: States of the program.
        ratios: Ratios default / plan by points.
        point: Point of the state, one that was recorded.

    Returns:
        Seconds of a run before each action over those after.

    Raises:
        HloError: The program does not compile.
    """
    recorded: dict[PlanAction, float] = {}
    for action in states.state(point).actions:
        try:
            ratio = ratios.get(states.after(point, action))
        except HloError:
            continue
        if ratio is not None:
            recorded[action] = ratio / ratios[point]
    return recorded


def decided_examples(
    plans: Mapping[str, Sequence[PlanTime]], trees: KernelTrees
) -> DecidedExamples:
    """Returns the recorded decisions about programs of the corpus as examples.

    They are about the default, and about other plans that were recorded with one decision more. XLA
    optimizes the programs in this process, which takes some minutes.

    Args:
        plans: Recorded plans by the names of their programs.
        trees: Trees that predict the seconds of kernels.

    Raises:
        HloError: A program does not compile, or there are no decisions about any.
    """
    parts: list[DecidedExamples] = []
    for _, state, recorded in _recorded(plans):
        rows, shares, _ = decision_rows(state, trees, list(recorded))
        told = shares > _LEAST_SHARE
        gains = _local(np.array(list(recorded.values())), shares)
        parts.append(DecidedExamples(rows[told], gains[told], shares[told]))
    if not parts:
        raise HloError("expected plans that differ by one decision from others, found none")
    return DecidedExamples(*map(np.concatenate, zip(*parts, strict=True)))


def decided_table(plans: Mapping[str, Sequence[PlanTime]], trees: KernelTrees) -> str:
    """Returns how well recorded decisions are predicted, as a table in Markdown.

    Args:
        plans: Recorded plans by the names of their programs.
        trees: The trees.

    Raises:
        HloError: A program does not compile.
    """
    choices: dict[tuple[str, str], dict[str, list[_Choice]]] = {}
    for name, state, recorded in _recorded(plans):
        actions, measured = list(recorded), np.log(list(recorded.values()))
        predicted = {
            _RATES: np.array([action.log_ratio for action in actions]),
            _TREES: log_ratios(state, trees, actions),
        }
        where = _BEYOND if state.point.items else _DEFAULT
        for model, by_model in predicted.items():
            of_model = choices.setdefault((where, model), {})
            of_model.setdefault(name, []).append(_Choice.of(by_model, measured))
    rows = [_row(*names, list(of_model.values())) for names, of_model in sorted(choices.items())]
    return markdown_table(_HEADS, rows)


def seconds_table(times: PlanTimes, predictors: Mapping[str, PredictTime]) -> str:
    """Returns by which factors the seconds of defaults and of their kernels are off, as Markdown.

    Args:
        times: Recorded plans. Kernels with less than a hundredth of a run are left out.
        predictors: What predicts their seconds, by name.

    Raises:
        HloParseError: A kernel cannot be read.
    """
    defaults = [
        (plan, [KernelModule("", times.kernels[k.number], k.calls) for k in plan.kernels])
        for plan in times.plans
        if not plan.decisions
    ]
    rows: list[tuple[str, ...]] = []
    for name, predict in predictors.items():
        kernels, programs = list[float](), list[float]()
        for plan, run in defaults:
            predicted = predict(run, plan.flags)
            programs.append(predicted.seconds / plan.seconds)
            kernels += [
                seconds / kernel.seconds
                for kernel, seconds in zip(plan.kernels, predicted.kernels, strict=True)
                if kernel.seconds and kernel.seconds > _LEAST_OF_RUN * plan.seconds
            ]
        off = [np.exp(np.percentile(np.abs(np.log(f)), _PERCENTILES)) for f in (kernels, programs)]
        factors = (f"{factor:.2f}" for factor in np.concatenate(off))
        rows.append((name, str(len(kernels)), str(len(programs)), *factors))
    return markdown_table(_SECONDS_HEADS, rows)


class _Choice(NamedTuple):
    """The decision about a program that a model chooses, which may be to take none.

    Attributes:
        clear: Numbers of pairs that clearly differ, in order and in all.
        chosen: Logarithm of the ratio of the decision that is predicted to bring most.
        best: Logarithm of the largest ratio.
    """

    clear: tuple[float, int]
    chosen: float
    best: float

    @classmethod
    def of(cls, predicted: Floats, measured: Floats) -> _Choice:
        predicted, measured = np.append(predicted, 0.0), np.append(measured, 0.0)
        likely = np.where(predicted >= LEAST_LOG_RATIO, predicted, 0.0)
        chosen = int(likely.argmax()) if likely.any() else len(measured) - 1
        clear = clear_pairs(predicted, measured, _CLEAR)
        return cls(clear, float(measured[chosen]), float(measured.max()))


def _row(where: str, model: str, by_program: Sequence[Sequence[_Choice]]) -> tuple[str, ...]:
    """Returns a row of the table, with means and an interval over programs."""
    choices = [choice for of_program in by_program for choice in of_program]
    right, pairs = map(sum, zip(*(choice.clear for choice in choices), strict=True))
    chosen = [fmean(choice.chosen for choice in of_program) for of_program in by_program]
    best = [fmean(choice.best for choice in of_program) for of_program in by_program]
    low, high = np.exp(interval_of_mean(chosen))
    return (
        where,
        model,
        str(len(choices)),
        f"{right / pairs:.0%}" if pairs else "",
        f"{np.exp(fmean(chosen)):.2f} ({low:.2f} to {high:.2f})",
        f"{np.exp(fmean(best)):.2f}",
        f"{fmean(chosen) / fmean(best):.0%}" if any(best) else "",
        str(sum(choice.chosen < -_SLOWER for choice in choices)),
    )


def _recorded(
    plans: Mapping[str, Sequence[PlanTime]],
) -> Iterator[tuple[str, PointState, dict[PlanAction, float]]]:
    """Yields programs, their states on which decisions were recorded, and the actions of these."""
    for name, of_program in tqdm(plans.items(), unit="program", disable=None):
        states = PlanStates(Program.of(corpus.benchmark(name).load()))
        ratios = {Point.of(plan.decisions): plan.ratio for plan in of_program} | {Point(): 1.0}
        for point in ratios:
            if any(_has_one_more(other, point) for other in ratios) and (
                recorded := recorded_actions(states, ratios, point)
            ):
                yield name, states.state(point), recorded


def _has_one_more(point: Point, before: Point) -> bool:
    """Returns True if a point has one decision more; a first rule only where nothing is decided."""
    values, known = point.values, before.values
    steps, known_steps = values.pop(STEPS, "[]"), known.pop(STEPS, "[]")
    if values != known:
        added = len(values) - len(known)
        return steps == known_steps and added == 1 and known.items() <= values.items()
    can_be_next = STEPS in before.values or not before.items
    return can_be_next and steps != known_steps and steps.startswith(known_steps[:-1])


def _local(ratios: Floats, shares: Floats) -> Floats:
    """Returns the logarithms of what decisions brought to what they are about.

    Args:
        ratios: float64 ``[N]``, time of the program before over that after.
        shares: float64 ``[N]``, share of the program that each is about.
    """
    shares = np.maximum(shares, 1e-3)
    left = np.maximum(1 / ratios - 1 + shares, _LEAST_LEFT * shares)
    return np.clip(np.log(shares / left), *_GAINS)
