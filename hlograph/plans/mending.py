"""Steps of plans that write a program in another form, which avoids a fault of jaxlib.

They change StableHLO and need no engine, so that they come before all other steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from hlograph.plans import mlir_modules
from hlograph.reading.constant_divisions import guarded

SLICE_NEGATIVE_PADDING = "slice-negative-padding"
"""Step that slices what convolutions crop by a negative padding, before them."""

GUARD_DIVISIONS = "guard-divisions"
"""Step that keeps integer divisions of constants from being computed at compile time."""


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


def guard_divisions(data: bytes) -> bytes:
    """Returns StableHLO whose divisions of constants are not computed before it is compiled.

    Args:
        data: StableHLO text or bytecode.
    """
    return mlir_modules.to_bytecode(guarded(mlir_modules.parse(data)))


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
    {SLICE_NEGATIVE_PADDING: slice_negative_padding, GUARD_DIVISIONS: guard_divisions}
)
"""The steps, by their names in plans."""
