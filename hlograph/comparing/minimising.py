"""Makes the module in which two jaxlibs differ as small as it can be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hlograph.comparing.module_cuts import cut, kept_by, program_of
from hlograph.comparing.side import Interpreter
from hlograph.comparing.timing import QUICK, TwoTimes, turns_of
from hlograph.errors import HloError
from hlograph.execution.measured import Measured
from hlograph.measuring.samples import Sample, Samples
from hlograph.measuring.verification import Checks, Verifier
from hlograph.optimization.leading import LEAST_GAIN, LEAST_LEAD
from hlograph.plans import Program
from hlograph.reading.hlo_editing import Computation, ModuleText

T = TypeVar("T")

PART = "part"
"""Key of a part in the processes of both sides."""

_NAME = "minimal"

# A part shows a difference if it is, as a factor, at least this power of the whole's.
_KEPT_POWER = 0.5


@dataclass(frozen=True)
class ProgramPart:
    """A part of a program.

    Attributes:
        program: The part.
        text: Its module.
    """

    program: Program
    text: ModuleText

    @property
    def num_instructions(self) -> int:
        """Number of its instructions, those of called computations included."""
        return sum(len(body.instructions) for body in self.text.computations.values())


class Minimiser:
    """Looks for a small part of a program that still shows something.

    Args:
        module: The module of the program.
        shows: Returns True if a part shows it, which may compile and run the part.
        budget: Seconds.
    """

    def __init__(self, module: ModuleText, shows: Callable[[Program], bool], budget: float) -> None:
        self._module, self._shows = module, shows
        self._until = time.monotonic() + budget
        self._best: ProgramPart | None = None
        self.tried = 0

    def smallest(self, suspects: Sequence[frozenset[str]]) -> ProgramPart | None:
        """Returns the smallest part that was found; None if no part shows it.

        Args:
            suspects: Names of instructions that may be the reason, the most suspicious ones first.
        """
        for computation, names in self._candidates(suspects):
            if self._is_shown(computation, names):
                kept = [op.name for op in computation.instructions if op.name in set(names)]
                shortest(kept, lambda fewer, where=computation: self._is_shown(where, fewer))
                break
        return self._best

    def _candidates(
        self, suspects: Sequence[frozenset[str]]
    ) -> Iterator[tuple[Computation, Sequence[str]]]:
        """Yields parts: of each computation the suspects, and then the whole."""
        for some in suspects:
            for computation in self._module.computations.values():
                names = [op.name for op in computation.instructions if op.name in some]
                if names:
                    yield computation, names
        all_suspects = frozenset[str]().union(*suspects)
        for computation in self._module.computations.values():
            names = [op.name for op in computation.instructions if op.opcode != "parameter"]
            if computation.is_entry or all_suspects.intersection(names):
                yield computation, names

    def _is_shown(self, computation: Computation, names: Sequence[str]) -> bool:
        """Returns True if a part shows it, and keeps it if it is the smallest so far."""
        if not names or time.monotonic() > self._until:
            return False
        text = cut(self._module, computation, kept_by(computation, names))
        if text is None:
            return False
        self.tried += 1
        try:
            part = ProgramPart(program_of(text, _NAME), text)
            shown = self._shows(part.program)
        except HloError:
            return False
        smaller = self._best is None or part.num_instructions < self._best.num_instructions
        if shown and smaller:
            self._best = part
        return shown


def shortest(items: Sequence[T], shows: Callable[[list[T]], bool]) -> list[T]:
    """Removes as many items as possible, in chunks that get smaller (Zeller's ddmin, complements).

    Args:
        items: Items for which `shows` is true.
        shows: Returns True if the defect appears with some of the items, in order.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while True:
        before, at = len(kept), 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if shows(fewer):
                kept = fewer
            else:
                at += size
        if size > 1:
            size = (size + 1) // 2 if size > 2 else 1
        elif len(kept) == before:
            return kept


class SlowerPart:
    """Says whether a part is slower under the same side as the program is.

    Args:
        sides: Both sides.
        times: Times of the program.
    """

    def __init__(self, sides: tuple[Interpreter, Interpreter], times: TwoTimes) -> None:
        self._sides = sides
        self._sign = 1 if times.faster == "second" else -1
        factor = times.measured.ratio**self._sign
        self._least = max(LEAST_LEAD, factor**_KEPT_POWER)

    def __call__(self, program: Program) -> bool:
        """Compiles a part under both sides, and times it briefly."""
        inputs = Samples(program, None, 0).usual[0].inputs
        for side in self._sides:
            side.compile(PART, program, inputs)
        measured = Measured.of(turns_of([(side, PART) for side in self._sides], QUICK))
        low = measured.low if self._sign > 0 else 1 / measured.high
        gain = self._sign * (measured.default_seconds - measured.seconds)
        return low >= self._least and gain >= LEAST_GAIN


class DifferentPart:
    """Says whether the outputs of a part differ by more than rounding.

    Args:
        sides: Both sides.
        samples: Inputs of the program.
        checks: Comparison of the program's outputs.
    """

    def __init__(
        self, sides: tuple[Interpreter, Interpreter], samples: Samples, checks: Checks
    ) -> None:
        self._sides = sides
        self._thorough = sample_of(samples, checks).adversarial

    def __call__(self, program: Program) -> bool:
        """Compiles a part under both sides, and compares the outputs."""
        samples = Samples(program, None, 0)
        first, second = self._sides
        for side in self._sides:
            side.compile(PART, program, samples.usual[0].inputs)
        verifier = Verifier(
            program, samples, lambda name: lambda arrays: first.outputs(PART, arrays), "close"
        )
        checks = verifier.check(
            lambda arrays: second.outputs(PART, arrays), thorough=self._thorough
        )
        return checks.verdict == "different"


def sample_of(samples: Samples, checks: Checks) -> Sample:
    """Returns the inputs on which outputs differ, or the first ones if they do not differ."""
    if not checks.accepted:
        for sample in (*samples.usual, *samples.adversarial()):
            if sample.name == checks.samples[-1]:
                return sample
    return samples.usual[0]
