"""Runs implementations on one set of inputs, and compares what they come to with each other."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hlograph.errors import (
    HloError,
)
from hlograph.execution import lock
from hlograph.execution.equivalence.arrays import Array, dtype_of, signature_of
from hlograph.execution.equivalence.elements import (
    apart,
    apart_alone,
    within,
)
from hlograph.execution.equivalence.engines import make_runner, obstacles
from hlograph.execution.equivalence.inputs import perturbed
from hlograph.execution.equivalence.reference import largest_epsilon
from hlograph.execution.equivalence.regions import Region
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.verdict import (
    RANK,
    Sensitivity,
    Verdict,
    difference,
    judge,
    sensitivity,
)
from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.evaluating import LIMITS, LONGEST, EvaluatedProgram, Places
from hlograph.measuring.implementations import (
    DEFAULT,
    EVALUATOR,
    Implementation,
    death_of,
)
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.plans import compile_program
from hlograph.reading.hlo_text import read_module

# Size of a region of outputs in each dimension, where the whole has too many elements.
_SIDE = 4

FIRST_SECONDS = 300.0
"""Time limit of the first implementation."""

# Others may take this many times as long as it, and some seconds.
_SLOWER, _SECONDS = 20.0, 20.0

_MOVES = 4
_FILL_FREED = -6  # M_PERTURB of mallopt
_PATTERN = 0xA5


@dataclass(frozen=True)
class WrongElements:
    """Elements of an output that are not those of the references.

    Attributes:
        output: Number of the output.
        count: How many elements are wrong.
        size: Number of elements of the output.
        index: Index of the first of them.
        value: Its value.
        expected: The value of the references.
        kernel: The instruction of jaxlib's final module that computes the output.
    """

    output: int
    count: int
    size: int
    index: tuple[int, ...]
    value: str
    expected: str
    kernel: str = ""

    def __str__(self) -> str:
        kernel = f", by {self.kernel}" if self.kernel else ""
        return (
            f"output {self.output}: {self.count:,} of {self.size:,} elements{kernel}; the first at "
            f"{self.index}: {self.value} instead of {self.expected}"
        )


class Answers(NamedTuple):
    """Outputs of implementations, compared with each other.

    Attributes:
        errors: Errors of implementations without outputs, by name.
        verdicts: The verdict on each two implementations with outputs.
        wrong: Elements of the default that are not those of another implementation, by its name.
        unstable: True if the default differs from itself.
    """

    errors: dict[str, str]
    verdicts: dict[frozenset[str], Verdict]
    wrong: dict[str, list[WrongElements]]
    unstable: bool

    def agree(self, first: str, second: str) -> bool:
        """Returns True if two implementations have outputs that differ at most by rounding."""
        return first == second or self._verdict(first, second) in ("equal", "close")

    def differ(self, first: str, second: str) -> bool:
        """Returns True if two implementations have outputs that differ by more than rounding."""
        return first != second and self._verdict(first, second) == "different"

    def _verdict(self, first: str, second: str) -> Verdict:
        return self.verdicts.get(frozenset((first, second)), "not comparable")


class ImplementationWorker:
    """Runs implementations on the inputs of one sample and compares them, in its process.

    Args:
        job: The program and its inputs.
        sample: Name of the usual sample; empty for the first one.
        recorder: Records each operation that may end the process.
        limit: Time limit of the first implementation in seconds.
    """

    def __init__(
        self, job: Job, sample: str, recorder: FlightRecorder, limit: float = FIRST_SECONDS
    ) -> None:
        self._program, self._recorder = job.program, recorder
        samples = Samples(job.program, job.given, job.seed)
        named = {each.name: each for each in samples.usual}
        self._inputs = named.get(sample, samples.usual[0]).inputs
        self._flow = samples.flow
        self._signature = job.program.signature
        self._epsilon = largest_epsilon(self._signature)
        self._error = rounding_count(samples.flow).bound()
        self._runners: dict[Implementation, Any] = {}
        self._outputs: dict[str, list[Array]] = {}
        self._errors: dict[str, str] = {}
        self._sensitivity: dict[Implementation, list[Sensitivity]] = {}
        self._first_limit = self._limit = limit
        self._unstable, self._kernels = False, []
        self._evaluated: EvaluatedProgram | None = None
        self._allowances: list[Array] | None = None

    def ask(self, implementations: Sequence[Implementation]) -> Answers:
        """Runs implementations and compares their outputs. Those with outputs are not run again."""
        for implementation in implementations:
            if implementation.name not in self._outputs and implementation.name not in self._errors:
                limit = self._limit if implementation.engine is None else min(self._limit, LONGEST)
                with lock.compiling(), self._recorder.noted(implementation.name.encode(), limit):
                    self._run(implementation)
        ran = [
            implementation
            for implementation in implementations
            if implementation.name in self._outputs
        ]
        verdicts: dict[frozenset[str], Verdict] = {
            frozenset((a.name, b.name)): self._compared(a.name, b.name)
            for a, b in itertools.combinations(ran, 2)
        }
        wrong = {
            implementation.name: self._wrong(implementation.name)
            for implementation in ran
            if verdicts.get(frozenset((DEFAULT.name, implementation.name))) == "different"
        }
        return Answers(dict(self._errors), verdicts, wrong, self._unstable)

    def outputs_of(self, implementation: Implementation) -> list[Array]:
        """Runs an implementation; its outputs, or its error, are kept."""
        self.ask([implementation])
        return self._outputs.get(implementation.name, [])

    def _run(self, implementation: Implementation) -> None:
        operation = self._recorder.operation
        try:
            run = self._runner(implementation)
            outputs = run(self._inputs)
        except (HloError, RuntimeError, IndexError) as error:  # the last of missing devices
            self._errors[implementation.name] = death_of(error)
            return
        expected = [(spec.dims, dtype_of(spec.element_type)) for spec in self._signature.results]
        types = [(array.shape, array.dtype) for array in outputs]
        is_whole = implementation != EVALUATOR or (self._evaluated and self._evaluated.is_whole)
        if is_whole and types != expected:
            self._errors[implementation.name] = "has outputs of other shapes or types"
            return
        self._runners[implementation], self._outputs[implementation.name] = run, outputs
        if self._limit == self._first_limit and operation is not None:
            now = self._recorder.operation
            self._limit = _SECONDS + _SLOWER * (now.seconds if now else 0.0)
        if implementation == DEFAULT:
            with _filling_freed_memory():
                again = run(self._inputs)
            # Not by how much the outputs change when the inputs move, as what reads wrong memory
            # changes then, too. Equal inputs have equal rounding.
            self._unstable = any(apart(a, b).any() for a, b in zip(again, outputs, strict=True))

    def _runner(self, implementation: Implementation) -> Any:
        if implementation.plan is not None:
            executable = compile_program(self._program, implementation.plan)
            if implementation == DEFAULT:
                self._kernels = _kernels(executable)
            donated = self._program.donated
            return lambda inputs: Run(executable, inputs, donated).outputs()
        assert implementation.engine is not None
        if implementation.engine == "compiled" and (
            reasons := obstacles(self._flow, implementation.engine)
        ):
            raise HloError("; ".join(reasons))
        if implementation == EVALUATOR:
            places = self._places if self._outputs else None
            self._evaluated = EvaluatedProgram(self._program, self._flow, places)
            return self._evaluated.run
        module = self._program.module()
        return make_runner(implementation.engine, module, signature_of(module), LIMITS)

    def _places(self) -> Places:
        """Returns regions to look at: where outputs differ first, the first and the last."""
        places: Places = []
        for share in (None, 0.0, 1.0):
            regions = []
            for number, spec in enumerate(self._signature.results):
                index = self._difference(number) if share is None else None
                at = index or tuple(int((share or 0.0) * size) for size in spec.dims)
                regions.append(_around(at, spec.dims))
            places.append(regions)
        return places

    def _difference(self, output: int) -> tuple[int, ...] | None:
        """Returns the first index at which an output differs between two; None if none does."""
        first, *others = [arrays[output] for arrays in self._outputs.values()]
        for compare in (apart, apart_alone):
            for other in others:
                mask = compare(other, first)
                if mask.any():
                    return tuple(int(place) for place in np.argwhere(mask)[0])
        return None

    def _pasted(self, name: str, beside: str) -> list[Array]:
        """Returns outputs by name; those that are regions are pasted into those of another."""
        if name != EVALUATOR.name or self._evaluated is None:
            return self._outputs[name]
        return self._evaluated.in_place(self._outputs[name], self._outputs[beside])

    def _compared(self, first: str, second: str) -> Verdict:
        """Returns the verdict on two implementations with outputs; see ``_verdict``."""
        return self._verdict(self._pasted(first, second), self._pasted(second, first))

    def _verdict(self, first: list[Array], second: list[Array]) -> Verdict:
        """Returns the verdict on the outputs of two implementations.

        Outputs that differ by less than one part in a hundred are close, whatever the estimate of
        their rounding says: another precision is no fault.
        """
        worst: Verdict = "equal"
        for number, spec in enumerate(self._signature.results):
            measured = difference(first[number], second[number], spec.element_type)
            if not measured.bitwise:
                sensitive = self._sensitive(number)
                verdict = judge(number, measured, sensitive, self._error, self._epsilon).verdict
                if verdict in ("close", "different"):
                    verdict = self._of_elements(number, first[number], second[number])
                worst = RANK[max(RANK.index(worst), RANK.index(verdict))]
        return worst

    def _of_elements(self, output: int, array: Array, expected: Array) -> Verdict:
        if self._apart(output, array, expected).any():
            return "different"
        # At the scale of the array they may differ, as a jump that rounding decides does.
        return "not comparable" if apart(array, expected).any() else "close"

    def _apart(self, output: int, array: Array, expected: Array) -> Array:
        """Returns where outputs differ: by more than elements may, or at the array's scale.

        The scale is that of the array where nothing says how far rounding moves each element.
        """
        at_scale, alone = apart(array, expected), apart_alone(array, expected)
        if not (at_scale.any() or alone.any()) or not (allowances := self._allowed()):
            return at_scale
        return (at_scale | alone) & ~within(array, expected, allowances[output])

    def _allowed(self) -> list[Array]:
        """Returns by how much rounding may change each element; nothing if that is not known."""
        if self._allowances is None and EVALUATOR.name in self._outputs:
            assert self._evaluated is not None
            name, limit = EVALUATOR.name.encode(), _SECONDS + 2 * LONGEST
            self._allowances = []
            with contextlib.suppress(HloError), self._recorder.noted(name, limit):
                changes = self._evaluated.allowances(self._inputs)
                unknown = [np.full(spec.dims, np.inf) for spec in self._signature.results]
                self._allowances = changes and self._evaluated.in_place(changes, unknown)
        return self._allowances or []

    def _sensitive(self, output: int) -> Sensitivity:
        """Returns how much an output changes when the inputs move.

        One that reads wrong memory changes whenever it runs, which says nothing of the program. So
        the implementations that avoid a known fault say it, or else all but the default.
        """
        compiled = [
            implementation
            for implementation in self._runners
            if implementation.engine != "evaluator"
        ]
        highest = max(implementation.rank for implementation in compiled)
        trusted = [
            implementation
            for implementation in compiled
            if implementation.rank == highest and implementation != DEFAULT
        ]
        moved = [self._moved(implementation)[output] for implementation in trusted or compiled]
        return Sensitivity(*map(max, zip(*moved, strict=True)))

    def _moved(self, implementation: Implementation) -> list[Sensitivity]:
        if implementation not in self._sensitivity:
            moves = range(_MOVES if self._epsilon else 0)
            with lock.compiling(), self._recorder.noted(implementation.name.encode(), self._limit):
                moved = [
                    self._runners[implementation](
                        perturbed(self._inputs, self._signature.parameters, seed)
                    )
                    for seed in moves
                ]
            outputs = self._outputs[implementation.name]
            self._sensitivity[implementation] = sensitivity(outputs, moved, self._signature)
        return self._sensitivity[implementation]

    def _wrong(self, right: str) -> list[WrongElements]:
        """Returns the elements of the default that are not those of another implementation."""
        found = []
        expected_by = self._pasted(right, DEFAULT.name)
        pairs = zip(self._outputs[DEFAULT.name], expected_by, strict=True)
        for number, (array, expected) in enumerate(pairs):
            mask = self._apart(number, array, expected)
            if not mask.any():
                continue
            index = tuple(int(place) for place in np.argwhere(mask)[0])
            kernel = self._kernels[number] if number < len(self._kernels) else ""
            values = f"{array[index]}", f"{expected[index]}"
            count = int(mask.sum())
            found.append(WrongElements(number, count, array.size, index, *values, kernel))
        return found


def _around(index: tuple[int, ...], dims: tuple[int, ...]) -> Region:
    """Returns a region of a few elements that has those at an index, or the nearest."""
    most = _SIDE if len(dims) <= _SIDE else 2
    region = []
    for at, size in zip(index, dims, strict=True):
        length = min(size, most)
        begin = min(max(at - length // 2, 0), size - length)
        region.append((begin, begin + length))
    return tuple(region)


def _kernels(executable: Any) -> list[str]:
    """Returns the instruction of the final module that computes each output."""
    (module,) = executable.hlo_modules()
    _, computations = read_module(module.to_string())
    entry = next(each for each in computations if each.is_entry)
    root = next(each for each in entry.instructions if each.is_root)
    return list(root.operands) if root.opcode == "tuple" else [root.name]


@contextlib.contextmanager
def _filling_freed_memory() -> Iterator[None]:
    """Fills memory with a pattern when it is allocated or freed, so that a wrong read shows it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is None:
        yield
        return
    mallopt(_FILL_FREED, _PATTERN)
    try:
        yield
    finally:
        mallopt(_FILL_FREED, 0)
