"""Judgement of the differences between the outputs of two modules.

An output with relative error ``e`` (``difference``) is close if

    e <= 8 r (1 + k)

where ``r`` is the rounding error that the modules make by themselves (``rounding``) and ``k`` is
the factor by which the original amplifies errors: its inputs are moved by one epsilon up or down,
and ``k`` is the change of the output in epsilons. Moved inputs represent all errors in between,
since an error of an intermediate value usually equals the effect of some error of the inputs. The
factor 8 stands for eight standard deviations.

If that tolerance exceeds 1 %, the module is chaotic in this output, and a wrong result would pass
too. Errors above 1 % and below the tolerance are then neither close nor different but ``not
comparable``. The same applies to differing integers, predicates, NaNs and infinities if they also
differ in the original with moved inputs: a comparison or a rounding to integers depends on the
last bit. If they do not, any such difference is ``different``.
"""

from __future__ import annotations

from typing import NamedTuple

from hlograph.execution.equivalence.arrays import Array, Signature
from hlograph.execution.equivalence.difference import Difference, difference
from hlograph.execution.equivalence.verdict import Verdict

_FACTOR = 8.0
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
    output: int, found: Difference, sensitive: Sensitivity, error: float, epsilon: float
) -> OutputVerdict:
    """Judges one output that is not bitwise equal.

    Args:
        output: Number of the output.
        found: Difference from the reference.
        sensitive: Sensitivity of the output.
        error: Relative rounding error of the modules (``rounding.rounding_error``).
        epsilon: Relative movement of the inputs; 0 if no input is a float.
    """
    if found.misplaced:
        what = "elements" if found.exact_type else "NaNs or infinities"
        reason = f"output {output}: {found.misplaced} {what} are not those of the original"
        if sensitive.misplaced:
            return OutputVerdict(
                "not comparable",
                f"{reason}, but {sensitive.misplaced} change in the original itself when its "
                "inputs move by one epsilon",
                output,
                found,
            )
        return OutputVerdict("different", reason, output, found)
    magnified = error / epsilon if epsilon else 0.0
    tolerance = _FACTOR * (error + magnified * sensitive.relative)
    reason = (
        f"output {output}: relative error {found.relative:.3g} ({found.ulp:.3g} ulp), "
        f"tolerance {tolerance:.3g}"
    )
    if found.relative <= min(tolerance, _MEANINGLESS):
        return OutputVerdict("close", reason, output, found)
    # The relative error of an output that is zero except for cancellation has no meaning.
    within = found.absolute <= _FACTOR * magnified * sensitive.absolute
    if found.relative <= tolerance or within:
        chaotic = f"{reason}, which would let wrong results pass: the original is chaotic"
        return OutputVerdict("not comparable", chaotic, output, found)
    return OutputVerdict("different", reason, output, found)
