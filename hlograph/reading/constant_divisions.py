"""Integer divisions of constants in StableHLO, which jaxlib must not compute before it compiles.

jaxlib 0.10.2 folds constants when it converts StableHLO to HLO, and ends the process where it
divides integers by zero. A barrier before the divisor keeps a division from being folded.
"""

from __future__ import annotations

from typing import Any

_DIVISIONS = frozenset({"stablehlo.divide", "stablehlo.remainder"})
_CONSTANTS = frozenset({"stablehlo.constant", "stablehlo.iota"})
_DIFFERENCES = frozenset({"stablehlo.subtract", "stablehlo.xor"})  # x - x is folded to 0
_PRODUCTS = frozenset({"stablehlo.multiply", "stablehlo.and"})  # and so is 0 * x


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
        folded = _Constants(calls)
        return [op for op in of_integers if all(folded.has(value) for value in op.operands)]


_DEEPEST = 64  # operations between a constant and its use, beyond which it is not looked for


class _Constants:
    """Finds values that jaxlib may fold to constants, at least in some call of their function."""

    def __init__(self, calls: dict[str, list[Any]]) -> None:
        self._calls = calls
        self._known: dict[Any, bool] = {}

    def has(self, value: Any, depth: int = 0) -> bool:
        """Returns True if a value may be folded."""
        if value not in self._known:
            self._known[value] = depth < _DEEPEST and self._is_folded(value, depth + 1)
        return self._known[value]

    def _is_folded(self, value: Any, depth: int) -> bool:
        from jaxlib.mlir import ir

        owner = value.owner
        if isinstance(owner, ir.Block):
            function = owner.owner.operation
            if function.name != "func.func":
                return False
            name = ir.StringAttr(function.attributes["sym_name"]).value
            number = ir.BlockArgument(value).arg_number
            return any(self.has(c.operands[number], depth) for c in self._calls.get(name, []))
        operands = list(owner.operands)
        if owner.name in _CONSTANTS or (owner.name in _DIFFERENCES and operands[0] == operands[1]):
            return True
        are_known = [self.has(operand, depth) for operand in operands]
        return any(are_known) if owner.name in _PRODUCTS else bool(operands) and all(are_known)
