"""Verdicts on two modules: the differences between their outputs, and how they are judged.

An output with relative error ``e`` (``Difference``) is close if

    e <= min(r (1 + k), w (1 + s k))

where ``r`` bounds the rounding errors that the modules make by themselves if these are random, and
``w`` those of the worst case, both from operation counts (``rounding``). ``k`` is the factor by
which the original amplifies errors: its inputs are moved by one epsilon up or down, and ``k`` is
the change of the output in epsilons. Moved inputs represent all errors in between, since an error
of an intermediate value usually equals the effect of some error of the inputs. They move at random;
all in the worst direction would change the output by ``s k`` at most.

If that tolerance exceeds 1 %, the module is chaotic in this output, and a wrong result would pass
too. Errors above 1 % and below the tolerance are then neither close nor different but ``not
comparable``. The same applies to differing integers, predicates, NaNs and infinities if they also
differ in the original with moved inputs: a comparison or a rounding to integers depends on the
last bit. If they do not, any such difference is ``different``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, INEXACT, Array, Signature, dtype_of
from hlograph.execution.equivalence.rounding import RoundingBound


class Difference(NamedTuple):
    """Difference of an array from a reference.

    Attributes:
        bitwise: True if all bits are equal, except those inside NaNs.
        exact_type: True for types without rounding: integers and predicates.
        misplaced: Number of elements that are NaN or infinite in one array and not the same in
            the other; for integers and predicates, of elements that differ.
        absolute: Largest difference of two finite elements.
        relative: Largest difference divided by the reference's element or root mean square,
            whichever is larger: an element near zero is as precise as its neighbours, not more.
        ulp: ``relative`` in units of the type's epsilon.
        scale: Root mean square of the finite elements of the reference.
    """

    bitwise: bool
    exact_type: bool
    misplaced: int
    absolute: float
    relative: float
    ulp: float
    scale: float


_SAME = Difference(True, False, 0, 0.0, 0.0, 0.0, 0.0)


def difference(reference: Array, other: Array, element_type: str) -> Difference:
    """Compares two arrays of the same shape and type.

    Args:
        reference: The expected array.
        other: The array to compare.
        element_type: XLA's name of their element type.
    """
    if element_type not in INEXACT:
        wrong = int(np.count_nonzero(reference != other))
        return Difference(wrong == 0, True, wrong, 0.0, 0.0, 0.0, 0.0)
    part_type = COMPLEX_PARTS.get(element_type, element_type)
    if element_type in COMPLEX_PARTS:
        part = dtype_of(part_type)
        reference, other = reference.reshape(-1).view(part), other.reshape(-1).view(part)
    if _bits_equal(reference, other):
        return _SAME
    return _of_floats(
        np.asarray(reference, np.float64),
        np.asarray(other, np.float64),
        float(ml_dtypes.finfo(dtype_of(part_type)).eps),
    )


def _bits_equal(reference: Array, other: Array) -> bool:
    bits = np.dtype(f"u{reference.dtype.itemsize}")
    same = np.ascontiguousarray(reference).view(bits) == np.ascontiguousarray(other).view(bits)
    # XLA does not define the sign and payload of a NaN.
    return bool(np.all(same | (np.isnan(reference) & np.isnan(other))))


def _of_floats(
    reference: NDArray[np.float64], other: NDArray[np.float64], epsilon: float
) -> Difference:
    finite = np.isfinite(reference) & np.isfinite(other)
    same = (reference == other) | (np.isnan(reference) & np.isnan(other))
    misplaced = int(np.count_nonzero(~finite & ~same))
    a, b = reference[finite], other[finite]
    with np.errstate(over="ignore", divide="ignore"):  # of what is zero, all errors are infinite
        scale = root_mean_square(a)
        apart = np.abs(a - b)
        absolute = float(apart.max(initial=0.0))
        size = np.maximum(np.abs(a), scale)
        relative = float(
            np.divide(apart, size, out=np.zeros_like(apart), where=apart > 0).max(initial=0.0)
        )
    return Difference(False, False, misplaced, absolute, relative, relative / epsilon, scale)


def root_mean_square(values: NDArray[Any]) -> float:
    """Returns the root mean square without overflow; 0 for an empty array."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean(np.square(values / largest))))


_MEANINGLESS = 0.01


class Sensitivity(NamedTuple):
    """Change of an output when the inputs move by one epsilon, the largest of several runs.

    Attributes:
        misplaced: Number of elements that become NaN or infinite; for integers, that change.
        relative: Largest relative change, as in ``Difference``.
        absolute: Largest absolute change.
    """

    misplaced: int
    relative: float
    absolute: float


class OutputVerdict(NamedTuple):
    """Verdict on one output of one sample."""

    verdict: Verdict
    reason: str
    output: int
    difference: Difference

    @property
    def badness(self) -> tuple[int, float]:
        """Key that is larger for a worse verdict, and for a larger error of the same verdict."""
        return RANK.index(self.verdict), self.difference.relative


