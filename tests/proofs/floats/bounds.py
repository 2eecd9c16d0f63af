"""The bound on what a rule may change by rounding, derived from both modules and compared.

``error_bounds`` says how far the outputs of each module may be from the exact ones. A rule that is
an identity over the reals changes an output by at most the sum of the two. The comparison of
``Module.equivalent_to`` has a tolerance from the numbers of operations alone; both are given in
epsilons of the element or of the root mean square, whichever is larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, Array, dtype_of
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import perturbed
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.verdict import root_mean_square, sensitivity
from tests.proofs.floats.bounded import Bounded
from tests.proofs.floats.errors import error_bounds
from tests.proofs.floats.programs import Pair
from tests.proofs.floats.values import drawn

# What is left of a bound in single precision is less than 1e-8.
_ROUNDING_OF_ANALYSIS = 1e-4
_DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rounding:
    """Holds how much a rule changes the outputs of a program, and how much it may.

    Attributes:
        measured: Greatest change of an element, as a share of its bound; infinite if integers or
            predicates differ, which have no error.
        reals: Greatest difference of the exact outputs of both modules, as a share of the bound: 0
            but for the rounding of the analysis, which is that of double precision; always 0 for
            that type.
        bound: Greatest bound, in epsilons of the output's type; 0 of outputs that are all zeros,
            to which nothing is relative.
        tolerance: The tolerance of the comparison where the bound is greatest, in epsilons.
    """

    measured: float = 0.0
    reals: float = 0.0
    bound: float = 0.0
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        """True if both modules are equal over the reals, and differ by less than the bound."""
        return self.measured <= 1 and self.reals <= _ROUNDING_OF_ANALYSIS

    def worst(self, other: Rounding) -> Rounding:
        """Returns the worst of two results; the tolerance is that with the greater bound."""
        larger = max(self, other, key=lambda rounding: rounding.bound)
        return Rounding(
            max(self.measured, other.measured),
            max(self.reals, other.reals),
            larger.bound,
            larger.tolerance,
        )


def rounding(pair: Pair, inputs: list[Array]) -> Rounding:
    """Compares what a rule changes with its bound.

    Args:
        pair: A program before and after the rule.
        inputs: Finite inputs.

    Returns:
        The worst of all outputs that are floats, elements that may overflow left out.

    Raises:
        NoBoundError: An output has no bound.
        HloError: An operation has no rule for its error.
    """
    before, after = (error_bounds(module, inputs) for module in (pair.before, pair.after))
    results = [pair.evaluated(inputs)] if pair.element_type.startswith("f8") else []
    results.append(pair.compiled(inputs))
    tolerances = _tolerances(pair, inputs)
    worst = Rounding()
    for old, new in results:
        for i, spec in enumerate(pair.signature.results):
            if spec.element_type not in FLOATS:
                if not np.array_equal(old[i], new[i]):
                    worst = worst.worst(Rounding(measured=np.inf))
                continue
            info = ml_dtypes.finfo(dtype_of(spec.element_type))
            change = _Change(before[i], after[i], float(info.max))
            worst = worst.worst(change.of(old[i], new[i], float(info.eps), tolerances[i]))
    return worst


@dataclass(frozen=True)
class _Change:
    before: Bounded
    after: Bounded
    largest: float

    def of(self, old: Array, new: Array, epsilon: float, tolerance: float) -> Rounding:
        exact = self.before.value
        bound = self.before.bound + self.after.bound
        sizes = np.maximum(self.before.most, self.after.most)
        with np.errstate(all="ignore"):
            apart = np.abs(old.astype(np.float64) - new.astype(np.float64))
            reals = np.abs(exact - self.after.value)
        use = np.isfinite(exact) & np.isfinite(bound) & (sizes < self.largest)
        # What the program computes from a number that has overflowed says nothing, and in another
        # order of operations others may be computed from it.
        finite = np.isfinite(old.astype(np.float64))
        use &= finite if finite.all() else finite & np.isfinite(new.astype(np.float64))
        if not use.any():
            return Rounding()
        exact, bound, apart, reals = (each[use] for each in (exact, bound, apart, reals))
        size = np.maximum(np.abs(exact), root_mean_square(exact))
        return Rounding(
            _share(apart, bound),
            _share(reals, bound) if epsilon > _DOUBLE else 0.0,
            _share(bound, size) / epsilon if size.any() else 0.0,
            tolerance / epsilon,
        )


def _share(part: Array, of: Array) -> float:
    """Returns the greatest quotient; 0 for 0/0, and infinity for other divisions by zero."""
    part, of = np.nan_to_num(part, nan=np.inf), np.asarray(of)
    quotients = np.where(part > 0, np.inf, 0.0)
    np.divide(part, of, out=quotients, where=of > 0)
    return float(quotients.max(initial=0.0))


def _tolerances(pair: Pair, inputs: list[Array]) -> list[float]:
    """Returns the relative tolerances by which the package would judge each output."""
    specs = pair.signature.parameters
    before, after = (rounding_count(Flow(m.graph())) for m in (pair.before, pair.after))
    error = before.bound(after)
    reference, _ = pair.compiled(inputs)
    moved = [pair.compiled(perturbed(inputs, specs, seed))[0] for seed in range(3)]
    types = {spec.element_type for spec in specs} & FLOATS
    epsilon = max((float(ml_dtypes.finfo(dtype_of(name)).eps) for name in types), default=0.0)
    moves = 1 / epsilon if epsilon else 0.0
    return [
        error.tolerance(1.0, moves * output.relative)
        for output in sensitivity(reference, moved, pair.signature)
    ]


def worst_rounding(pairs: list[Pair], samples: int) -> tuple[Rounding, int, str]:
    """Compares what a rule changes with its bound, on usual inputs and on wide ranges.

    Args:
        pairs: Programs of the rule.
        samples: Number of inputs of each class.

    Returns:
        The worst result, with the bound of usual inputs; the number of comparisons; and the reason
        why a program has no bound, empty if all have.
    """
    worst, count, reason = Rounding(), 0, ""
    for pair in pairs:
        for kind in ("usual", "wide", "cancelling"):
            for seed in range(samples):
                try:
                    result = rounding(pair, drawn(pair, kind, seed))
                    if kind != "usual":  # sums that cancel have no meaningful relative bound
                        result = replace(result, bound=0.0, tolerance=0.0)
                    worst = worst.worst(result)
                    count += 1
                except HloError as error:
                    reason = str(error)
    return worst, count, reason
