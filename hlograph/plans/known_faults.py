"""Known faults of XLA:CPU in jaxlib: programs whose default is wrong or ends the process.

``KNOWN_FAULTS`` is the table. Each entry says which versions have the fault, finds the instructions
that may meet it, and names the plan that avoids it. An instruction that may meet a fault need not
do so: ``hlograph.measuring.references`` finds out. The tests show each fault again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from hlograph.execution.equivalence.text_flow import TextFlow
from hlograph.plans import mlir_modules
from hlograph.plans.flags import LIBRARIES
from hlograph.plans.plan import Plan

SLICE_NEGATIVE_PADDING = "slice-negative-padding"
"""Step of plans: slices what convolutions crop by a negative padding, before them."""

_WITHOUT_LIBRARY = Plan(flags={LIBRARIES: ""}, numerics="close", method="no library fusions")
_SLICED = Plan(
    steps=(SLICE_NEGATIVE_PADDING,), numerics="close", method="slices before convolutions"
)

_PADDING = re.compile(r"\bpad=(\S+?)(?:[ }]|$)")

# Opcodes that YNNPACK takes into a fusion with a product or a sum.
_ELEMENTWISE = frozenset(
    {"abs", "add", "bitcast", "broadcast", "convert", "copy", "divide", "exponential", "maximum"}
    | {"minimum", "multiply", "negate", "power", "reshape", "sqrt", "subtract", "tanh", "transpose"}
)

_HIGH_RANK = 7

# The sum of a product goes wrong beyond this many bytes of results.
_LONG = 1 << 17


@dataclass(frozen=True)
class KnownFault:
    """A fault of XLA:CPU.

    Attributes:
        name: The report of the fault, such as ``jax#39103``.
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
)
"""The known faults, by the reports of others.

Their programs were run with jaxlib 0.10.2, which has all of them, and with 0.12.0.1, which shows
none. Version 0.11.0 was not tried: it is listed where a report names it, or where a report does not
say that it is free of the fault.
"""


def slice_negative_padding(data: bytes) -> bytes:
    """Returns StableHLO whose convolutions crop by slices of their input.

    A convolution whose input is dilated stays as it is.

    Args:
        data: StableHLO text or bytecode.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo as hlo

    module = mlir_modules.parse(data)
    with module.context, ir.Location.unknown():

        def visit(op: Any) -> Any:
            if op.name == "stablehlo.convolution":
                _slice(op, ir, hlo)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
    return mlir_modules.to_bytecode(module)


def _slice(op: Any, ir: Any, hlo: Any) -> None:
    """Slices the input of one convolution."""
    attributes = op.attributes
    if "padding" not in attributes:
        return
    padding = [list(pair) for pair in _pairs(attributes["padding"])]
    if all(edge >= 0 for pair in padding for edge in pair) or _is_dilated(attributes):
        return
    operand = op.operands[0]
    sizes = list(ir.RankedTensorType(operand.type).shape)
    begin, end = [0] * len(sizes), list(sizes)
    numbers = hlo.ConvDimensionNumbers(attributes["dimension_numbers"])
    for pair, dimension in zip(padding, numbers.input_spatial_dimensions, strict=True):
        size = sizes[dimension]
        # What is cropped beyond the input is taken from the padding of the other side.
        low, high = (max(-edge, 0) for edge in pair)
        begin[dimension] = min(low, size)
        end[dimension] = max(size - high, begin[dimension])
        pair[:] = [
            max(pair[0], 0) - max(high - size, 0),
            max(pair[1], 0) - max(low - size, 0),
        ]
    with ir.InsertionPoint(op):
        steps = ir.DenseI64ArrayAttr.get([1] * len(sizes))
        sliced = hlo.slice(
            operand, ir.DenseI64ArrayAttr.get(begin), ir.DenseI64ArrayAttr.get(end), steps
        )
    op.operands[0] = sliced
    text = f"dense<{padding}> : tensor<{len(padding)}x2xi64>"
    op.attributes["padding"] = ir.Attribute.parse(text)


def _pairs(attribute: Any) -> list[tuple[int, int]]:
    numbers = [int(number) for number in attribute]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _is_dilated(attributes: Any) -> bool:
    if "lhs_dilation" not in attributes:
        return False
    return any(int(factor) != 1 for factor in attributes["lhs_dilation"])


STABLEHLO_STEPS: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {SLICE_NEGATIVE_PADDING: slice_negative_padding}
)
"""Steps of plans that change StableHLO, and need no engine. They come before all others."""
