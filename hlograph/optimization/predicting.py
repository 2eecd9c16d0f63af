"""``hlograph.predict``: the time of jaxlib's default, and what rules may save, without a run.

XLA optimizes the program in a worker process, and is stopped before it generates code. The kernels
that it would run are predicted one by one, by their amounts of work and rates of a machine. Where
rules for time apply is listed meanwhile, in another process.
"""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError, HloWarning, WorkerLostError
from hlograph.execution import lock
from hlograph.execution.prediction_errors import PredictionErrors, default_errors
from hlograph.execution.rates import Rates, current_rates
from hlograph.isolation import Remote, WorkerLimits
from hlograph.optimization.methods import COLD
from hlograph.optimization.methods.forms import RuleScope, Sweeps
from hlograph.plans import Numerics, Program
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_versions import rules_for_time
from hlograph.profiling.kernel_categories import OUTSIDE
from hlograph.profiling.kernel_seconds import LEAST_SECONDS, PredictTime, RatedKernels
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
_LOST = "a process ended while it listed where rules apply: none is predicted"


@dataclass(frozen=True, slots=True)
class PredictedRule:
    """Predicted effect of a rule for time, alone, at all places of a program where it applies.

    Attributes:
        rule: Name of the rule.
        places: Number of its places.
        saved: Predicted seconds that it saves in a run; below 0 if it is predicted to cost time.
        ratio: Predicted time of a run without it over that with it.
        exact: True if every bit of the results stays as it is.
    """

    rule: str
    places: int
    saved: float
    ratio: float
    exact: bool

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
        rules: Rules for time that apply, those that are predicted to save most first.
        unknown_loops: Names of the loops whose number of rounds only their values tell; they are
            taken to run eight times.
        rates: Rates of work that the prediction is by, those of rules in any case.
        errors: By how much predictions like it were off on other programs; None if nobody knows.
    """

    name: str
    seconds: float
    kernels: tuple[PredictedKernel, ...]
    rules: tuple[PredictedRule, ...]
    unknown_loops: tuple[str, ...]
    rates: Rates
    errors: PredictionErrors | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Seconds between which nine of ten programs of this prediction ran; None if unknown."""
        return None if self.errors is None else self.errors.interval(self.seconds)

    @property
    def promising(self) -> tuple[PredictedRule, ...]:
        """The rules that are predicted to save a fiftieth of the time or more."""
        return tuple(rule for rule in self.rules if rule.saved >= COLD * self.seconds)

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
            "rules": [rule.to_json() for rule in self.rules],
        }


def predict(
    source: Program | Source | Module,
    *,
    numerics: Numerics = "close",
    rates: Rates | None = None,
    time: PredictTime | None = None,
    errors: PredictionErrors | None = None,
) -> Prediction:
    """Predicts the time of a program as jaxlib compiles it by default, and what rules may save.

    Nothing runs, and no code is generated. XLA works in processes of its own, so what ends them
    costs the prediction only.

    Args:
        source: The program: a ``jax.stages.Lowered``, or any other source that ``hlograph.parse``
            takes.
        numerics: Class of results: ``exact`` leaves out rules that round differently.
        rates: Rates of work of a machine; None takes those of this one, if ``hlograph calibrate``
            has measured them, or else those that come with hlograph.
        time: Predicts the time of a run and its kernels; None predicts by the rates.
        errors: By how much predictions by ``time`` are off; None leaves out the interval. Those of
            predictions by rates come with hlograph.

    Raises:
        HloError: The source cannot be read, or XLA does not optimize the program.
    """
    program = source if isinstance(source, Program) else Program.of(source)
    rates = rates or current_rates()
    if time is None:
        time, errors = RatedKernels(rates, alone=True), default_errors()
    names = rules_for_time(exact=numerics == "exact")
    with closing(Sweeps.shared(program, names, rates)) as sweeps:
        optimized = optimized_by_default(program)
        kernels = predicted_kernels(optimized, time, rates)
        scopes = [scope for scope in sweeps.choices() if not scope.group]
        if sweeps.lost:
            warnings.warn(_LOST, HloWarning, stacklevel=2)
    seconds = sum(kernel.seconds for kernel in kernels)
    outside = sum(kernel.seconds for kernel in kernels if kernel.kind == OUTSIDE)
    rules = [_rule(scope, seconds, outside) for scope in scopes]
    return Prediction(
        program.name,
        seconds,
        kernels,
        tuple(sorted(rules, key=lambda rule: (-rule.saved, rule.rule))),
        loops_of_unknown_length(optimized),
        rates,
        errors,
    )


def optimized_by_default(program: Program) -> OptimizedModule:
    """Returns the module that jaxlib would generate code from, which XLA makes in a process.

    Raises:
        HloError: XLA does not optimize the program, or ends the process.
    """
    limits = WorkerLimits(seconds=_SECONDS, idle_seconds=_SECONDS, memory=_MEMORY)
    with closing(Remote(partial(_Optimizer, program), limits)) as remote:
        try:
            return remote.call(_Optimizer.optimized)
        except WorkerLostError as lost:
            raise HloError(f"a process ended while XLA optimized the program: {lost}") from lost


class _Optimizer:
    """Optimizes a program by jaxlib, in the process that may die."""

    def __init__(self, program: Program, recorder: FlightRecorder) -> None:
        self._program, self._recorder = program, recorder

    def optimized(self) -> OptimizedModule:
        with lock.compiling(), self._recorder.noted(b"XLA's optimizations"):
            return OptimizedModule.from_proto(optimized_module(self._program))


def _rule(scope: RuleScope, seconds: float, outside: float) -> PredictedRule:
    """Returns the predicted effect of a rule on a run that takes seconds, those outside kernels."""
    # XLA may remove a part of what the rule saves by itself, so that more is saved than there is.
    left = max(seconds - scope.saved, outside, LEAST_SECONDS)
    exact = known_rules[scope.rule].exact
    return PredictedRule(scope.rule, scope.places, scope.saved, seconds / left, exact)
