"""Predicted gains of the actions of a plan's state, from one look at its kernels.

Trees (``hlograph.profiling.kernel_trees``) predict what a decision brings to the kernels that it is
about. Nothing is compiled for it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.plan_states import PREDICTED, PlanAction, PlanStates, PointState
from hlograph.errors import HloError
from hlograph.plans.knobs import Point
from hlograph.plans.versions import STEPS, steps_of
from hlograph.profiling.kernel_modules import KernelModule, is_kernel_text, reachable
from hlograph.profiling.kernel_trees import Context, KernelTrees, log_rated, of_gains
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.plan_words import decision_words, rule_word, word_table
from hlograph.transforms.sweeping import PREPARATION

Floats = NDArray[np.float64]

LEAST_LOG_RATIO = math.log(1.05)
"""Logarithm of the ratio that a decision is to be predicted to bring at least, to be taken."""

DEFAULT_POINT = Point()
"""The point of jaxlib's default."""

_LEAST_CALLS = 1e-3
_MOST_SINGLE = 3


class DecisionRows(NamedTuple):
    """Decisions as trees see them.

    Attributes:
        rows: float64 ``[A, F]``, features (``of_gains``).
        shares: float64 ``[A]``, share of the program's predicted time that the kernels take which
            each is about; 0 if it is about none.
        kernels: Numbers of the kernels that each is about.
    """

    rows: Floats
    shares: Floats
    kernels: Sequence[NDArray[np.int64]]


def decision_rows(
    state: PointState, trees: KernelTrees, actions: Sequence[PlanAction]
) -> DecisionRows:
    """Returns what trees see of actions of a state.

    Args:
        state: The state.
        trees: The trees.
        actions: The actions.

    Raises:
        HloParseError: A kernel of the state cannot be read.
    """
    kernels = state.kernels
    features = trees.features(kernels)
    calls = np.maximum([kernel.calls for kernel in kernels], _LEAST_CALLS)
    log_seconds = log_rated(features) + np.log(calls)
    rated, predicted = np.exp(log_seconds), trees(kernels, {})
    shares = np.array(predicted.kernels) / predicted.seconds
    about = _KernelsAbout(state.program, kernels)
    sets = [
        np.arange(len(kernels)) if _is_about_all(action) else about(action.touched)
        for action in actions
    ]
    # A decision about no kernel has a share of nothing, whatever is predicted of it.
    features = np.concatenate((features, np.zeros((1, features.shape[1]))))
    longest = [kernel[np.argmax(log_seconds[kernel])] if len(kernel) else -1 for kernel in sets]
    sums = np.array([max(rated[kernel].sum(), np.exp(-30.0)) for kernel in sets])
    parts = sums / (trees.weights.outside + rated.sum())
    log_calls = [np.log(max(calls[kernel].sum(), _LEAST_CALLS)) for kernel in sets]
    decided = math.log1p(_num_decided(state.point))
    contexts = [
        Context(part, action.log_places, action.log_ratio, 1.0, of_calls, decided)
        for action, part, of_calls in zip(actions, parts, log_calls, strict=True)
    ]
    words = word_table(map(_words, actions), trees.weights.decisions)
    numbers = np.array([float(len(kernel)) for kernel in sets])
    rows = of_gains(features[np.array(longest, np.int64)], np.log(sums), numbers, words, contexts)
    return DecisionRows(rows, np.array([min(shares[k].sum(), 1.0) for k in sets]), sets)


def log_ratios(state: PointState, trees: KernelTrees, actions: Sequence[PlanAction]) -> Floats:
    """Returns what actions are predicted to bring to a program, float64 ``[len(actions)]``.

    Args:
        state: The state.
        trees: The trees.
        actions: Actions of the state.

    Returns:
        Logarithms of the seconds of a run before over those after.

    Raises:
        HloParseError: A kernel of the state cannot be read.
    """
    return _log_ratios(decision_rows(state, trees, actions), trees)


def _log_ratios(decisions: DecisionRows, trees: KernelTrees) -> Floats:
    return -np.log1p(decisions.shares * np.expm1(-trees.log_gains(decisions.rows)))


def descent(
    states: PlanStates,
    trees: KernelTrees,
    point: Point = DEFAULT_POINT,
    seconds: float = math.inf,
) -> Iterator[Point]:
    """Yields points, each with one decision more, those first that are predicted to bring most.

    XLA optimizes the program, and gains are predicted again, after each decision, but once for
    several about other kernels each. What does not compile then is left out; each knob and each
    rule is decided once.

    Args:
        states: States of the program.
        trees: The trees.
        point: The point before the first one.
        seconds: Seconds after which XLA optimizes no further state, so that only one more decision
            is taken.

    Raises:
        HloError: The program does not compile as the first point says.
    """
    begun = time.monotonic()
    taken = set[str]()
    state = states.state(point)
    while True:
        left = [action for action in state.actions if _knob_of(action) not in taken]
        promising = _promising(state, trees, left)
        if not promising:
            return
        if time.monotonic() - begun >= seconds:
            with contextlib.suppress(HloError):
                yield states.after(point, promising[0])
            return
        taken.add(_knob_of(promising[0]))
        for number in sorted({len(promising), 1}, reverse=True):  # one, if several do not compile
            actions = promising[:number]
            try:
                points, state = _after_each(states, point, actions)
            except HloError:
                continue
            taken.update(map(_knob_of, actions))
            point = points[-1]
            yield from points
            break


