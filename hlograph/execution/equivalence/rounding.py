"""Bound on the difference that rounding makes between two modules, from their operation counts.

Two programs that compute the same over the reals differ by rounding errors. Each operation adds an
error of at most u, half the epsilon of its type, relative to its result; a sum of n terms adds n of
them. The errors along the path with the most of them add up to at most W, the sum of their u, in
each module (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, lemma 3.1).
Errors that are uniform between -u and u whatever those before them were exceed

    sqrt(2 ln(2 N / p)) sqrt(V / 3)

in one of N elements with a probability of at most p, where V is the sum of the squares of their u,
since uniform numbers are sub-Gaussian with their variance: the probabilistic bound of N. J. Higham
and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5),
2019, whose errors need not be uniform. p is one in 10^9. The factor by which a module amplifies
errors is measured, not estimated (``verdict``).

Where the number of roundings is not known, it is assumed, and there is no worst case: functions
have ``_FUNCTION_ERRORS``, which no function of XLA:CPU or of a rule was found to exceed where it
does not amplify errors (docs/numerics.md); factorizations, Fourier transforms and custom calls have
what a dot of four times their size has; and loops that no constant limits run 16 times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import ml_dtypes

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, FLOATS, dtype_of
from hlograph.execution.equivalence.flow import Flow

FUNCTIONS = frozenset(
    {
        "acos", "acosh", "asin", "asinh", "atan2", "atanh", "cbrt", "cosine", "cosh", "erf",
        "exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "power",
        "rsqrt", "sine", "sinh", "tan", "tanh",
    }
)  # fmt: skip
_FUNCTION_ERRORS = 16.0
EXACT = frozenset(
    {
        "abs", "bitcast", "bitcast-convert", "broadcast", "ceil", "clamp", "compare", "complex",
        "concatenate", "constant", "copy", "dynamic-slice", "dynamic-update-slice", "floor",
        "gather", "get-tuple-element", "imag", "iota", "maximum", "minimum", "negate", "not",
        "opt-barrier", "or", "and", "pad", "parameter", "real", "reshape", "reverse", "select",
        "sign", "slice", "sort", "transpose", "tuple", "computation", "round-nearest-even",
        "round-nearest-afz", "is-finite", "topk",
    }
)  # fmt: skip
_LINEAR_ALGEBRA = frozenset({"cholesky", "triangular-solve", "fft", "custom-call"})
# A quotient may be a product with a reciprocal.
_ARITHMETIC = {
    "add": 1.0, "subtract": 1.0, "multiply": 1.0, "sqrt": 1.0, "convert": 1.0, "remainder": 1.0,
    "reduce-precision": 1.0, "divide": 2.0,
}  # fmt: skip
_PRODUCTS = frozenset({"multiply", "divide", "dot", "convolution", "power"})
_REDUCTIONS = frozenset({"reduce", "reduce-window", "select-and-scatter", "scatter"})
_CHOICES = frozenset({"maximum", "minimum", "and", "or"})

# Assumed iterations of a loop without a known limit.
_UNKNOWN_TRIPS = 16

_FALSE_ALARMS = 1e-9


class RoundingCount(NamedTuple):
    """Rounding errors of a module's outputs, relative to what they would be without cancellation.

    Attributes:
        variance: Largest sum of the squares of the errors along a path.
        worst: Largest sum of the errors along a path, with those of all factors of a product;
            infinite where the number of roundings is not known.
        inputs: Number of elements of the inputs that an element of an output depends on, at most.
        elements: Number of elements of all outputs.
    """

    variance: float
    worst: float
    inputs: float
    elements: int

    def bound(self, other: RoundingCount | None = None) -> RoundingBound:
        """Returns the bound on the difference to another module, by default one with this count."""
        other = other or self
        deviations = math.sqrt(2 * math.log(2 * max(1, self.elements) / _FALSE_ALARMS))
        worst = self.worst + other.worst
        return RoundingBound(
            likely=deviations * math.sqrt((self.variance + other.variance) / 3),
            worst=worst / (1 - worst) if worst < 1 else math.inf,
            spread=math.sqrt(max(1.0, self.inputs, other.inputs)),
        )


class RoundingBound(NamedTuple):
    """Bound on the relative difference that rounding makes between the outputs of two modules.

    Attributes:
        likely: Bound that holds but for one in 10^9 comparisons, if errors are random and uniform.
        worst: Bound that holds whatever the errors are.
        spread: Largest ratio of the effect of all inputs that move together to that of moves of
            random signs, which is what is measured.
    """

    likely: float
    worst: float
    spread: float

    def tolerance(self, own: float, amplified: float) -> float:
        """Returns the difference that rounding explains.

        Args:
            own: Size of what the errors of the last operations are relative to.
            amplified: Change of the output for a relative change of the inputs by 1, with random
                signs: what errors that come before amount to.
        """
        likely = self.likely * (own + amplified)
        if not math.isfinite(self.worst * self.spread):
            return likely
        return min(likely, self.worst * (own + self.spread * amplified))


def rounding_count(flow: Flow) -> RoundingCount:
    """Returns the rounding errors of a module's outputs.

    Args:
        flow: Data flow of the module.
    """
    counts = [_Count(0.0, 0.0, 0.0)] * len(flow.opcodes)
    # Computations come after what they call, nodes after their operands.
    for node, opcode in enumerate(flow.opcodes):
        operands = [counts[operand] for operand in flow.operands[node]]
        counts[node] = _count(flow, node, opcode, operands, lambda c: counts[flow.roots[c]])
    root = flow.roots[flow.entry]
    return RoundingCount(*counts[root], int(flow.elements[root]))


class _Count(NamedTuple):
    """Variance, worst case and inputs, as in ``RoundingCount``, of a node of a computation."""

    variance: float
    worst: float
    inputs: float


def _count(
    flow: Flow, node: int, opcode: str, operands: list[_Count], root: Callable[[int], _Count]
) -> _Count:
    """Returns the count of a node, relative to the parameters of its computation.

    Args:
        flow: The data flow.
        node: The node.
        opcode: Its opcode.
        operands: Counts of its operands.
        root: Function that returns the count of a computation by its number.
    """
    unit = _unit(flow, node)
    if opcode == "parameter":
        return _Count(0.0, 0.0, 1.0 if unit or flow.element_type(node) == "tuple" else 0.0)
    variance = max((each.variance for each in operands), default=0.0)
    worst = max((each.worst for each in operands), default=0.0)
    inputs = sum(each.inputs for each in operands)
    called = [root(computation) for computation in flow.called[node]]
    if opcode == "while":
        own = trip_count(flow, node) * max(each.variance for each in called)
        return _Count(variance + own, math.inf, math.inf)
    if opcode in ("call", "fusion", "conditional"):
        own = max(each.variance for each in called)
        uses = max(each.inputs for each in called)
        own_worst = max(each.worst for each in called)
        return _Count(variance + own, own_worst + _times(uses, worst), _times(uses, inputs))
    if opcode == "tuple":  # each output by itself
        return _Count(variance, worst, max((each.inputs for each in operands), default=0.0))
    if opcode in EXACT or unit == 0.0:
        return _Count(variance, worst, inputs)
    errors = _errors(flow, node, opcode)
    if opcode in _PRODUCTS:
        worst = sum(each.worst for each in operands)
    own_worst = unit * errors if _is_counted(flow, node, opcode) else math.inf
    if opcode in ("dot", "convolution", *_REDUCTIONS):
        inputs *= max(1.0, _terms(flow, node, opcode))
    return _Count(variance + unit**2 * errors, worst + own_worst, inputs)


def _times(count: float, of: float) -> float:
    return count * of if count and of else 0.0


def _is_counted(flow: Flow, node: int, opcode: str) -> bool:
    """Returns True if the roundings of a node are known, not assumed, and simple to bound."""
    if flow.element_type(node) in COMPLEX_PARTS:
        return False
    if opcode in _REDUCTIONS:
        roots = {flow.opcodes[flow.roots[called]] for called in flow.called[node]}
        return roots <= {"add", *_CHOICES}
    return opcode in _ARITHMETIC or opcode in FUNCTIONS or opcode in ("dot", "convolution")


def _unit(flow: Flow, node: int) -> float:
    """Returns half the epsilon of a node's type (first operand's for a tuple); 0 for integers."""
    element_type = flow.element_type(node)
    if element_type == "tuple" and flow.operands[node]:
        element_type = flow.element_type(flow.operands[node][0])
    element_type = COMPLEX_PARTS.get(element_type, element_type)
    if element_type not in FLOATS:
        return 0.0
    return float(ml_dtypes.finfo(dtype_of(element_type)).eps) / 2


def _errors(flow: Flow, node: int, opcode: str) -> float:
    """Returns the number of rounding errors in one element of a node's result."""
    operands = flow.operands[node]
    if opcode in FUNCTIONS:
        return _FUNCTION_ERRORS
    if opcode in _LINEAR_ALGEBRA:
        dims = list(flow.dims(operands[0])) if operands else []
        return 4.0 * dims[-1] if len(dims) > 1 or (opcode == "fft" and dims) else 1.0
    if opcode in ("reduce", "reduce-window"):
        root = flow.opcodes[flow.roots[flow.called[node][0]]]
        return 0.0 if root in _CHOICES else _terms(flow, node, opcode)
    if opcode in ("dot", "convolution", "scatter"):
        return 1.0 + _terms(flow, node, opcode)
    if opcode == "select-and-scatter":
        return _terms(flow, node, opcode)
    return _ARITHMETIC.get(opcode, 1.0)


