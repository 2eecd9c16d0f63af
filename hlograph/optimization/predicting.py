"""``hlograph.predict``: the time of jaxlib's default, and what decisions may bring, without a run.

XLA optimizes the program in a worker process, and is stopped before it generates code. The kernels
that it would run are predicted one by one, by their amounts of work and rates of a machine. What
each decision brings is predicted by trees (``hlograph.decisions.predicted_gains``).
"""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hlograph.decisions.plan_states import PREDICTED, PlanAction, PlanStates
from hlograph.decisions.predicted_gains import log_ratios
from hlograph.errors import HloError, HloWarning, WorkerLostError
from hlograph.execution import lock
from hlograph.execution.prediction_errors import PredictionErrors, default_errors
from hlograph.execution.rates import Rates, current_rates
from hlograph.isolation import Remote, WorkerLimits
from hlograph.optimization.methods import COLD
from hlograph.plans import Numerics, Program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_seconds import PredictTime, RatedKernels
from hlograph.profiling.kernel_trees import shipped_trees
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.predicted_kernels import (
    PredictedKernel,
    loops_of_unknown_length,
    predicted_kernels,
)
from hlograph.transforms.rules import rules as known_rules

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder
    from hlograph.module import Module
    from hlograph.reading.sources import Source

_SECONDS = 300.0  # for one request; large programs are optimized for a minute
_MEMORY = 16 << 30

_Ratios = list[tuple[PlanAction, float]]

_LOST = (
    "a process ended while it listed what can be decided: nothing is predicted to be worth trying"
)