def _promising(
    state: PointState, trees: KernelTrees, actions: Sequence[PlanAction]
) -> list[PlanAction]:
    """Returns the action that is predicted to bring most, and others about other kernels each.

    Rules and flags, which may change all kernels, come alone.
    """
    decisions = decision_rows(state, trees, actions)
    gains = _log_ratios(decisions, trees)
    order = [n for n in (-gains).argsort(kind="stable") if gains[n] >= LEAST_LOG_RATIO]
    # A loop whose body has kernels of its own is about all that is decided within it.
    own = {n for n, kernel in enumerate(state.kernels) if is_kernel_text(kernel.text)}
    chosen: list[PlanAction] = []
    about = set[int]()
    for number in order:
        action = actions[number]
        may_change_all = not action.knob or _is_about_all(action)
        if may_change_all and not chosen:
            return [action]
        kernels = own.intersection(decisions.kernels[number].tolist())
        apart = bool(kernels) and about.isdisjoint(kernels)
        if not may_change_all and (apart or not chosen):
            chosen.append(action)
            about.update(kernels)
    return chosen


def _after_each(
    states: PlanStates, point: Point, actions: Sequence[PlanAction]
) -> tuple[list[Point], PointState]:
    """Returns the points after actions, one after the other, and the state of the last one.

    Raises:
        HloError: A rule does not apply any more, or the program does not compile so.
    """
    points = [point]
    for action in actions:
        points.append(states.after(points[-1], action))
    return points[1:], states.state(points[-1])


def descended(
    states: PlanStates,
    trees: KernelTrees,
    point: Point = DEFAULT_POINT,
    seconds: float = math.inf,
) -> Point:
    """Returns the last point of ``descent``; the first one if there is no other.

    Args:
        states: States of the program.
        trees: The trees.
        point: The first point.
        seconds: See ``descent``.

    Raises:
        HloError: The program does not compile as the first point says.
    """
    *_, last = (point, *descent(states, trees, point, seconds))
    return last


def after_predicted_rules(states: PlanStates) -> Point | None:
    """Returns the point with the rules that are predicted to save time by rates; None without any.

    Args:
        states: States of the program.

    Raises:
        HloError: The program does not compile by default.
    """
    action = states.state(Point()).by_name.get(f"rule {PREDICTED}")
    if action is None:
        return None
    try:
        return states.after(Point(), action)
    except HloError:  # none of them saves time once others are applied
        return None


def promising_points(
    states: PlanStates,
    trees: KernelTrees,
    point: Point = DEFAULT_POINT,
    seconds: float = math.inf,
) -> list[Point]:
    """Returns the point of all decisions that are predicted to bring something, then single ones.

    Args:
        states: States of the program.
        trees: The trees.
        point: The point before these decisions.
        seconds: Seconds after which no other plan is begun, and ``descended`` ends.

    Returns:
        Distinct other points. At most three have one decision more, the largest predicted gain
        first.

    Raises:
        HloError: The program does not compile as the point says.
    """
    begun = time.monotonic()
    points = [descended(states, trees, point, seconds)]
    state = states.state(point)
    gains = log_ratios(state, trees, state.actions)
    for number in (-gains).argsort(kind="stable")[:_MOST_SINGLE]:
        if gains[number] < LEAST_LOG_RATIO or time.monotonic() - begun >= seconds:
            break
        with contextlib.suppress(HloError):
            points.append(states.after(point, state.actions[number]))
    return [each for each in dict.fromkeys(points) if each != point]


def _num_decided(point: Point) -> int:
    """Returns the number of rules and of values that a point sets."""
    rules = {step.partition("(")[0] for step in steps_of(point)} - {*PREPARATION}
    return len(rules) + len(point.values.keys() - {STEPS})


def _knob_of(action: PlanAction) -> str:
    """Returns the knob of an action, or the rule: each is decided once."""
    return action.knob or action.value


def _is_about_all(action: PlanAction) -> bool:
    """Returns True for flags, and for rules about what XLA has made something else of."""
    return action.knob.startswith("flags ") or not (action.knob or action.touched)


def _words(action: PlanAction) -> list[str]:
    if action.knob:
        return decision_words({action.knob: action.value})
    return [rule_word(action.value)]


class _KernelsAbout:
    """Returns the numbers of the kernels that names of instructions are about.

    An instruction is about the kernel that it is, those that contain it, and those within it.
    """

    def __init__(self, program: OptimizedModule, kernels: Sequence[KernelModule]) -> None:
        inside = [
            [
                instruction.name
                for computation in reachable(program, *program.instructions[kernel.name].calls)
                for instruction in program.computations[computation]
            ]
            for kernel in kernels
        ]
        number_of = {kernel.name: number for number, kernel in enumerate(kernels)}
        self._numbers: dict[str, set[int]] = {}
        for number, (kernel, names) in enumerate(zip(kernels, inside, strict=True)):
            for name in (kernel.name, *names):
                self._numbers.setdefault(name, set()).add(number)
        for kernel, names in zip(kernels, inside, strict=True):
            # Kernels that call the same computation are not within each other.
            within = {number_of[name] for name in names if name in number_of}
            self._numbers[kernel.name] |= within

    def __call__(self, names: Iterable[str]) -> NDArray[np.int64]:
        numbers = set[int]().union(*(self._numbers.get(name, ()) for name in names))
        return np.array(sorted(numbers), np.int64)