def _terms(flow: Flow, node: int, opcode: str) -> float:
    """Returns the number of terms of a sum or contraction that make one element."""
    elements, operands = flow.elements, flow.operands[node]
    size = max(int(elements[node]), 1)
    if opcode in ("reduce", "select-and-scatter"):
        return max(1.0, int(elements[operands[0]]) / size)
    if opcode == "scatter":
        return max(1.0, int(elements[operands[-1]]) / size)
    if opcode == "reduce-window":
        return math.prod(flow.window_sizes(node))
    if opcode == "dot":
        dims = flow.dims(operands[0])
        return math.prod(dims[d] for d in flow.attribute(node, "lhs_contracting_dims", ()))
    kernel = operands[1]
    outputs = flow.dims(kernel)[flow.attribute(node, "conv_kernel")[1]]
    return int(elements[kernel]) / max(outputs, 1)


def trip_count(flow: Flow, loop: int) -> int:
    """Returns the largest integer constant of a loop's condition, which is usually its limit."""
    constants = [0]
    for computation in flow.called[loop]:
        root = flow.roots[computation]
        if flow.element_type(root) != "pred":
            continue
        # The constant is an operand of the comparison at the root.
        for operand in flow.operands[root]:
            literal = flow.attribute(operand, "literal", ())
            constants.extend(int(value) for value in literal[:1])
    return max(constants) if max(constants) > 0 else _UNKNOWN_TRIPS
