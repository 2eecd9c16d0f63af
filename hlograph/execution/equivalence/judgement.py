"""Whether two runs differ by more than rounding.

An output of relative error ``e`` (``difference``) is close if

    e <= 8 r (1 + k)

where ``r`` is the rounding error that the modules commit by themselves (``rounding``) and ``k`` by
how much the original magnifies errors: its inputs are moved by one epsilon up or down, and ``k`` is
the change of the output, in epsilons. Moving inputs stands for all errors on the way, since an
error in an intermediate value is the effect of some error in the inputs as a rule. The factor 8
is the probability: eight standard deviations.

Where that tolerance exceeds 1 %, the module is chaotic in this output: a wrong result would pass
too. Errors above 1 % and below the tolerance are then neither close nor different but ``not
comparable``. The same holds of integers, predicates, NaNs and infinities that differ, where they
also differ in the original with its inputs moved by an epsilon: a comparison or a rounding to
integers hangs on the last bit. Where they do not, any such difference is ``different``.
"""

from __future__ import annotations

from typing import NamedTuple

from hlograph.execution.equivalence.arrays import Array, Signature
from hlograph.execution.equivalence.difference import Difference, difference
from hlograph.execution.equivalence.verdict import Verdict

_FACTOR = 8.0
_MEANINGLESS = 0.01


class Sensitivity(NamedTuple):
    """What an output does when the inputs move by one epsilon.

    Attributes:
        misplaced: Elements that become NaN, infinite or, of integers, another number; most of
            all tries.
        relative: Largest change, relative as in ``Difference``.
        absolute: Largest change.
    """

    misplaced: int
    relative: float
    absolute: float


class Judgement(NamedTuple):
    """Verdict on one output of one sample."""

    verdict: Verdict
    reason: str
    output: int
    difference: Difference


def sensitivity(
    reference: list[Array], moved: list[list[Array]], signature: Signature
) -> list[Sensitivity]:
    """Returns what each output does when the inputs move.

    Args:
        reference: Outputs.
        moved: Outputs of several runs on moved inputs.
        signature: What they are.
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
) -> Judgement:
    """Judges one output that is not bitwise equal.

    Args:
        output: Its number.
        found: How far it is from the reference.
        sensitive: What it does when the inputs move.
        error: Rounding error of the modules, relative (``rounding.rounding_error``).
        epsilon: By how much the inputs were moved, relative; 0 where none is a float.
    """
    if found.misplaced:
        what = "elements" if found.exact_type else "NaNs or infinities"
        reason = f"output {output}: {found.misplaced} {what} are not those of the original"
        if sensitive.misplaced:
            return Judgement(
                "not comparable",
                f"{reason}, but {sensitive.misplaced} change in the original itself when its "
                "inputs move by one epsilon",
                output,
                found,
            )
        return Judgement("different", reason, output, found)
    magnified = error / epsilon if epsilon else 0.0
    tolerance = _FACTOR * (error + magnified * sensitive.relative)
    reason = (
        f"output {output}: relative error {found.relative:.3g} ({found.ulp:.3g} ulp), "
        f"tolerance {tolerance:.3g}"
    )
    if found.relative <= min(tolerance, _MEANINGLESS):
        return Judgement("close", reason, output, found)
    # An output that is zero but for cancellation has no relative error to speak of.
    within = found.absolute <= _FACTOR * magnified * sensitive.absolute
    if found.relative <= tolerance or within:
        chaotic = f"{reason}, which would let wrong results pass: the original is chaotic"
        return Judgement("not comparable", chaotic, output, found)
    return Judgement("different", reason, output, found)
