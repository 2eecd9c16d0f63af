"""Wrong variants of modules: changes of one detail of one instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from hlograph import Module
from hlograph.errors import HloError
from hlograph.reading.xla_protos import message_class

Edit = Callable[[Any], None]
"""Changes the message of an instruction."""

_COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
# Not changed: XLA's verifier ends the process at some wrong sorts.
_KEPT = frozenset({"sort", "parameter", "tuple", "while", "conditional", "call", "fusion"})
_OPPOSITE = {
    "add": "subtract",
    "subtract": "add",
    "multiply": "add",
    "maximum": "minimum",
    "minimum": "maximum",
    "and": "or",
    "or": "and",
    "sine": "cosine",
    "cosine": "sine",
    "sqrt": "rsqrt",
    "rsqrt": "sqrt",
    "floor": "ceil",
    "shift-left": "shift-right-logical",
}
_DIRECTIONS = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
_NUMBERS = ("s32s", "s64s", "u32s", "u64s", "f32s", "f64s")


@dataclass(frozen=True)
class Mutant:
    """A module of which one detail is changed.

    Attributes:
        change: What is changed, such as ``slice.2: starts later``.
        module: The changed module, which XLA's verifier accepts.
    """

    change: str
    module: Module


def mutants_of(module: Module, rng: Random) -> Iterator[Mutant]:
    """Yields changed modules, in random order, that have another fingerprint than the module."""
    proto = message_class("xla.HloModuleProto").FromString(module.to_proto())
    places = [
        (i, j, name)
        for i, computation in enumerate(proto.computations)
        for j, instruction in enumerate(computation.instructions)
        for name, _ in _edits(computation, instruction)
    ]
    rng.shuffle(places)
    fingerprint = module.fingerprint()
    for i, j, name in places:
        copy = message_class("xla.HloModuleProto")()
        copy.CopyFrom(proto)
        computation = copy.computations[i]
        instruction = computation.instructions[j]
        dict(_edits(computation, instruction))[name](instruction)
        try:
            changed = Module.from_proto(copy.SerializeToString())
            changed.verify()
        except HloError:
            continue
        if changed.fingerprint() != fingerprint:
            yield Mutant(f"{instruction.name}: {name}", changed)


def _edits(computation: Any, instruction: Any) -> Iterator[tuple[str, Edit]]:
    """Yields what can be changed of an instruction; XLA's verifier may reject it."""
    opcode, operands = instruction.opcode, list(instruction.operand_ids)
    if opcode in _OPPOSITE:
        yield f"{_OPPOSITE[opcode]} instead", partial(_set, "opcode", _OPPOSITE[opcode])
    if opcode == "compare":
        direction = _DIRECTIONS[instruction.comparison_direction]
        yield f"compares by {direction}", partial(_set, "comparison_direction", direction)
    if opcode == "topk":
        yield "the other end", partial(_set, "largest", not instruction.largest)
    if len(operands) > 1 and opcode not in _COMMUTATIVE | _KEPT:
        yield "operands swapped", partial(_swap_operands, -2)
        if len(operands) > 2:
            yield "first operands swapped", partial(_swap_operands, 0)
    if opcode == "tuple" and len(operands) > 1:
        yield "parts swapped", partial(_swap_operands, 0)
    if opcode == "constant":
        yield from _of_constant(instruction)
    yield from _of_windows(instruction)
    yield from _of_dimensions(instruction)
    if opcode not in _KEPT:
        by_id = {each.id: each for each in computation.instructions}
        for operand in dict.fromkeys(operands):
            if _kind(by_id[operand].shape) == _kind(instruction.shape):
                yield f"dropped for {by_id[operand].name}", partial(_drop, computation, operand)


def _of_constant(instruction: Any) -> Iterator[tuple[str, Edit]]:
    literal = instruction.literal
    for field in _NUMBERS:
        for index in range(min(len(getattr(literal, field)), 2)):
            yield f"element {index} plus 1", partial(_increase, field, index)
    if len(literal.preds):
        yield "flipped", lambda each: _put(each.literal.preds, 0, not each.literal.preds[0])


