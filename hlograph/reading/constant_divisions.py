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

_COPIES = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "convert", "reshape", "transpose")
)
_MOST = 4096  # numbers of a constant that are looked at


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
    functions: dict[str, Any] = {}

    def visit(op: Any) -> Any:
        if op.name in _DIVISIONS:
            divisions.append(op)
        elif op.name == "func.func":
            functions[ir.StringAttr(op.attributes["sym_name"]).value] = op
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
        folded = _Constants(functions, calls)
        return [
            op
            for op in of_integers
            if all(map(folded.has, op.operands)) and folded.may_be_zero(op.operands[1])
        ]


_DEEPEST = 64  # operations between a constant and its use, beyond which it is not looked for


class _Constants:
    """Finds values that jaxlib may fold to constants, at least in some call of their function."""

    def __init__(self, functions: dict[str, Any], calls: dict[str, list[Any]]) -> None:
        self._functions, self._calls = functions, calls
        self._known: dict[Any, bool] = {}

    def has(self, value: Any, depth: int = 0) -> bool:
        """Returns True if a value may be folded."""
        if value not in self._known:
            self._known[value] = depth < _DEEPEST and self._is_folded(value, depth + 1)
        return self._known[value]

    def may_be_zero(self, value: Any, depth: int = 0) -> bool:
        """Returns False if a value is a constant, or copies of one, without zeros."""
        from jaxlib.mlir import ir

        owner = value.owner
        if isinstance(owner, ir.Block):
            arguments = self._arguments(value)
            unknown = not arguments or depth >= _DEEPEST
            return unknown or any(self.may_be_zero(each, depth + 1) for each in arguments)
        if owner.name == "func.call" and depth < _DEEPEST:
            return self.may_be_zero(self._returned(value), depth + 1)
        if owner.name in _COPIES:
            return self.may_be_zero(owner.operands[0], depth)
        if owner.name == "stablehlo.select":  # as numpy's remainder, which puts 1 for 0
            return any(self.may_be_zero(each, depth) for each in list(owner.operands)[1:])
        if owner.name != "stablehlo.constant":
            return True
        numbers = ir.DenseIntElementsAttr(owner.attributes["value"])
        if numbers.is_splat:
            return ir.IntegerAttr(numbers.get_splat_value()).value == 0
        return len(numbers) > _MOST or any(number == 0 for number in numbers)

    def _returned(self, result: Any) -> Any:
        """Returns what a function returns as a result of its call."""
        from jaxlib.mlir import ir

        callee = ir.FlatSymbolRefAttr(result.owner.attributes["callee"]).value
        block = self._functions[callee].regions[0].blocks[0]
        return block.operations[len(block.operations) - 1].operands[
            ir.OpResult(result).result_number
        ]

    def _arguments(self, parameter: Any) -> list[Any]:
        """Returns what a parameter of a function is in each call."""
        from jaxlib.mlir import ir

        function = parameter.owner.owner.operation
        if function.name != "func.func":
            return []
        name = ir.StringAttr(function.attributes["sym_name"]).value
        number = ir.BlockArgument(parameter).arg_number
        return [call.operands[number] for call in self._calls.get(name, [])]

    def _is_folded(self, value: Any, depth: int) -> bool:
        from jaxlib.mlir import ir

        owner = value.owner
        if isinstance(owner, ir.Block):
            return any(self.has(each, depth) for each in self._arguments(value))
        operands = list(owner.operands)
        if owner.name in _CONSTANTS or (owner.name in _DIFFERENCES and operands[0] == operands[1]):
            return True
        are_known = [self.has(operand, depth) for operand in operands]
        return any(are_known) if owner.name in _PRODUCTS else bool(operands) and all(are_known)