@dataclass(frozen=True, slots=True)
class PredictedDecision:
    """Predicted effect of one decision about a program, alone.

    Attributes:
        name: The decision: ``rule NAME`` for a rule at all places where it applies, or a knob and
            its value.
        places: Number of places that it changes together.
        instructions: Names of the instructions of the optimized module that it is about; none where
            it is about all, or about what XLA has made something else of.
        ratio: Predicted time of a run without it over that with it.
        saved: Predicted seconds that it saves in a run; below 0 if it is predicted to cost time.
        exact: True if it is known to leave every bit of the results as it is.
    """

    name: str
    places: int
    instructions: tuple[str, ...]
    ratio: float
    saved: float
    exact: bool

    @classmethod
    def of(cls, action: PlanAction, ratio: float, seconds: float) -> PredictedDecision:
        """Returns the effect of an action that brings a ratio to a run of so many seconds."""
        exact = not action.knob and known_rules[action.value].exact
        saved = seconds * (1 - 1 / ratio)
        return cls(action.name, action.places, action.touched, ratio, saved, exact)

    @property
    def subject(self) -> str:
        """The rule, or the knob that is set."""
        return self.name.partition(" = ")[0]

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Prediction:
    """Predicted time of a program as jaxlib compiles it by default, which was not run.

    Attributes:
        name: Name of the module.
        seconds: Predicted seconds of a run.
        kernels: Predicted time of each kernel, the longest first, with the row ``outside kernels``;
            their sum is ``seconds``.
        decisions: What can be decided: rules for time and native kernels that apply, flags,
            libraries, partitions and fusions; those that are predicted to save most first.
        unknown_loops: Names of the loops whose number of rounds only their values tell; they are
            taken to run eight times.
        rates: Rates of work that the kernels are predicted by.
        errors: By how much predictions like it were off on other programs; None if nobody knows.
    """

    name: str
    seconds: float
    kernels: tuple[PredictedKernel, ...]
    decisions: tuple[PredictedDecision, ...]
    unknown_loops: tuple[str, ...]
    rates: Rates
    errors: PredictionErrors | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Seconds between which nine of ten programs of this prediction ran; None if unknown."""
        return None if self.errors is None else self.errors.interval(self.seconds)

    @property
    def promising(self) -> tuple[PredictedDecision, ...]:
        """Decisions that are predicted to save a fiftieth of the time, the best value of a knob."""
        least, best = COLD * self.seconds, dict[str, PredictedDecision]()
        for decision in self.decisions:
            if decision.saved >= least:
                best.setdefault(decision.subject, decision)
        return tuple(best.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the prediction as a JSON object."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "interval": self.interval,
            "errors": self.errors.to_json() if self.errors else None,
            "unknown_loops": self.unknown_loops,
            "machine": self.rates.machine.to_json(),
            "kernels": [kernel.to_json() for kernel in self.kernels],
            "decisions": [decision.to_json() for decision in self.decisions],
        }


def predict(
    source: Program | Source | Module,
    *,
    numerics: Numerics = "close",
    rates: Rates | None = None,
    time: PredictTime | None = None,
    errors: PredictionErrors | None = None,
) -> Prediction:
    """Predicts the time of a program as jaxlib compiles it by default, and what decisions may save.

    Nothing runs, and no code is generated. XLA works in a process of its own, so what ends it costs
    the prediction only.

    Args:
        source: The program: a ``jax.stages.Lowered``, or any other source that ``hlograph.parse``
            takes.
        numerics: Class of results: ``exact`` leaves out rules that round differently.
        rates: Rates of work of a machine; None takes those of this one, if ``hlograph calibrate``
            has measured them, or else those that come with hlograph. What decisions bring is
            predicted as measured on the machine of the trees.
        time: Predicts the time of a run and its kernels; None predicts by the rates.
        errors: By how much predictions are off. None takes those that come with hlograph for
            predictions by rates, and leaves out the interval where ``time`` is given.

    Raises:
        HloError: The source cannot be read, or XLA does not optimize the program.
    """
    program = source if isinstance(source, Program) else Program.of(source)
    rates = rates or current_rates()
    if time is None:
        time, errors = RatedKernels(rates, alone=True), errors or default_errors()
    optimized, ratios = _optimized_and_ratios(program, numerics)
    kernels = predicted_kernels(optimized, time, rates)
    seconds = sum(kernel.seconds for kernel in kernels)
    decisions = [PredictedDecision.of(*pair, seconds) for pair in ratios]
    return Prediction(
        program.name,
        seconds,
        kernels,
        tuple(sorted(decisions, key=lambda decision: -decision.saved)),
        loops_of_unknown_length(optimized),
        rates,
        errors,
    )


def optimized_by_default(program: Program) -> OptimizedModule:
    """Returns the module that jaxlib would generate code from, which XLA makes in a process.

    Raises:
        HloError: XLA does not optimize the program, or ends the process.
    """
    with closing(_optimizer(program)) as remote:
        try:
            return remote.call(_Optimizer.optimized)
        except WorkerLostError as lost:
            raise HloError(f"a process ended while XLA optimized the program: {lost}") from lost


def _optimized_and_ratios(program: Program, numerics: Numerics) -> tuple[OptimizedModule, _Ratios]:
    """Returns the module that jaxlib would generate code from, and what decisions bring.

    Raises:
        HloError: XLA does not optimize the program, or ends the process.
    """
    with closing(_optimizer(program)) as remote:
        try:
            return remote.call(_Optimizer.optimized_and_ratios, numerics)
        except WorkerLostError:
            optimized = optimized_by_default(program)
    warnings.warn(_LOST, HloWarning, stacklevel=3)
    return optimized, []


def _optimizer(program: Program) -> Remote[_Optimizer]:
    limits = WorkerLimits(seconds=_SECONDS, idle_seconds=_SECONDS, memory=_MEMORY)
    return Remote(partial(_Optimizer, program), limits)


class _Optimizer:
    """Optimizes a program as jaxlib does, in the process that may die."""

    def __init__(self, program: Program, recorder: FlightRecorder) -> None:
        self._program, self._recorder = program, recorder

    def optimized(self) -> OptimizedModule:
        with lock.compiling(), self._recorder.noted(b"XLA's optimizations"):
            return OptimizedModule.from_proto(optimized_module(self._program))

    def optimized_and_ratios(self, numerics: Numerics) -> tuple[OptimizedModule, _Ratios]:
        with self._recorder.noted(b"what decisions bring"):
            states = PlanStates(self._program, numerics, computing=lock.compiling)
            state, trees = states.state(Point()), shipped_trees()
            # What is predicted to save time together is no single decision.
            actions = [action for action in state.actions if action.value != PREDICTED]
            ratios = np.exp(log_ratios(state, trees, actions)).tolist()
            return state.program, list(zip(actions, ratios, strict=True))
