"""Dots and convolutions of residues and of integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from tests.proofs.modular.fields import Field, Residues, UndecidedError
from tests.proofs.modular.programs import Instruction
from tests.proofs.modular.values import Leaf, array, moved, taps


def dot(field: Field, instruction: Instruction, lhs: Leaf, rhs: Leaf) -> Leaf:
    """Returns a dot of any dimension numbers."""
    numbers = instruction.proto.dot_dimension_numbers
    left, kept_left = _matrix(
        lhs, numbers.lhs_batch_dimensions, numbers.lhs_contracting_dimensions, last=True
    )
    right, kept_right = _matrix(
        rhs, numbers.rhs_batch_dimensions, numbers.rhs_contracting_dimensions, last=False
    )
    batch = [array(lhs).shape[dim] for dim in numbers.lhs_batch_dimensions]
    product = _matmul(field, instruction, left, right)
    return moved(lambda x: x.reshape([*batch, *kept_left, *kept_right]), product)


def _matrix(
    value: Leaf, batch: Sequence[int], contracted: Sequence[int], *, last: bool
) -> tuple[Leaf, list[int]]:
    """Returns an operand as matrices, and its dimensions that are neither batch nor contracted."""
    dims = array(value).shape
    free = [dim for dim in range(len(dims)) if dim not in {*batch, *contracted}]
    order = [*batch, *free, *contracted] if last else [*batch, *contracted, *free]
    count = math.prod(dims[dim] for dim in batch)
    kept = [dims[dim] for dim in free]
    rows, depth = math.prod(kept), math.prod(dims[dim] for dim in contracted)
    shape = (count, rows, depth) if last else (count, depth, rows)
    return moved(lambda x: x.transpose(order).reshape(shape), value), kept


def _matmul(field: Field, instruction: Instruction, lhs: Leaf, rhs: Leaf) -> Leaf:
    if isinstance(lhs, Residues) and isinstance(rhs, Residues):
        return field.matmul(lhs, rhs)
    if isinstance(lhs, Residues) or isinstance(rhs, Residues) or instruction.is_float:
        raise UndecidedError(f"{instruction.opcode} mixes integers and floats")
    if instruction.element_type == "pred":
        raise UndecidedError(f"{instruction.opcode} of predicates")
    return np.matmul(lhs.astype(instruction.dtype), rhs.astype(instruction.dtype))


def convolution(field: Field, instruction: Instruction, lhs: Leaf, rhs: Leaf) -> Leaf:
    """Returns a convolution of any window, dimension numbers and groups."""
    numbers = instruction.proto.convolution_dimension_numbers
    spatial = list(numbers.input_spatial_dimensions)
    order = [numbers.input_batch_dimension, numbers.input_feature_dimension, *spatial]
    inputs = moved(lambda x: x.transpose(order), lhs)
    kernel_order = [
        *numbers.kernel_spatial_dimensions,
        numbers.kernel_input_feature_dimension,
        numbers.kernel_output_feature_dimension,
    ]
    kernel = moved(lambda x: x.transpose(kernel_order), rhs)
    window = list(instruction.proto.window.dimensions)
    whole = [_ONE_TAP, _ONE_TAP, *window]
    add = _adder(field, instruction)
    terms: list[Leaf] = []
    for position, shifted in taps(inputs, _zero(inputs), whole):
        place = tuple(
            w.size - 1 - at if w.window_reversal else at
            for at, w in zip(position[2:], window, strict=True)
        )
        tap = moved(lambda x, place=place: x[place], kernel)
        terms.append(_of_groups(field, instruction, shifted, tap))
    if not terms:
        raise UndecidedError("a convolution by an empty window")
    result = reduce(add, terms)
    # From [batch, spatial..., features] to the dimensions of the result.
    places = [0] * len(instruction.dims)
    places[numbers.output_batch_dimension] = 0
    places[numbers.output_feature_dimension] = len(places) - 1
    for i, dim in enumerate(numbers.output_spatial_dimensions):
        places[dim] = 1 + i
    return moved(lambda x: x.transpose(places), result)


class _OneTap:
    """The window of a dimension that is no spatial one."""

    size = stride = base_dilation = window_dilation = 1
    padding_low = padding_high = 0


_ONE_TAP = _OneTap()


def _zero(like: Leaf) -> Leaf:
    return moved(lambda x: np.zeros((), x.dtype), like)


def _adder(field: Field, instruction: Instruction) -> Callable[[Any, Any], Leaf]:
    return field.add if instruction.is_float else lambda a, b: a + b


def _of_groups(field: Field, instruction: Instruction, inputs: Leaf, tap: Leaf) -> Leaf:
    """Returns products ``[batch, spatial..., features]`` of one tap, group by group.

    Args:
        field: The field.
        instruction: The convolution.
        inputs: Elements that the tap meets, ``[batch, channels, spatial...]``.
        tap: Weights, ``[channels of a group, features]``.
    """
    groups = max(instruction.proto.feature_group_count, 1)
    batches = max(instruction.proto.batch_group_count, 1)
    rows = moved(lambda x: np.moveaxis(x, 1, -1), inputs)
    parts = []
    for number in range(groups * batches):
        features = moved(lambda x, n=number: np.split(x, groups * batches, axis=-1)[n], tap)
        axis, count = (0, batches) if batches > 1 else (-1, groups)
        own = moved(lambda x, n=number, a=axis, c=count: np.split(x, c, axis=a)[n], rows)
        positions = array(own).shape[:-1]
        flat = moved(lambda x: x.reshape(-1, x.shape[-1]), own)
        product = _matmul(field, instruction, flat, features)
        parts.append(moved(lambda x, p=positions: x.reshape(*p, x.shape[-1]), product))
    return moved(lambda *x: np.concatenate(x, axis=-1), *parts)
