"""Integer divisions of constants in StableHLO, which jaxlib must not compute before it compiles.

jaxlib 0.10.2 folds constants when it converts StableHLO to HLO, and ends the process where it
divides integers by zero. A barrier before the divisor keeps a division from being folded.
"""

from __future__ import annotations

from typing import Any

_DIVISIONS = frozenset({"stablehlo.divide", "stablehlo.remainder"})


def guarded(module: Any) -> Any:
    """Returns a module in which no division of constants is folded, or the module if it has none.

    Args:
        module: The ``ir.Module``; it is not changed.
    """
    if not _unsafe(module):
        return module
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo as hlo

    with module.context, ir.Location.unknown():
        module = module.operation.clone()
        for op in _unsafe(module):
            with ir.InsertionPoint(op):
                op.operands[1] = hlo.optimization_barrier([op.operands[1]])
    return module


def _unsafe(module: Any) -> list[Any]:
    """Returns the divisions of integers that depend on constants alone."""
    from jaxlib.mlir import ir

    divisions: list[Any] = []
    calls: dict[str, list[Any]] = {}

    def visit(op: Any) -> Any:
        if op.name in _DIVISIONS:
            divisions.append(op)
        elif op.name == "func.call":
            calls.setdefault(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, []).append(op)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
        of_integers = [
            op
            for op in divisions
            if isinstance(ir.RankedTensorType(op.operands[1].type).element_type, ir.IntegerType)
        ]
        return [op for op in of_integers if all(_is_constant(v, calls, 0) for v in op.operands)]


_DEEPEST = 64  # operations between a constant and its use


def _is_constant(value: Any, calls: dict[str, list[Any]], depth: int) -> bool:
    """Returns True if a value depends on constants alone, at least in some call of its function."""
    from jaxlib.mlir import ir

    if depth > _DEEPEST:
        return False
    owner = value.owner
    if isinstance(owner, ir.Block):
        function = owner.owner.operation
        if function.name != "func.func":
            return False
        name = ir.StringAttr(function.attributes["sym_name"]).value
        number = ir.BlockArgument(value).arg_number
        callers = calls.get(name, [])
        return any(_is_constant(call.operands[number], calls, depth + 1) for call in callers)
    if owner.name in ("stablehlo.constant", "stablehlo.iota"):
        return True
    operands = list(owner.operands)
    return bool(operands) and all(_is_constant(each, calls, depth + 1) for each in operands)
