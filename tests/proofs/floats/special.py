"""States what each rule claims of bits, of rounding, and of NaNs and infinities.

There are four classes:

- ``bits``: every bit of the results stays as it is, except those inside NaNs, and what depends on
  these, such as the order of NaNs of several payloads.
- ``values``: the same numbers in the same places, zeros perhaps of another sign, and NaNs. jaxlib
  takes denormals for zeros where it compares, and these rules do not.
- ``rounding``: results differ by rounding, zeros perhaps by their sign. NaNs and infinities are
  where they were, unless numbers overflow on one side.
- ``rounding on finite values``: likewise for finite inputs; of infinite ones, results may change in
  the ways that ``CHANGES`` lists for the rule.

What XLA:CPU makes of the padding of a convolution depends on its shape: some of its code multiplies
zeros by the kernel, which gives NaN where the kernel is infinite. The evaluator never does, and the
claims are about it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

import hlograph
from hlograph.execution.equivalence.arrays import Array, is_integral

LOST = frozenset({"number for NaN", "infinity for NaN"})
MADE = frozenset({"NaN for infinity"})
SPREAD = frozenset({"NaN for number"})

CHANGES: dict[str, frozenset[str]] = {
    # Sums of products are NaN for infinities of two signs where the product of a sum is infinite.
    "factor-products": LOST,
    "factor-dots": LOST,
    "factor-convolutions": LOST,
    "distribute-dot": MADE,
    "distribute-convolution": MADE,
    # An infinite factor meets zeros of another array, or sums of two signs.
    "scale-operand:dot": MADE,
    "scale-operand:convolution": MADE | LOST,
    "scale-result:dot": LOST,
    "scale-result:convolution": LOST,
    "reassociate-dots:right": LOST | MADE,
    "reassociate-dots:left": LOST | MADE,
    "contraction-order": LOST | MADE,
    # What is combined first meets an infinite element, a product of zeros for one.
    "associative-scan-as-loop": LOST | MADE,
    # Zeros of the padding are multiplied by infinite elements of the other array.
    "depthwise-as-products": SPREAD | MADE,
    "grouped-as-products": SPREAD | MADE,
    "depthwise-gradient:kernel": SPREAD | MADE,
    "convolution-as-dot": SPREAD | MADE,
    "grouped-gradient:kernel": SPREAD | MADE,
    # Norms and products are infinite where differences are not, or are of two signs.
    "distances-by-dot": LOST | MADE,
    "differences-by-dot": MADE,
    # Zeros of a one-hot row are not multiplied by what is not taken.
    "one-hot-as-gather": LOST,
    "one-hot-as-scatter": LOST,
    "one-hot-sum-as-gather": LOST,
    "one-hot-sum-as-scatter": LOST,
    "range-sums-by-segment": LOST,
}
"""Changes of elements of results that a rule makes of some infinite inputs, by rule."""

FLUSHED = frozenset({"power-as-roots", "arctangent-by-polynomial"})
"""Rules that replace a library's function, which keeps denormals where code of jaxlib does not."""

_MOVES = frozenset({"split-pointwise", "join-pointwise", "rearrange-result", "rearrange-operands"})


VALUES = frozenset({"sort-by-integer-keys", "sort-as-network"})
"""Rules that keep all values, but not which of equal zeros comes first."""


def keeps_bits(rule: hlograph.Rule) -> bool:
    """Returns True for a rule that claims to keep every bit of the results."""
    return rule.exact or rule.name in _MOVES


def claim_of(rule: hlograph.Rule) -> str:
    """Returns the class of a rule, in the words above, with the changes it may make."""
    if keeps_bits(rule):
        return "bits"
    if rule.name in VALUES:
        return "values"
    if rule.name in FLUSHED:
        return "rounding; denormals are zeros"
    if rule.name not in CHANGES:
        return "rounding"
    return f"rounding on finite values; {', '.join(sorted(CHANGES[rule.name]))}"


class Changed(NamedTuple):
    """Elements of the outputs of a program that a rule changes.

    Attributes:
        payloads: Number of NaNs that are other NaNs.
        kinds: Numbers of elements by the kind of change.
    """

    payloads: int
    kinds: Counter[str]


def changed(before: Iterable[Array], after: Iterable[Array]) -> Changed:
    """Compares the bits of outputs.

    The kinds are, of integers and predicates, ``integer``; of floats ``rounding`` for two finite
    numbers, ``sign of zero``, and the like of ``NaN for number``, ``number for infinity``: what
    stands after the rule for what stood before.

    Args:
        before: Outputs before the rule.
        after: Outputs after it, of the same shapes and types.
    """
    payloads, kinds = 0, Counter[str]()
    for old, new in zip(before, after, strict=True):
        a, b = _parts(old), _parts(new)
        differs = _bits(a) != _bits(b)
        if is_integral(a):
            kinds["integer"] += int(differs.sum())
            continue
        with np.errstate(invalid="ignore"):  # signalling NaNs
            a, b = (array[differs].astype(np.float64) for array in (a, b))
        nans = np.isnan(a) & np.isnan(b)
        payloads += int(nans.sum())
        for x, y in zip(a[~nans], b[~nans], strict=True):
            kinds[_kind(float(x), float(y))] += 1
    return Changed(payloads, +kinds)


def _parts(array: Array) -> Array:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else flat


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _kind(old: float, new: float) -> str:
    if old == new == 0:
        return "sign of zero"
    before, after = _name(old), _name(new)
    return "rounding" if before == after == "number" else f"{after} for {before}"


def _name(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else "number"
