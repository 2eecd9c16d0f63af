"""Known faults of XLA:CPU in jaxlib: programs whose default is wrong or ends the process.

``KNOWN_FAULTS`` is the table. Each entry says which versions have the fault, finds the instructions
that may meet it, and names the plan that avoids it. An instruction that may meet a fault need not
do so: ``hlograph.measuring.references`` finds out. The tests show each fault again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

from hlograph.execution.equivalence.text_flow import TextFlow
from hlograph.plans.flags import DISABLED_PASSES, LIBRARIES
from hlograph.plans.mending import GUARD_DIVISIONS, SLICE_NEGATIVE_PADDING, WIDEN_SORTS
from hlograph.plans.plan import Plan

_WITHOUT_LIBRARY = Plan(flags={LIBRARIES: ""}, numerics="close", method="no library fusions")
_SLICED = Plan(
    steps=(SLICE_NEGATIVE_PADDING,), numerics="close", method="slices before convolutions"
)

_GUARDED = Plan(
    steps=(GUARD_DIVISIONS,), numerics="close", method="barriers before integer divisors"
)
_WIDENED = Plan(steps=(WIDEN_SORTS,), numerics="close", method="sorts of 8 bits for 2")
_WITHOUT_SIMPLIFIER = Plan(
    flags={DISABLED_PASSES: "algsimp"}, numerics="close", method="no algebraic simplifier"
)
_WITHOUT_LOOP_SIMPLIFIER = Plan(
    flags={DISABLED_PASSES: "simplify-while-loops"}, numerics="close", method="no loop simplifier"
)

_PADDING = re.compile(r"\bpad=(\S+?)(?:[ }]|$)")

# Opcodes that YNNPACK takes into a fusion with a product or a sum.
_ELEMENTWISE = frozenset(
    {"abs", "add", "bitcast", "broadcast", "convert", "copy", "divide", "exponential", "maximum"}
    | {"minimum", "multiply", "negate", "power", "reshape", "sqrt", "subtract", "tanh", "transpose"}
)

_COPIES = frozenset(
    {"bitcast", "broadcast", "convert", "copy", "opt-barrier", "reshape", "transpose"}
)

_HIGH_RANK = 7

# Instructions between a constant and its use, beyond which it is not looked for.
_DEEPEST = 64

# The sum of a product goes wrong beyond this many bytes of results.
_LONG = 1 << 17


@dataclass(frozen=True)
class KnownFault:
    """A fault of XLA:CPU.

    Attributes:
        name: The report of the fault, such as ``jax#39103``, or a few words without one.
        versions: Versions of jaxlib that are known to have it.
        effect: What happens, in words.
        nodes: Yields the nodes of a program that may meet it.
        plan: Plan that avoids it.
    """

    name: str
    versions: frozenset[str]
    effect: str
    nodes: Callable[[TextFlow], Iterator[int]]
    plan: Plan


def faults_of(flow: TextFlow, jaxlib: str | None = None) -> list[KnownFault]:
    """Returns the known faults that a program may meet.

    Args:
        flow: Data flow of the program.
        jaxlib: Version of jaxlib; None is the installed one.
    """
    jaxlib = jaxlib or version("jaxlib")
    present = [fault for fault in KNOWN_FAULTS if jaxlib in fault.versions]
    return [fault for fault in present if next(fault.nodes(flow), None) is not None]


def _negative_paddings(flow: TextFlow) -> Iterator[int]:
    for node, opcode in enumerate(flow.opcodes):
        if opcode == "convolution":
            padding = _PADDING.search(flow.instructions[node].attribute("window"))
            if padding and "-" in padding[1]:
                yield node


def _windows_that_crop(flow: TextFlow) -> Iterator[int]:
    """Yields windows of single elements with negative padding, and no other."""
    for node, opcode in enumerate(flow.opcodes):
        if opcode == "reduce-window" and set(flow.window_sizes(node)) <= {1}:
            edges = [edge for pair in _window_padding(flow, node) for edge in pair]
            if min(edges, default=0) < 0 and max(edges) <= 0:
                yield node


def _crops_before_windows(flow: TextFlow) -> Iterator[int]:
    """Yields windows that pad a side that a pad before them crops."""
    for node, opcode in enumerate(flow.opcodes):
        if opcode not in ("reduce-window", "convolution"):
            continue
        operand = _origin(flow, flow.operands[node][0])
        while flow.opcodes[operand] == "convert":
            operand = _origin(flow, flow.operands[operand][0])
        if flow.opcodes[operand] == "pad":
            edges = flow.instructions[operand].attribute("padding").split("x")
            cropped = [int(edge) for each in edges for edge in each.split("_")[:2]]
            padded = [edge for pair in _window_padding(flow, node) for edge in pair]
            if min(cropped) < 0 < max(padded, default=0):
                yield node


def _window_padding(flow: TextFlow, node: int) -> list[tuple[int, int]]:
    """Returns the padding of a window before and after each dimension."""
    padding = _PADDING.search(flow.instructions[node].attribute("window"))
    pairs = padding[1].split("x") if padding else []
    return [(int(low), int(high)) for low, high in (pair.split("_") for pair in pairs)]


def _slices_of_slices(flow: TextFlow) -> Iterator[int]:
    """Yields dynamic slices of dynamic slices, and updates of what they took."""
    for node, opcode in enumerate(flow.opcodes):
        if opcode in ("dynamic-slice", "dynamic-update-slice"):
            operand = _origin(flow, flow.operands[node][0])
            if flow.opcodes[operand] == "dynamic-slice":
                yield node


def _loops_that_pass_their_bound(flow: TextFlow) -> Iterator[int]:
    """Yields loops that count up by more than 1, and are over after one iteration or none."""
    for node, opcode in enumerate(flow.opcodes):
        if opcode == "while" and (counting := _counting(flow, node)) is not None:
            first, step, bound, direction = counting
            last = bound - 1 if direction == "LT" else bound
            if direction in ("LT", "LE") and step > 1 and last - first < step:
                yield node


def _counting(flow: TextFlow, loop: int) -> tuple[int, int, int, str] | None:
    """Returns the first number, the step, the bound and the comparison of a loop, if constant."""
    condition, body = sorted(
        (flow.roots[called] for called in flow.called[loop]),
        key=lambda root: flow.opcodes[root] != "compare",
    )
    state = flow.operands[loop][0]
    if (flow.opcodes[condition], flow.opcodes[body]) != ("compare", "tuple"):
        return None
    counter, bound = flow.operands[condition]
    if flow.opcodes[counter] != "get-tuple-element" or flow.opcodes[state] != "tuple":
        return None
    place = flow.attribute(counter, "tuple_index")
    following = flow.operands[body][place]
    if flow.opcodes[following] != "add":
        return None
    first, last = (_integer(flow, n) for n in (flow.operands[state][place], bound))
    steps = [_integer(flow, operand) for operand in flow.operands[following]]
    step = steps[0] or steps[1]
    if first is None or last is None or step is None:
        return None
    return first, step, last, flow.instructions[condition].attribute("direction")


def _sorts_of_two_bits(flow: TextFlow) -> Iterator[int]:
    for node, opcode in enumerate(flow.opcodes):
        types = {flow.element_type(operand) for operand in flow.operands[node]}
        if opcode == "sort" and types & {"s2", "u2"}:
            yield node


def _divisions_of_constants(flow: TextFlow) -> Iterator[int]:
    """Yields divisions of integers that depend on no parameter, by what may be zero."""
    known: dict[int, bool] = {}
    for node, opcode in enumerate(flow.opcodes):
        is_division = opcode in ("divide", "remainder") and flow.element_type(node)[0] in "su"
        is_known = is_division and _is_constant(flow, node, known)
        if is_known and _may_be_zero(flow, flow.operands[node][1]):
            yield node


def _may_be_zero(flow: TextFlow, node: int) -> bool:
    """Returns False if a value is a constant other than 0, or copies of one."""
    node = _origin(flow, node)
    opcode, operands = flow.opcodes[node], flow.operands[node]
    if opcode in _COPIES:
        return _may_be_zero(flow, operands[0])
    if opcode == "select":  # as numpy's remainder, which puts 1 for 0
        return any(_may_be_zero(flow, operand) for operand in operands[1:])
    return not all(flow.attribute(node, "literal", ()) or [0])


def _is_constant(flow: TextFlow, node: int, known: dict[int, bool], depth: int = 0) -> bool:
    """Returns True if jaxlib may know a value: that of constants, of x - x, or of 0 * x."""
    node = _origin(flow, node)
    if node not in known:
        opcode, operands = flow.opcodes[node], [_origin(flow, n) for n in flow.operands[node]]
        is_shallow = depth < _DEEPEST and not opcode.startswith("rng")
        are_known = [is_shallow and _is_constant(flow, n, known, depth + 1) for n in operands]
        known[node] = (
            opcode in ("constant", "iota")
            or (opcode in ("multiply", "and") and any(are_known))
            or (opcode in ("subtract", "xor") and operands[0] == operands[1])
            or (bool(operands) and all(are_known))
        )
    return known[node]


def _origin(flow: TextFlow, node: int) -> int:
    """Returns the node whose value a node has, outside of calls, branches and tuples."""
    while True:
        opcode = flow.opcodes[node]
        callers = flow.callers[flow.computation[node]]
        if opcode == "call":
            node = flow.roots[flow.called[node][0]]
        elif opcode == "get-tuple-element":
            whole = _origin(flow, flow.operands[node][0])
            if flow.opcodes[whole] != "tuple":
                return node
            node = flow.operands[whole][flow.attribute(node, "tuple_index")]
        elif opcode == "parameter" and [flow.opcodes[n] for n in callers] == ["call"]:
            node = flow.operands[callers[0]][int(flow.instructions[node].argument)]
        elif opcode == "parameter" and [flow.opcodes[n] for n in callers] == ["conditional"]:
            branch = flow.called[callers[0]].index(flow.computation[node])
            node = flow.operands[callers[0]][1 + branch]
        else:
            return node


def _integer(flow: TextFlow, node: int) -> int | None:
    """Returns the integer that a node is; None if it is none."""
    is_integer = flow.opcodes[node] == "constant" and flow.element_type(node)[0] in "su"
    literal = flow.attribute(node, "literal", ()) if is_integer else ()
    return int(literal[0]) if len(literal) == 1 else None


def _sums_of_high_rank(flow: TextFlow) -> Iterator[int]:
    for node, opcode in enumerate(flow.opcodes):
        ranks = [len(flow.dims(operand)) for operand in flow.operands[node]]
        if opcode in ("reduce", "dot") and max(ranks, default=0) >= _HIGH_RANK:
            yield node


def _long_sums_of_products(flow: TextFlow) -> Iterator[int]:
    for node, opcode in enumerate(flow.opcodes):
        if opcode == "reduce" and _bytes(flow, node) >= _LONG and _has_product(flow, node):
            yield node


def _bytes(flow: TextFlow, node: int) -> int:
    bits = re.search(r"\d+", flow.element_type(node))
    return flow.elements[node] * (int(bits[0]) if bits else 8) // 8


def _has_product(flow: TextFlow, node: int) -> bool:
    """Returns True if elementwise operations alone are between a dot and a node."""
    waiting, seen = list(flow.operands[node]), set()
    while waiting:
        operand = waiting.pop()
        if flow.opcodes[operand] == "dot":
            return True
        if operand not in seen and flow.opcodes[operand] in _ELEMENTWISE:
            waiting += flow.operands[operand]
        seen.add(operand)
    return False


KNOWN_FAULTS: tuple[KnownFault, ...] = (
    KnownFault(
        "jax#39103",
        frozenset({"0.10.2"}),
        "the sum of squares of a product has wrong values in its last rows",
        _long_sums_of_products,
        _WITHOUT_LIBRARY,
    ),
    KnownFault(
        "xla#48713",
        frozenset({"0.10.2", "0.11.0"}),
        "a convolution with a negative low padding reads outside of its input",
        _negative_paddings,
        _SLICED,
    ),
    KnownFault(
        "jax#39257",
        frozenset({"0.10.2", "0.11.0"}),
        "a sum over an array of rank 8 ends the process, or never ends",
        _sums_of_high_rank,
        _WITHOUT_LIBRARY,
    ),
    KnownFault(
        "jax#40412",
        frozenset({"0.10.2"}),
        "a sum over an array of rank 7 ends the process, perhaps after the call",
        _sums_of_high_rank,
        _WITHOUT_LIBRARY,
    ),
    KnownFault(
        "xla#49121",
        frozenset({"0.10.2", "0.11.0"}),
        "a dynamic slice of a dynamic slice, with an index out of range, has other elements",
        _slices_of_slices,
        _WITHOUT_SIMPLIFIER,
    ),
    KnownFault(
        "xla#48715",
        frozenset({"0.10.2", "0.11.0"}),
        "a window that pads what a pad has cropped sees the cropped elements",
        _crops_before_windows,
        _WITHOUT_SIMPLIFIER,
    ),
    KnownFault(
        "xla#48719",
        frozenset({"0.10.2", "0.11.0", "0.12.0.1"}),
        "a reduction over windows of single elements that only crop ends the process",
        _windows_that_crop,
        _WITHOUT_SIMPLIFIER,
    ),
    KnownFault(
        "tensorflow#123067",
        frozenset({"0.10.2", "0.11.0"}),
        "a loop whose first step passes its bound runs once too often, or not at all",
        _loops_that_pass_their_bound,
        _WITHOUT_LOOP_SIMPLIFIER,
    ),
    KnownFault(
        "stablehlo#2971",
        frozenset({"0.10.2", "0.11.0"}),
        "an integer division of constants by zero ends the process while it is compiled",
        _divisions_of_constants,
        _GUARDED,
    ),
    KnownFault(
        "sorts of 2 bits",
        frozenset({"0.10.2", "0.11.0", "0.12.0.1"}),
        "a sort of integers of 2 bits is wrong, and writes outside of its arrays",
        _sorts_of_two_bits,
        _WIDENED,
    ),
)
"""The known faults, by the reports of others; the last one was found by random programs.

Their programs were run with jaxlib 0.10.2, which has all of them, and with 0.12.0.1. Version 0.11.0
was not tried: it is listed where a report names it, or does not say that it is free of the fault.
"""
