"""Uses of the parameters of a module, as far as its graph shows them.

A parameter is followed through operations that keep its elements (reshape, broadcast, transpose,
slice, select, concatenate, converts), through a few steps of arithmetic, and across calls, loops
and conditionals, to operations with requirements on an operand: indices for gathers, a positive
argument for a logarithm, a positive definite matrix for a Cholesky decomposition. XLA's own tests
make arguments in this way, but only for indices (``MakeFakeArguments`` in
``xla/tests/test_utils.cc``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from hlograph.execution.equivalence.arrays import FLOATS
from hlograph.execution.equivalence.flow import Flow, Value

# Operations between an iota and a comparison that keep its values.
_SHAPE_ONLY = frozenset({"reshape", "broadcast", "transpose", "convert", "copy"})


def index_bound(flow: Flow, user: int, position: int) -> int | None:
    """Returns the exclusive upper bound of an index; None if the operand is not an index.

    A gather clamps an index that is out of range and a scatter skips it, so such indices would test
    one element only. If an operand has indices of several dimensions, the bound is the smallest
    one above 1.

    Args:
        flow: Data flow of the module.
        user: The operation.
        position: Position of the index among its operands.
    """
    opcode = flow.opcodes[user]
    operands = flow.operands[user]
    if opcode == "gather" and position == 1:
        sizes = flow.attribute(user, "slice_sizes")
        dims = flow.dims(operands[0])
        return _choice([dims[d] - sizes[d] + 1 for d in flow.attribute(user, "start_index_map")])
    if opcode == "scatter" and position == len(operands) // 2:
        return _scatter_bound(flow, user)
    if opcode == "dynamic-slice" and position >= 1:
        sizes = flow.dims(user)
        return _dimension_bound(flow.dims(operands[0]), sizes, position - 1)
    if opcode == "dynamic-update-slice" and position >= 2:
        return _dimension_bound(flow.dims(user), flow.dims(operands[1]), position - 2)
    return None


def iota_bound(flow: Flow, node: int) -> int | None:
    """Returns the length of the iota that a node is a broadcast of; None for other nodes.

    A value that is compared with an iota is a label, as in a one-hot encoding.
    """
    while flow.opcodes[node] in _SHAPE_ONLY:
        node = flow.operands[node][0]
    if flow.opcodes[node] != "iota":
        return None
    return flow.dims(node)[flow.attribute(node, "dimensions")[0]]


def _scatter_bound(flow: Flow, user: int) -> int:
    operand, updates = flow.operands[user][0], flow.operands[user][-1]
    # Dimensions of the operand that an update spans, in order.
    inserted = {*flow.attribute(user, "inserted_window_dims", ())}
    inserted |= {*flow.attribute(user, "operand_batching_dims", ())}
    dims = flow.dims(operand)
    windows = [d for d in range(len(dims)) if d not in inserted]
    spans = dict.fromkeys(range(len(dims)), 1)
    in_updates = flow.attribute(user, "update_window_dims", ())
    for d, update_dim in zip(windows, in_updates, strict=True):
        spans[d] = flow.dims(updates)[update_dim]
    indexed = flow.attribute(user, "scatter_dims_to_operand_dims")
    return _choice([dims[d] - spans[d] + 1 for d in indexed])


def _dimension_bound(dims: tuple[int, ...], sizes: tuple[int, ...], dimension: int) -> int:
    if dimension >= len(dims):  # one operand with an index for each dimension
        return 1
    return dims[dimension] - sizes[dimension] + 1


def _choice(bounds: list[int]) -> int:
    """Returns the smallest bound above 1, or 1."""
    return min((bound for bound in bounds if bound > 1), default=1)


# Largest number of arithmetic steps that a value is followed through. An optimizer's second moment
# takes four from the parameter to the square root; a larger limit would reach everything.
_ARITHMETIC_STEPS = 6

# Operand positions through which elements pass as they are.
_KEEPS: dict[str, tuple[int, ...]] = {
    "reshape": (0,),
    "broadcast": (0,),
    "transpose": (0,),
    "slice": (0,),
    "dynamic-slice": (0,),
    "dynamic-update-slice": (0, 1),
    "gather": (0,),
    "reverse": (0,),
    "pad": (0,),
    "copy": (0,),
    "convert": (0,),
    "reduce-precision": (0,),
    "opt-barrier": (0,),
    "select": (1, 2),
    "clamp": (1,),
    "maximum": (0, 1),
    "minimum": (0, 1),
}
_KEEPS_ALL = frozenset({"concatenate", "sort"})
_ARITHMETIC = frozenset({"add", "subtract", "multiply", "divide", "and", "or", "remainder"})

# (opcode, position) of operands that have to be positive, and for some opcodes below one.
_UNIT = frozenset(
    {
        ("log", 0),
        ("log-plus-one", 0),
        ("sqrt", 0),
        ("rsqrt", 0),
        ("power", 0),
        ("divide", 1),
        ("acos", 0),
        ("asin", 0),
        ("atanh", 0),
    }
)
_BITS = frozenset(
    {
        "shift-left",
        "shift-right-logical",
        "xor",
        "popcnt",
        "count-leading-zeros",
        "bitcast-convert",
        "rng-bit-generator",
    }
)


@dataclass
class Uses:
    """Uses of an array.

    Attributes:
        bounds: Exclusive upper bounds, one for each use as an index.
        bits: True if its bits are used (a random key), not its value.
        unit: True if it is an operand of a logarithm, square root, division or the like.
        positive_definite: True if it is the operand of a Cholesky decomposition.
        triangular: True if it is the matrix of a triangular solve.
        contracted: Largest number of products that a dot or convolution sums with it.
    """

    bounds: list[int] = field(default_factory=list)
    bits: bool = False
    unit: bool = False
    positive_definite: bool = False
    triangular: bool = False
    contracted: int = 0


def uses_of(flow: Flow, value: Value) -> Uses:
    """Finds the uses of an array of a parameter.

    Args:
        flow: Data flow of the module.
        value: The parameter's node and the tuple indices of the array in it.
    """
    uses = Uses()
    steps_to = {value: 0}
    queue = deque([value])
    while queue:
        current = queue.popleft()
        node, path = current
        if not path:
            for user, position in flow.users[node]:
                _note(flow, uses, node, user, position)
        for after, cost in _onwards(flow, node, path):
            steps = steps_to[current] + cost
            if steps <= _ARITHMETIC_STEPS and steps < steps_to.get(after, steps + 1):
                steps_to[after] = steps
                queue.append(after)
    return uses


def _note(flow: Flow, uses: Uses, node: int, user: int, position: int) -> None:
    opcode = flow.opcodes[user]
    bound = index_bound(flow, user, position)
    if bound is None and opcode == "compare":
        bound = iota_bound(flow, flow.operands[user][1 - position])
    if bound is not None:
        uses.bounds.append(bound)
    uses.bits |= opcode in _BITS
    uses.unit |= (opcode, position) in _UNIT
    uses.positive_definite |= opcode == "cholesky"
    uses.triangular |= opcode == "triangular-solve" and position == 0
    if opcode == "dot":
        side = "lhs_contracting_dims" if position == 0 else "rhs_contracting_dims"
        product = 1
        for dim in flow.attribute(user, side, ()):
            product *= flow.dims(node)[dim]
        uses.contracted = max(uses.contracted, product)
    elif opcode == "convolution" and position == 1:
        outputs = flow.dims(node)[flow.attribute(user, "conv_kernel")[1]]
        uses.contracted = max(uses.contracted, int(flow.elements[node]) // max(outputs, 1))


def _onwards(flow: Flow, node: int, path: tuple[int, ...]) -> Iterator[tuple[Value, int]]:
    """Yields the next values that a value becomes, each with its number of arithmetic steps."""
    for user, position in flow.users[node]:
        opcode = flow.opcodes[user]
        if opcode == "tuple":
            yield (user, (position, *path)), 0
        elif opcode == "get-tuple-element":
            if path[:1] == (flow.attribute(user, "tuple_index"),):
                yield (user, path[1:]), 0
        elif opcode in ("call", "fusion", "while", "conditional"):
            for parameter in _entered(flow, user, position):
                yield (parameter, path), 0
            if opcode == "while":  # the result, if the loop does not change it
                yield (user, path), 0
        elif opcode == "opt-barrier":
            yield (user, path), 0
        elif not path and _is_same_kind(flow, node, user):
            if position in _KEEPS.get(opcode, ()) or opcode in _KEEPS_ALL:
                yield (user, ()), 0
            elif opcode in _ARITHMETIC and _is_linear(flow, user, opcode, position):
                yield (user, ()), 1
    computation = int(flow.computation[node])
    if flow.roots[computation] == node:
        for caller in flow.callers[computation]:
            yield from ((after, 0) for after in _left(flow, caller, computation, path))


def _entered(flow: Flow, caller: int, position: int) -> Iterator[int]:
    """Yields the parameters that an operand of a call becomes."""
    called = flow.called[caller]
    if flow.opcodes[caller] == "while":
        yield from (flow.parameters[computation][0] for computation in called)
    elif flow.opcodes[caller] == "conditional":
        if position:
            yield flow.parameters[called[position - 1]][0]
    elif position in flow.parameters[called[0]]:
        yield flow.parameters[called[0]][position]


def _left(flow: Flow, caller: int, computation: int, path: tuple[int, ...]) -> Iterator[Value]:
    """Yields the values that the root of a called computation becomes."""
    opcode = flow.opcodes[caller]
    if opcode in ("call", "fusion", "conditional"):
        yield caller, path
    elif opcode == "while" and path:  # not the condition, whose root is a predicate
        yield caller, path
        for other in flow.called[caller]:
            yield flow.parameters[other][0], path


def _is_same_kind(flow: Flow, node: int, user: int) -> bool:
    """Returns True if both nodes are floats or neither is: uses do not carry over conversions."""
    return (flow.element_type(node) in FLOATS) == (flow.element_type(user) in FLOATS)


def _is_linear(flow: Flow, user: int, opcode: str, position: int) -> bool:
    """Returns True if the result depends on the sign of the operand, unlike its square."""
    first, second = flow.operands[user]
    if opcode == "multiply":
        return first != second
    if opcode in ("divide", "subtract", "remainder"):
        return position == 0
    return True
