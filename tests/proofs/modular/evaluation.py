"""The interpreter: evaluates a module over a field, instruction by instruction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.proofs.modular.fields import Field, Residues, UndecidedError
from tests.proofs.modular.indexing import in_turns, on_places, scattered, sorted_together
from tests.proofs.modular.pointwise import converted, on_elements, reinterpreted
from tests.proofs.modular.products import convolution, dot
from tests.proofs.modular.programs import Computation, HloProgram, Instruction
from tests.proofs.modular.values import Array, Leaf, Value, array, leaf, moved, padded, taps

# Instructions that are evaluated, after which a module counts as endless.
_STEPS = 50_000

_ON_PLACES = frozenset(
    {
        "bitcast",
        "broadcast",
        "concatenate",
        "dynamic-slice",
        "dynamic-update-slice",
        "gather",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    }
)
_SAME = frozenset(["copy", "opt-barrier"])
_ENTERED = frozenset(["call", "fusion", "map"])


class Evaluator:
    """Evaluates a module over a field.

    Args:
        program: The module.
        field: The field; its random functions are the same for all modules.
        branch: The branch that all conditionals of the entry computation take; None if their
            predicates decide.
    """

    def __init__(self, program: HloProgram, field: Field, branch: int | None = None) -> None:
        self._program = program
        self._field = field
        self._branch = branch
        self._steps = 0

    def run(self, arguments: Sequence[Value]) -> Value:
        """Returns the result of the entry computation.

        Raises:
            UndecidedError: An operation cannot be followed over a field.
            DrawError: The arguments are no point of the function.
        """
        with np.errstate(over="ignore"):
            return self._run(self._program.entry, arguments)

    def _run(self, number: int, arguments: Sequence[Value]) -> Value:
        computation: Computation = self._program.computations[number]
        self._steps += len(computation.instructions)
        if self._steps > _STEPS:
            raise UndecidedError(f"more than {_STEPS} instructions were evaluated")
        values: dict[int, Value] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                values[instruction.number] = arguments[instruction.proto.parameter_number]
            else:
                operands = [values[operand] for operand in instruction.operands]
                values[instruction.number] = self._value(instruction, operands)
        return values[computation.root]

    def _value(self, instruction: Instruction, operands: list[Value]) -> Value:
        opcode = instruction.opcode
        if opcode in _SAME:
            return operands[0] if len(operands) == 1 else tuple(operands)
        if opcode == "tuple":
            return tuple(operands)
        if opcode == "get-tuple-element":
            parts = operands[0]
            assert isinstance(parts, tuple), "expected a tuple"
            return parts[instruction.proto.tuple_index]
        if opcode in _ENTERED:
            return self._run(instruction.called[0], operands)
        if opcode in ("while", "conditional"):
            return self._controlled(instruction, operands)
        return self._of_arrays(instruction, [leaf(operand) for operand in operands])

    def _of_arrays(self, instruction: Instruction, values: list[Leaf]) -> Value:
        field, opcode = self._field, instruction.opcode
        if opcode in _ON_PLACES:
            return on_places(field, instruction, values)
        match opcode:
            case "constant":
                return self._constant(instruction)
            case "convert":
                return converted(field, instruction, values[0])
            case "bitcast-convert":
                return reinterpreted(field, instruction, values[0])
            case "dot":
                return dot(field, instruction, *values)
            case "convolution":
                return convolution(field, instruction, *values)
            case "reduce":
                return self._reduced(instruction, values)
            case "reduce-window":
                return self._over_windows(instruction, values)
            case "scatter":
                return self._scattered(instruction, values)
            case "select-and-scatter":
                return self._selected(instruction, *values)
            case "sort":
                return self._sorted(instruction, values)
            case "topk":
                return self._top(instruction, values[0])
        return on_elements(field, instruction, values)

    def _constant(self, instruction: Instruction) -> Leaf:
        if instruction.literal is None:
            raise UndecidedError("a constant that is a tuple")
        if instruction.is_float:
            return self._field.literal(instruction.literal)
        return instruction.literal

    def _controlled(self, instruction: Instruction, operands: list[Value]) -> Value:
        if instruction.opcode == "conditional":
            index = array(operands[0])
            last = len(instruction.called) - 1
            branch = int(not index) if index.dtype == bool else int(index)
            if self._branch is not None and self._is_in_entry(instruction):
                branch = self._branch
            branch = branch if 0 <= branch <= last else last
            return self._run(instruction.called[branch], [operands[1 + branch]])
        body, condition = instruction.called
        value = operands[0]
        while array(self._run(condition, [value])):
            value = self._run(body, [value])
        return value

    def _is_in_entry(self, instruction: Instruction) -> bool:
        entry = self._program.computations[self._program.entry]
        return any(each is instruction for each in entry.instructions)

    # Computations that are applied to elements.

    def _combined(self, number: int, *values: list[Leaf]) -> list[Leaf]:
        """Applies a computation of numbers to all elements of arrays."""
        result = self._run(number, [value for group in values for value in group])
        parts = result if isinstance(result, tuple) else (result,)
        shape = np.broadcast_shapes(*(array(v).shape for group in values for v in group))
        return [moved(lambda x: np.broadcast_to(x, shape), leaf(part)) for part in parts]

    def _is_sum(self, number: int) -> bool:
        computation = self._program.computations[number]
        root = computation.instructions[-1]
        opcodes = [each.opcode for each in computation.instructions]
        return (
            opcodes == ["parameter", "parameter", "add"]
            and computation.root == root.number
            and len({*root.operands}) == 2
        )

    def _reduced(self, instruction: Instruction, values: list[Leaf]) -> Value:
        count = len(values) // 2
        arrays, starts = values[:count], values[count:]
        axes = instruction.dimensions
        (called,) = instruction.called
        first = arrays[0]
        if count == 1 and isinstance(first, Residues) and self._is_sum(called):
            start = starts[0]
            assert isinstance(start, Residues)
            return self._field.add(self._field.total(first, axes), start)
        kept = [axis for axis in range(array(first).ndim) if axis not in axes]
        dims = [array(first).shape[axis] for axis in kept]
        length = math.prod(array(first).shape[axis] for axis in axes)
        lines = [
            moved(lambda x: x.transpose(*axes, *kept).reshape(length, *dims), each)
            for each in arrays
        ]
        total = [moved(lambda x: np.broadcast_to(x, dims), start) for start in starts]
        for i in range(length):
            total = self._combined(called, total, [moved(lambda x, i=i: x[i], x) for x in lines])
        return total[0] if instruction.element_type != "tuple" else tuple(total)

    def _over_windows(self, instruction: Instruction, values: list[Leaf]) -> Value:
        """Combines the elements of windows, along one dimension after the other.

        As XLA does, it takes the computation for associative and commutative.
        """
        count = len(values) // 2
        starts = values[count:]
        total = values[:count]
        for axis, window in enumerate(instruction.proto.window.dimensions):
            total = self._along_windows(instruction.called[0], total, starts, axis, window)
        total = self._combined(instruction.called[0], starts, total)
        return total[0] if instruction.element_type != "tuple" else tuple(total)

    def _along_windows(
        self, called: int, values: list[Leaf], starts: list[Leaf], axis: int, window: Any
    ) -> list[Leaf]:
        """Combines the elements of windows along a dimension, windows of 1, 2, 4, ... elements."""
        config = [(0, 0, 0)] * array(values[0]).ndim
        config[axis] = (window.padding_low, window.padding_high, window.base_dilation - 1)
        parts = [padded(*pair, config) for pair in zip(values, starts, strict=True)]
        step, size = window.window_dilation, array(parts[0]).shape[axis]
        count = max((size - (window.size - 1) * step - 1) // window.stride + 1, 0) if size else 0
        total: list[Leaf] | None = None
        begin, width = 0, 1
        while True:
            if window.size & width:
                own = [_part(part, axis, begin * step, count, window.stride) for part in parts]
                total = self._combined(called, total, own) if total else own
                begin += width
            if begin == window.size:
                assert total is not None, "expected a window of at least one element"
                return total
            length = max(array(parts[0]).shape[axis] - width * step, 0)
            halves = [
                [_part(part, axis, at, length, 1) for part in parts] for at in (0, width * step)
            ]
            parts = self._combined(called, *halves)
            width *= 2

    def _scattered(self, instruction: Instruction, values: list[Leaf]) -> Value:
        count = len(values) // 2
        (called,) = instruction.called
        results = scattered(
            instruction,
            values[:count],
            array(values[count]),
            values[count + 1 :],
            lambda there, new: self._combined(called, there, new),
        )
        return results[0] if instruction.element_type != "tuple" else tuple(results)

    def _selected(self, instruction: Instruction, operand: Leaf, source: Leaf, start: Leaf) -> Leaf:
        """Adds sources to the elements that are selected in their windows."""
        choose, combine = instruction.called
        window = list(instruction.proto.window.dimensions)
        dims = array(operand).shape
        numbers = np.arange(array(operand).size).reshape(dims)
        best: tuple[Leaf, Array] | None = None
        for (_, elements), (_, places) in zip(
            taps(operand, start, window), taps(numbers, np.array(-1), window), strict=True
        ):
            place = array(places)
            if best is None:
                best = elements, place
                continue
            (keep,) = self._combined(choose, [best[0]], [elements])
            kept = (array(keep) & (best[1] >= 0)) | (place < 0)
            value = moved(lambda a, b, kept=kept: np.where(kept, a, b), best[0], elements)
            best = value, np.where(kept, best[1], place)
        assert best is not None, "expected a window"
        inside = best[1] >= 0
        line = moved(lambda x: np.broadcast_to(x, [array(operand).size]), start)
        parts = [moved(lambda x: x[inside], source)]
        (result,) = in_turns(
            [line], best[1][inside], parts, lambda there, new: self._combined(combine, there, new)
        )
        return moved(lambda x: x.reshape(dims), result)

    def _sorted(self, instruction: Instruction, values: list[Leaf]) -> Value:
        (called,) = instruction.called

        def before(left: list[Leaf], right: list[Leaf]) -> Array:
            pairs = [value for pair in zip(left, right, strict=True) for value in pair]
            return array(self._run(called, pairs))

        results = sorted_together(values, instruction.dimensions[0], before)
        return results[0] if instruction.element_type != "tuple" else tuple(results)

    def _top(self, instruction: Instruction, value: Leaf) -> Value:
        proto: Any = instruction.proto
        data = array(value)
        positions = np.broadcast_to(np.arange(data.shape[-1], dtype=np.int32), data.shape)

        def before(left: list[Leaf], right: list[Leaf]) -> Array:
            first, second = left[0], right[0]
            if isinstance(first, Residues) and isinstance(second, Residues):
                keys = self._field.keys(first, second)
            else:
                keys = [array(first), array(second)]
            return keys[0] > keys[1] if proto.largest else keys[0] < keys[1]

        results = sorted_together([value, positions], data.ndim - 1, before)
        return tuple(moved(lambda x: x[..., : proto.k], result) for result in results)


def _part(value: Leaf, axis: int, begin: int, count: int, stride: int) -> Leaf:
    """Returns so many elements of a dimension."""
    places = begin + np.arange(count) * stride
    return moved(lambda x: np.take(x, places, axis), value)
