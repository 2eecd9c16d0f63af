"""Requests to a measuring worker, and its answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.verification import Checks
from hlograph.plans import Measured, Numerics, Plan, Program

Objective = Literal["time", "memory"]
"""Quantity by which plans are chosen."""

MAX_MEMORY_RATIO = 1.25
"""Largest peak memory of a plan unless more is allowed, as a multiple of the default's."""


@dataclass(frozen=True)
class Job:
    """A program to measure, and the conditions.

    Attributes:
        program: The program.
        given: Inputs of the user, one array for each parameter; None takes random ones.
        numerics: Class that results must belong to.
        seed: Seed of random inputs.
        reference: Plan whose outputs are right, and that others are timed beside; the empty plan is
            jaxlib's default.
        patience: Seconds that the reference may take to compile, or to run.
        budget: Seconds of the search, of which the compilation of one plan takes a share at most in
            a screening.
        objective: What is made small: the time, or the peak memory at no more than 1.1 times the
            default's time.
        max_memory_ratio: Largest peak memory of a plan, as a multiple of the default's.

    Raises:
        HloError: The objective is none, or the ratio is not at least 1.
    """

    program: Program
    given: Sequence[Array] | None = None
    numerics: Numerics = "close"
    seed: int = 0
    reference: Plan = field(default_factory=Plan)
    patience: float = 3600.0
    budget: float = math.inf
    objective: Objective = "time"
    max_memory_ratio: float = MAX_MEMORY_RATIO

    def __post_init__(self) -> None:
        """Checks the objective and the ratio."""
        if self.objective not in get_args(Objective):
            expected = " or ".join(map(repr, get_args(Objective)))
            raise HloError(f"expected the objective {expected}, got {self.objective!r}")
        if not self.max_memory_ratio >= 1:
            raise HloError(
                "expected a max_memory_ratio of at least 1, the default's memory, got "
                f"{self.max_memory_ratio!r}"
            )


@dataclass(frozen=True)
class Effort:
    """Duration of a measurement.

    Attributes:
        pairs: Largest number of pairs default / plan.
        block_seconds: Least duration of one side of a pair.
        max_seconds: Time after which no pair begins.
        thorough: True also compares on adversarial inputs, and times the default compiled again
            as a control.
        least: Number of pairs in any case.
    """

    pairs: int
    block_seconds: float
    max_seconds: float
    thorough: bool
    least: int = 3


SCREEN = Effort(pairs=15, block_seconds=0.005, max_seconds=1.0, thorough=False)
"""Effort for each candidate."""

FINAL = Effort(pairs=60, block_seconds=0.01, max_seconds=4.0, thorough=True, least=6)
"""Effort for the winner."""

LONG_RUN = 1.0
"""Seconds of a run from which on a third of the turns has to do, without a control."""


@dataclass(frozen=True)
class MeasurementRequest:
    """A request: measure a plan beside the reference of the job.

    Attributes:
        plan: The plan.
        effort: Duration of the measurement.
        profiled: True also finds out where the default spends its time.
        best: Ratio that the fastest plan so far has at least; 0 if not known. A plan that is far
            behind it is timed briefly.
        without: Names of samples on which outputs are not compared here.
        beside_default: True times the plan beside jaxlib's default, although it is compared with
            another reference.
    """

    plan: Plan
    effort: Effort = SCREEN
    profiled: bool = False
    best: float = 0.0
    without: frozenset[str] = frozenset()
    beside_default: bool = False


@dataclass(frozen=True)
class PlanMeasurement:
    """Answer to a trial.

    Attributes:
        plan: The plan.
        thorough: True if its effort was.
        measured: Its speed; None if it was not timed.
        checks: Comparison of its outputs with the default's; None if it did not compile.
        error: The reason why it was not timed; empty if it was.
        seconds: Wall time of the trial.
        compile_seconds: Time of jaxlib's compilation.
        changes: Numbers of instructions in jaxlib's final modules of the default and of the plan,
            for each opcode in which they differ.
        hot: Share of the default's time in the kernels that contain each kind of instruction; None
            if the trial did not ask for it. See ``compiled.Shares``.
        accident: True if the error may not come again, as a time limit on a busy machine; False if
            the plan is the reason, or there is no error.
        when: Seconds of its race, after which it was known; 0 outside of races.
    """

    plan: Plan
    thorough: bool = False
    measured: Measured | None = None
    checks: Checks | None = None
    error: str = ""
    seconds: float = 0.0
    compile_seconds: float = 0.0
    changes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    hot: Mapping[str, float] | None = None
    accident: bool = False
    when: float = 0.0

    @property
    def ratio(self) -> float:
        """Median ratio default / plan; 0 if it was not timed."""
        return self.measured.ratio if self.measured else 0.0
