"""Compares a program under two jaxlibs: times, outputs, kernels, a remedy, and a small case."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hlograph.comparing.case_folder import Case
from hlograph.comparing.kernel_groups import KernelGroup, matched
from hlograph.comparing.minimising import PART, DifferentPart, Minimiser, SlowerPart, sample_of
from hlograph.comparing.module_cuts import text_of, with_origins
from hlograph.comparing.recovering import Recovery, RecoverySearch
from hlograph.comparing.side import Interpreter, labels_of
from hlograph.comparing.timing import TwoTimes, quiet_turns_of
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.measured import Measured
from hlograph.execution.turns import Turns
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.measuring.verification import Checks, Verifier
from hlograph.optimization.named_function import NamedFunction
from hlograph.plans import Plan, Program
from hlograph.profiling import Profile

# Keys of programs in the processes of the sides.
_OWN, _SAME, _ORIGINS = "own", "same", "origins"

# Programs that take longer are compared on the usual inputs alone: the others are some twenty runs.
_THOROUGH = 0.2  # seconds

# Kernels are named whose times differ by this share of the difference of both runs, at least.
_LEAST_SHARE = 0.05


@dataclass(frozen=True)
class CompareSettings:
    """Settings of a comparison.

    Attributes:
        rounds: Number of times that both processes start anew, and are timed.
        budget: Seconds to look for a remedy, and again to make the program smaller.
        known: Plans that may be a remedy, such as those of another machine's store.
    """

    rounds: int = 3
    budget: float = 60.0
    known: tuple[Plan, ...] = ()

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            HloError: One of them is too small.
        """
        if self.rounds < 1 or self.budget < 0:
            raise HloError(
                "expected at least 1 round and a budget of at least 0 seconds, got "
                f"{self.rounds} and {self.budget:g}"
            )


