"""States what each pass of the registry may change of a module's results.

The class of a pass (``Pass.numerics``) says how far results may move. A claim says which of them
and why. A pass of class exact changes nothing, and has no claim of its own here; each other pass
has one, which holds for its variants too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Effect = Literal["order", "special values", "function", "precision", "random numbers"]
"""Kind of change of results.

``order``: sums are made in another order or shape, and differ by rounding, or by overflow of a
partial sum. ``special values``: NaN, infinities or the signs of zeros differ although no sum
overflows. ``function``: another formula or algorithm, with other rounding. ``precision``: another
element type in between. ``random numbers``: other numbers are drawn.
"""

EFFECTS: tuple[Effect, ...] = get_args(Effect)
"""All kinds of changes."""


@dataclass(frozen=True)
class PassClaim:
    """States what a pass may change of a module's results.

    Attributes:
        effects: Kinds of changes; empty for a pass of class exact.
        words: The changes in words, without a full stop.
    """

    effects: frozenset[Effect]
    words: str

    def __str__(self) -> str:
        return self.words


def _claim(words: str, *effects: Effect) -> PassClaim:
    return PassClaim(frozenset(effects), words)


EXACT = _claim("nothing")
"""The claim of each pass of class exact."""

_ORDER_OF_PRODUCTS = "the order of the sums in a dot or convolution"
_ORDER_OF_UPDATES = "the order in which elements are added up where several fall on one place"
_ALGORITHM = "the algorithm: another sequence of operations comes to the same decomposition"

CLAIMS: dict[str, PassClaim] = {
    "algsimp": _claim(
        "formulas become others that are equal over the reals: log(exp(x)) becomes x, "
        "exp(a) * exp(b) becomes exp(a + b), sqrt(x * x) becomes |x|, x / c becomes x * (1 / c). "
        "Where a value in between overflows or underflows, NaN and infinities become numbers, or "
        "numbers NaN. Signs of zeros, last bits and the order of sums differ. An initial value "
        "that is not neutral is left out where a reduction has one element",
        "order",
        "special values",
        "function",
    ),
    "constant_folding": _claim(
        "sums of constants, which are made in float64 and another order", "order", "precision"
    ),
    "simplify-fp-conversions": _claim(
        "a conversion to a narrower type and back is left out, with its rounding and its overflow",
        "precision",
        "special values",
    ),
    "transpose-folding": _claim(_ORDER_OF_PRODUCTS, "order"),
    "batch-dot-simplification": _claim(_ORDER_OF_PRODUCTS, "order"),
    "reduce-window-resizer": _claim("the order of the sums in a window", "order"),
    "dot_decomposer": _claim(_ORDER_OF_PRODUCTS, "order"),
    "convolution-group-converter": _claim(
        "the order of sums; the groups of others come in with a weight of zero, so that NaN and "
        "infinities of one group make NaN in all",
        "order",
        "special values",
    ),
    "scatter_expander": _claim(_ORDER_OF_UPDATES, "order"),
    "select_and_scatter_expander": _claim(_ORDER_OF_UPDATES, "order"),
    "dynamic_padder": _claim("the order of sums over dimensions of dynamic size", "order"),
    "tree_reduction_rewriter": _claim(
        "the order of sums. An initial value counts once for each part: the result differs if it "
        "is not neutral, such as 5 for a sum. A reducer that is not associative gives another "
        "result",
        "order",
    ),
    "reduce-window-rewriter": _claim(
        "the order of sums, as scans are made in two levels. An initial value counts once for "
        "each part",
        "order",
    ),
    "cholesky_expander": _claim(_ALGORITHM, "function", "special values"),
    "qr_expander": _claim(_ALGORITHM, "function", "special values"),
    "eigh_expander": _claim(_ALGORITHM, "function", "special values"),
    "triangular_solve_expander": _claim(_ALGORITHM, "function", "special values"),
    "batchnorm_expander": _claim(
        "the formula: mean, variance and their gradients from sums of the expansion",
        "function",
        "order",
        "special values",
    ),
    "logistic-expander": _claim("the formula: 1 / (1 + exp(-x))", "function"),
    "stochastic_convert_decomposer": _claim(
        "the formula of rounding by random bits", "function", "special values"
    ),
    "rng-expander": _claim("the random numbers, which Philox draws", "random numbers"),
    "operand_upcaster": _claim(
        "products and sums are made in the type of the result", "precision", "special values"
    ),
    "result_caster": _claim(
        "products and sums are made in the type of the operands", "precision", "special values"
    ),
    "float-normalization-bf16": _claim(
        "bfloat16 is computed in float32 and rounded at the end", "precision", "special values"
    ),
    "bf16-mixed-precision-removal": _claim(
        "where bfloat16 and float32 meet, float32 is computed", "precision", "special values"
    ),
    "change-op-data-type": _claim(
        "dots and convolutions of float16 are made in float32", "precision", "special values"
    ),
    "all-reduce-promotion": _claim(
        "sums of bfloat16 over devices are made in float32", "precision", "special values"
    ),
}
"""Claims of the passes that are not exact, by name without variant."""


def claim_of(name: str) -> PassClaim:
    """Returns the claim of a pass.

    Args:
        name: Name of an entry of the registry, with or without its variant.
    """
    return CLAIMS.get(name.split(":")[0], EXACT)
