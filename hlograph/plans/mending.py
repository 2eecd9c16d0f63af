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

WIDEN_SORTS = "widen-sorts"
"""Step that sorts integers of 2 bits as integers of 8 bits."""

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


def widen_sorts(data: bytes) -> bytes:
    """Returns StableHLO whose sorts take integers of 8 bits for those of 2 bits.

    Args:
        data: StableHLO text or bytecode.
    """
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo as hlo

    module = mlir_modules.parse(data)
    sorts: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "stablehlo.sort" and any(_is_narrow(v.type, ir) for v in op.operands):
            sorts.append(op)
        return ir.WalkResult.ADVANCE

    with module.context, ir.Location.unknown():
        module.operation.walk(visit)
        for op in sorts:
            _widen(op, ir, hlo)
    return mlir_modules.to_bytecode(module)


def _is_narrow(of: Any, ir: Any) -> bool:
    element_type = ir.RankedTensorType(of).element_type
    return isinstance(element_type, ir.IntegerType) and element_type.width == 2


def _wide(of: Any, ir: Any) -> Any:
    """Returns the type of an array, with 8 bits for 2."""
    if not _is_narrow(of, ir):
        return of
    is_unsigned = ir.IntegerType(ir.RankedTensorType(of).element_type).is_unsigned
    get = ir.IntegerType.get_unsigned if is_unsigned else ir.IntegerType.get_signless
    return ir.RankedTensorType.get(ir.RankedTensorType(of).shape, get(8))


def _widen(op: Any, ir: Any, hlo: Any) -> None:
    """Replaces one sort by a wide one, whose comparison takes narrow numbers."""
    types = [value.type for value in op.operands]
    with ir.InsertionPoint(op):
        operands = [
            hlo.convert(_wide(value.type, ir), value) if _is_narrow(value.type, ir) else value
            for value in op.operands
        ]
        sort = ir.Operation.create(
            "stablehlo.sort",
            [_wide(each, ir) for each in types],
            operands,
            {name: op.attributes[name] for name in op.attributes},
            regions=1,
        )
        for value, result, of in zip(op.results, sort.results, types, strict=True):
            value.replace_all_uses_with(hlo.convert(of, result) if _is_narrow(of, ir) else result)
    op.regions[0].blocks[0].append_to(sort.regions[0])
    block = sort.regions[0].blocks[0]
    with ir.InsertionPoint.at_block_begin(block):
        for argument in block.arguments:
            narrow = argument.type
            if _is_narrow(narrow, ir):
                argument.set_type(_wide(narrow, ir))
                before = hlo.convert(narrow, argument)
                argument.replace_all_uses_except(before, before.owner.operation)
    op.erase()


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
    {
        SLICE_NEGATIVE_PADDING: slice_negative_padding,
        GUARD_DIVISIONS: guard_divisions,
        WIDEN_SORTS: widen_sorts,
    }
)
"""The steps, by their names in plans."""