def _of_windows(instruction: Any) -> Iterator[tuple[str, Edit]]:
    for index, part in enumerate(instruction.slice_dimensions):
        for step in (1, -1):
            if part.start + step >= 0:
                yield f"slice {index} moved by {step}", partial(_move_slice, index, step)
    for index, _ in enumerate(instruction.padding_config.dimensions):
        for step in (1, -1):
            yield f"pad {index} moved by {step}", partial(_move_pad, index, step)
    for index, part in enumerate(instruction.window.dimensions):
        for step in (1, -1):
            yield f"window {index} moved by {step}", partial(_move_window, index, step)
        if instruction.opcode == "convolution" and part.size > 1:
            yield f"window {index} reversed", partial(_reverse_window, index)


def _of_dimensions(instruction: Any) -> Iterator[tuple[str, Edit]]:
    dimensions = list(instruction.dimensions)
    if instruction.opcode in ("transpose", "broadcast") and len(dimensions) > 1:
        for index in range(len(dimensions) - 1):
            if _may_take(instruction, dimensions[index], dimensions[index + 1]):
                yield f"dimensions {index} swapped", partial(_swap_dimensions, index)
    elif instruction.opcode not in _KEPT | {"transpose"}:
        for index, dimension in enumerate(dimensions):
            for other in (dimension - 1, dimension + 1):
                is_free = other >= 0 and other not in dimensions
                if is_free and _may_take(instruction, dimension, other):
                    yield (
                        f"dimension {other} for {dimension}",
                        partial(_set_dimension, index, other),
                    )
    if instruction.opcode == "dot":
        numbers = instruction.dot_dimension_numbers
        for side in ("lhs", "rhs"):
            for dimension in range(4):
                if len(getattr(numbers, f"{side}_contracting_dimensions")):
                    yield f"{side} contracts {dimension}", partial(_contract, side, dimension)
    if instruction.opcode == "convolution":
        yield "kernel's features swapped", _swap_features


def _may_take(instruction: Any, dimension: int, other: int) -> bool:
    """Returns whether a broadcast may use another dimension; for others, the verifier says."""
    sizes = instruction.shape.dimensions
    if instruction.opcode != "broadcast":
        return True
    return other < len(sizes) and sizes[other] == sizes[dimension]


def _kind(shape: Any) -> tuple[int, tuple[int, ...], int]:
    return shape.element_type, tuple(shape.dimensions), len(shape.tuple_shapes)


def _set(field: str, value: Any, instruction: Any) -> None:
    setattr(instruction, field, value)


def _put(values: Any, index: int, value: Any) -> None:
    values[index] = value


def _swap_operands(index: int, instruction: Any) -> None:
    operands = instruction.operand_ids
    operands[index], operands[index + 1] = operands[index + 1], operands[index]


def _increase(field: str, index: int, instruction: Any) -> None:
    values = getattr(instruction.literal, field)
    values[index] += 1 if values[index] < 1 << 30 else -1


def _move_slice(index: int, step: int, instruction: Any) -> None:
    part = instruction.slice_dimensions[index]
    part.start += step
    part.limit += step


def _move_pad(index: int, step: int, instruction: Any) -> None:
    dimension = instruction.padding_config.dimensions[index]
    dimension.edge_padding_low += step
    dimension.edge_padding_high -= step


def _move_window(index: int, step: int, instruction: Any) -> None:
    dimension = instruction.window.dimensions[index]
    dimension.padding_low += step
    dimension.padding_high -= step


def _reverse_window(index: int, instruction: Any) -> None:
    dimension = instruction.window.dimensions[index]
    dimension.window_reversal = not dimension.window_reversal


def _swap_dimensions(index: int, instruction: Any) -> None:
    dimensions = instruction.dimensions
    dimensions[index], dimensions[index + 1] = dimensions[index + 1], dimensions[index]


def _set_dimension(index: int, dimension: int, instruction: Any) -> None:
    instruction.dimensions[index] = dimension


def _contract(side: str, dimension: int, instruction: Any) -> None:
    numbers = getattr(instruction.dot_dimension_numbers, f"{side}_contracting_dimensions")
    numbers[0] = dimension


def _swap_features(instruction: Any) -> None:
    numbers = instruction.convolution_dimension_numbers
    given, made = numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension
    numbers.kernel_input_feature_dimension = made
    numbers.kernel_output_feature_dimension = given


def _drop(computation: Any, operand: int, instruction: Any) -> None:
    """Lets users of an instruction use its operand instead."""
    for user in computation.instructions:
        for index, used in enumerate(user.operand_ids):
            if used == instruction.id:
                user.operand_ids[index] = operand
    if computation.root_id == instruction.id:
        computation.root_id = operand