@dataclass(frozen=True)
class JaxlibComparison:
    """Result of a comparison.

    Attributes:
        name: Name of the program.
        labels: Names of both sides.
        versions: What each side runs.
        times: Times of the program as each side lowers it.
        same: Times of the program as the first side lowers it, under both; None if both lower it
            to the same module, or the second does not compile that.
        lowered: Number of instructions of each opcode before optimizations, where they differ.
        checks: The second side's outputs beside the first's.
        groups: Kernels that make the difference, the largest first.
        recovery: What makes up for the loss; None if nothing does, or nothing is lost.
        tried: Number of flags and rules that were tried.
        case: The smallest part that shows the difference; None without a difference.
    """

    name: str
    labels: tuple[str, str]
    versions: tuple[dict[str, str], dict[str, str]]
    times: TwoTimes
    same: TwoTimes | None
    lowered: dict[str, tuple[int, int]]
    checks: Checks
    groups: tuple[KernelGroup, ...] = ()
    recovery: Recovery | None = None
    tried: int = 0
    case: Case | None = None

    @property
    def differs(self) -> bool:
        """True if one side is faster in each round, or the outputs differ by more than rounding."""
        return self.times.faster != "neither" or not self.checks.accepted

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison as a JSON object."""
        return {
            "program": self.name,
            "differs": self.differs,
            "versions": dict(zip(("this", "other"), self.versions, strict=True)),
            "times": self.times.to_json(),
            "same_module": self.same.to_json() if self.same else None,
            "lowered": {name: list(counts) for name, counts in self.lowered.items()},
            "outputs": {
                "accepted": self.checks.accepted,
                "verdict": self.checks.verdict,
                "reason": self.checks.reason,
                "samples": list(self.checks.samples),
            },
            "kernels": [group.to_json() for group in self.groups],
            "recovery": self.recovery.to_json() if self.recovery else None,
            "tried": self.tried,
        }


def compare(
    source: NamedFunction | Job,
    this: Interpreter,
    other: Interpreter,
    settings: CompareSettings | None = None,
    given: Sequence[Array] | None = None,
    say: Callable[[str], object] = lambda sentence: None,
) -> JaxlibComparison:
    """Compares a program under two jaxlibs.

    Args:
        source: A function, which each side lowers itself, or a program with its inputs, which both
            compile.
        this: The first side.
        other: The second side.
        settings: Settings; None takes the defaults.
        given: Inputs for a function; None takes random ones.
        say: Function that is told what happens.

    Raises:
        HloError: A side does not lower, compile or run the program, or both lower it to different
            parameters or results.
    """
    settings = settings or CompareSettings()
    if isinstance(source, Job):
        programs, given = (source.program, source.program), source.given
    else:
        programs = this.lower(source), other.lower(source)
    with Interpreter("control", this.python, this.environment) as control:
        return _Comparing(programs, given, (this, other), control, settings, say).run()


@dataclass
class _Comparing:
    """Steps of a comparison, in their order."""

    programs: tuple[Program, Program]
    given: Sequence[Array] | None
    sides: tuple[Interpreter, Interpreter]
    control: Interpreter
    settings: CompareSettings
    say: Callable[[str], object]
    inputs: list[Array] = field(default_factory=list)
    has_same: bool = False

    def run(self) -> JaxlibComparison:
        first, second = self.programs
        if first.signature != second.signature:
            raise HloError(
                f"expected a program with the same parameters and results under both, got "
                f"{first.signature} and {second.signature}"
            )
        self.samples = Samples(first, self.given, 0)
        self.inputs = self.samples.usual[0].inputs
        self.has_same = first.text_fingerprint != second.text_fingerprint
        rounds = [self._round(number) for number in range(self.settings.rounds)]
        this, other = self.sides
        comparison = JaxlibComparison(
            first.name,
            labels_of(this, other),
            (this.versions.to_json(), other.versions.to_json()),
            TwoTimes.of([Turns(each.seconds[:, :3], each.load[:, :3]) for each in rounds]),
            self._same_times(rounds),
            _changes(first, second),
            self._checks(),
        )
        if not comparison.differs:
            return comparison
        programs = self._compared(comparison)
        groups = self._groups(comparison, programs)
        comparison = replace(comparison, groups=groups)
        if comparison.times.faster != "neither":
            recovery, tried = self._recovery(comparison)
            comparison = replace(comparison, recovery=recovery, tried=tried)
        return replace(comparison, case=self._case(comparison, programs))

    def _round(self, number: int) -> Turns:
        """Compiles the programs in fresh processes, and times them."""
        self.say(f"round {number + 1} of {self.settings.rounds}: compile and time")
        this, other = self.sides
        if number:
            for side in (this, other, self.control):
                side.restart()
        for side in (this, self.control):
            side.compile(_OWN, self.programs[0], self.inputs)
        other.compile(_OWN, self.programs[1], self.inputs)
        timed = [(this, _OWN), (other, _OWN), (self.control, _OWN)]
        if self.has_same:
            try:
                other.compile(_SAME, self._module_of_first(), self.inputs)
                timed.append((other, _SAME))
            except HloError as error:
                self.has_same = False
                self.say(f"the other jaxlib does not compile this one's module: {error}")
        return quiet_turns_of(timed)

    def _module_of_first(self) -> Program:
        """Returns the first side's program in a form that other versions read."""
        first = self.programs[0]
        return Program(first.name, "hlo", first.hlo)

    def _same_times(self, rounds: Sequence[Turns]) -> TwoTimes | None:
        if not self.has_same:
            return None
        columns = [0, 3, 2]
        return TwoTimes.of([Turns(r.seconds[:, columns], r.load[:, columns]) for r in rounds])

    def _checks(self, key: str = _OWN) -> Checks:
        """Returns the comparison of the outputs of a program of the second side."""
        this, other = self.sides
        begun = time.perf_counter()
        verifier = Verifier(
            self.programs[0],
            self.samples,
            lambda name: lambda inputs: this.outputs(_OWN, inputs),
            "close",
        )
        other.outputs(key, self.inputs)
        thorough = time.perf_counter() - begun < _THOROUGH
        return verifier.check(lambda inputs: other.outputs(key, inputs), thorough=thorough)

    def _compared(self, comparison: JaxlibComparison) -> tuple[Program, Program]:
        """Returns the first side's module twice if both differ on it, or else what each lowers."""
        same, faster = comparison.same, comparison.times.faster
        if same is None:
            differs = self.programs[0].text_fingerprint == self.programs[1].text_fingerprint
        elif faster != "neither":
            differs = same.faster == faster
        else:
            differs = not self._checks(_SAME).accepted
        module = self._module_of_first()
        return (module, module) if differs else self.programs

    def _groups(
        self, comparison: JaxlibComparison, programs: tuple[Program, Program]
    ) -> tuple[KernelGroup, ...]:
        """Returns the kernels that make the difference."""
        self.say("kernels of both")
        times = comparison.times
        if programs[0] is programs[1] and comparison.same is not None:
            times = comparison.same
        if programs[0] is programs[1]:
            try:
                named = with_origins(programs[0])
                programs = named, named
            except HloError as error:
                self.say(f"kernels are matched by the names of operations: {error}")
        parts = []
        for side, program, seconds in zip(self.sides, programs, times.seconds, strict=True):
            final = side.compile(_ORIGINS, program, self.inputs)
            parts.append((_scaled(side.profile(_ORIGINS), seconds.value), final.text))
        groups = matched(parts[0], parts[1], comparison.labels)
        least = _LEAST_SHARE * abs(times.seconds[0].value - times.seconds[1].value)
        return tuple(g for g in groups if abs(g.seconds[0] - g.seconds[1]) > least)

    def _recovery(self, comparison: JaxlibComparison) -> tuple[Recovery | None, int]:
        """Returns what makes up for the loss of the slower side, and the number of plans tried."""
        slow = 1 if comparison.times.faster == "first" else 0
        self.say(f"flags and rules under {comparison.labels[slow]}")
        search = RecoverySearch(
            (self.sides[1 - slow], _OWN),
            (self.sides[slow], _OWN),
            self.programs[slow],
            self.inputs,
            comparison.times.measured.ratio ** (1 - 2 * slow),
            self.settings.budget,
            self.settings.known,
        )
        return search.best(), search.tried

    def _case(self, comparison: JaxlibComparison, programs: tuple[Program, Program]) -> Case:
        """Returns the smallest part of the program that shows the difference."""
        part = None
        if programs[0] is programs[1]:
            self.say("a small part that shows the difference")
            if comparison.times.faster != "neither":
                shows = SlowerPart(self.sides, comparison.times)
            else:
                shows = DifferentPart(self.sides, self.samples, comparison.checks)
            origins = [group.origins for group in comparison.groups]
            suspects = [*origins[:1], frozenset[str]().union(*origins)]
            try:
                minimiser = Minimiser(text_of(programs[0]), shows, self.settings.budget)
                part = minimiser.smallest(suspects)
            except HloError as error:
                self.say(f"the program is not made smaller: {error}")
        if part is None:
            return self._described(programs, self.samples, comparison.checks, is_whole=True)
        samples = Samples(part.program, None, 0)
        both = part.program, part.program
        return self._described(both, samples, comparison.checks, is_whole=False)

    def _described(
        self, programs: tuple[Program, Program], samples: Samples, checks: Checks, *, is_whole: bool
    ) -> Case:
        this, other = self.sides
        sample = sample_of(samples, checks)
        inputs = sample.inputs
        finals = [
            side.compile(PART, program, inputs)
            for side, program in zip(self.sides, programs, strict=True)
        ]
        self.control.compile(PART, programs[0], inputs)
        timed = [(side, PART) for side in (this, other, self.control)]
        measured = Measured.of(quiet_turns_of(timed))
        verifier = Verifier(
            programs[0], samples, lambda name: lambda arrays: this.outputs(PART, arrays), "close"
        )
        checks = verifier.check(
            lambda arrays: other.outputs(PART, arrays), thorough=sample.adversarial
        )
        return Case(
            programs,
            sample.name,
            inputs,
            (this.outputs(PART), other.outputs(PART)),
            (finals[0].text, finals[1].text),
            measured,
            f"{checks.verdict}, {checks.reason}",
            is_whole,
        )


def _scaled(profile: Profile, seconds: float) -> Profile:
    """Returns a profile whose kernels' times sum to the seconds of a run that turns have shown."""
    factor = seconds / profile.seconds
    kernels = (replace(kernel, seconds=kernel.seconds * factor) for kernel in profile.kernels)
    return replace(profile, seconds=seconds, kernels=tuple(kernels))


def _changes(first: Program, second: Program) -> dict[str, tuple[int, int]]:
    """Returns the numbers of instructions of both modules for each opcode in which they differ."""
    counts = [Counter(program.flow.opcodes) for program in (first, second)]
    names = sorted({*counts[0], *counts[1]})
    both = {name: (counts[0].get(name, 0), counts[1].get(name, 0)) for name in names}
    return {name: (before, after) for name, (before, after) in both.items() if before != after}
