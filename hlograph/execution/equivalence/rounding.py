"""Estimate of the rounding error that a module accumulates.

Two programs that compute the same except for the order of operations differ by rounding errors.
Each operation adds an error of relative size u, half the epsilon of its type; a sum of n terms adds
n errors. Rounding errors have random signs, so n of them grow as sqrt(n) u, not as n u, with a
probability that a small constant makes arbitrarily high (N. J. Higham and T. Mary, A New Approach
to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019). So variances are added:
u squared for each operation, along the path through the module with the largest sum. The root is
the relative error that an output has by itself. The factor by which the module amplifies errors is
measured, not estimated (``judgement``).
"""

from __future__ import annotations

import math

import ml_dtypes

from hlograph.execution.equivalence.arrays import COMPLEX_PARTS, FLOATS, dtype_of
from hlograph.execution.equivalence.flow import Flow

# Rounding errors of one operation: XLA:CPU's functions are accurate to a few ulp.
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
_LINEAR_ALGEBRA = frozenset({"cholesky", "triangular-solve", "fft"})

# Assumed iterations of a loop without a known limit.
_UNKNOWN_TRIPS = 16


def rounding_error(flow: Flow) -> float:
    """Returns the relative rounding error of a module's outputs as a standard deviation.

    Args:
        flow: Data flow of the module.
    """
    variances = [0.0] * len(flow.opcodes)
    # Computations come after what they call, nodes after their operands.
    for node, opcode in enumerate(flow.opcodes):
        before = max((variances[operand] for operand in flow.operands[node]), default=0.0)
        variances[node] = before + _own(flow, node, opcode, variances)
    return math.sqrt(max((variances[root] for root in [flow.roots[flow.entry]]), default=0.0))


def _own(flow: Flow, node: int, opcode: str, variances: list[float]) -> float:
    called = flow.called[node]
    if opcode == "while":
        return trip_count(flow, node) * max(variances[flow.roots[c]] for c in called)
    if opcode in ("call", "fusion", "conditional"):
        return max(variances[flow.roots[c]] for c in called)
    unit = _unit(flow, node)
    if opcode in EXACT or unit == 0.0:
        return 0.0
    return unit**2 * _errors(flow, node, opcode)


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
    elements = flow.elements
    operands = flow.operands[node]
    size = max(int(elements[node]), 1)
    if opcode in FUNCTIONS:
        return _FUNCTION_ERRORS
    if opcode in _LINEAR_ALGEBRA:
        return 4.0 * max(flow.dims(operands[0]), default=1)
    if opcode in ("reduce", "select-and-scatter"):
        return max(1.0, int(elements[operands[0]]) / size)
    if opcode == "scatter":
        return max(1.0, int(elements[operands[-1]]) / size) + 1.0
    if opcode == "reduce-window":
        return math.prod(flow.window_sizes(node))
    if opcode == "dot":
        dims = flow.dims(operands[0])
        contracted = flow.attribute(node, "lhs_contracting_dims", ())
        return 1.0 + math.prod(dims[d] for d in contracted)
    if opcode == "convolution":
        kernel = operands[1]
        outputs = flow.dims(kernel)[flow.attribute(node, "conv_kernel")[1]]
        return 1.0 + int(elements[kernel]) / max(outputs, 1)
    return 1.0


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