def sensitivity(
    reference: list[Array], moved: list[list[Array]], signature: Signature
) -> list[Sensitivity]:
    """Returns the sensitivity of each output.

    Args:
        reference: Outputs on the original inputs.
        moved: Outputs of several runs on moved inputs.
        signature: Signature of the module.
    """
    result = []
    for number, spec in enumerate(signature.results):
        changes = [difference(reference[number], run[number], spec.element_type) for run in moved]
        result.append(
            Sensitivity(
                max((change.misplaced for change in changes), default=0),
                max((change.relative for change in changes), default=0.0),
                max((change.absolute for change in changes), default=0.0),
            )
        )
    return result


def judge(
    output: int, measured: Difference, sensitive: Sensitivity, error: RoundingBound, epsilon: float
) -> OutputVerdict:
    """Judges one output that is not bitwise equal.

    Args:
        output: Number of the output.
        measured: Difference from the reference.
        sensitive: Sensitivity of the output.
        error: Bound on what rounding changes (``rounding.RoundingCount.bound``).
        epsilon: Relative movement of the inputs; 0 if no input is a float.
    """
    if measured.misplaced:
        elements = "elements" if measured.exact_type else "NaNs or infinities"
        reason = f"output {output}: {measured.misplaced} {elements} are not those of the original"
        if sensitive.misplaced:
            return OutputVerdict(
                "not comparable",
                f"{reason}, but {sensitive.misplaced} change in the original itself when its "
                "inputs move by one epsilon",
                output,
                measured,
            )
        return OutputVerdict("different", reason, output, measured)
    moves = 1 / epsilon if epsilon else 0.0
    tolerance = error.tolerance(1.0, moves * sensitive.relative)
    reason = (
        f"output {output}: relative error {measured.relative:.3g} ({measured.ulp:.3g} ulp), "
        f"tolerance {tolerance:.3g}"
    )
    if measured.relative <= min(tolerance, _MEANINGLESS):
        return OutputVerdict("close", reason, output, measured)
    # The relative error of an output that is zero except for cancellation has no meaning.
    within = measured.absolute <= error.tolerance(0.0, moves * sensitive.absolute)
    if measured.relative <= tolerance or within:
        chaotic = f"{reason}, which would let wrong results pass: the original is chaotic"
        return OutputVerdict("not comparable", chaotic, output, measured)
    return OutputVerdict("different", reason, output, measured)


Verdict = Literal["equal", "close", "not comparable", "different"]
EngineName = Literal["compiled", "evaluator"]

RANK: tuple[Verdict, ...] = get_args(Verdict)
"""Verdicts from best to worst."""


class NotComparableError(HloError):
    """Raised when the result of modules that could not be compared is used as a condition."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of running both modules with one engine.

    Attributes:
        engine: ``compiled`` by XLA:CPU, or XLA's reference ``evaluator``.
        verdict: The verdict, as in ``Equivalence``.
        reason: The reason for the verdict in words; names the output.
        output: Number of the worst output; None if none differs.
        ulp: Largest error of that output, in units of its type's epsilon (``difference``).
        relative: Largest relative error of that output.
        samples: Number of random inputs that both ran on.
        finite: Fraction of the elements of the original's outputs that are finite, and so are
            compared.
    """

    engine: EngineName
    verdict: Verdict
    reason: str
    output: int | None = None
    ulp: float = 0.0
    relative: float = 0.0
    samples: int = 0
    finite: float = 0.0


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of a comparison of two modules on random inputs.

    As a condition it is true for ``equal`` and ``close`` and false for ``different``. For ``not
    comparable`` it raises ``NotComparableError``, so that ``if`` and ``assert`` cannot mistake
    modules that were not compared for equal or different ones.

    Attributes:
        verdict: ``equal``: every bit of every output is equal on every sample. ``close``: the
            outputs differ by rounding only. ``different``: they differ by more than rounding.
            ``not comparable``: the modules cannot run here, or their outputs depend so much on
            rounding errors that a comparison has no meaning.
        reason: The reason for the verdict in words.
        seed: Seed of the inputs; the same seed gives the same inputs.
        findings: Results of the engines; the verdict is the worst of theirs. Empty if no engine
            ran.
    """

    verdict: Verdict
    reason: str
    seed: int
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: tuple[Finding, ...], seed: int) -> Equivalence:
        """Returns the result with the worst of several findings (at least one)."""
        worst = max(findings, key=lambda finding: RANK.index(finding.verdict))
        return cls(worst.verdict, f"{worst.engine}: {worst.reason}", seed, findings)

    @property
    def ulp(self) -> float:
        """Largest error of any output in any finding, in units of its type's epsilon."""
        return max((finding.ulp for finding in self.findings), default=0.0)

    @property
    def samples(self) -> int:
        """Number of random inputs that both ran on; 0 if no engine ran."""
        return max((finding.samples for finding in self.findings), default=0)

    def __bool__(self) -> bool:
        if self.verdict == "not comparable":
            raise NotComparableError(
                f"the modules were not compared: {self.reason}; look at .verdict instead of "
                "taking the result as a condition"
            )
        return self.verdict in ("equal", "close")

    def __str__(self) -> str:
        return f"{self.verdict}: {self.reason}"
