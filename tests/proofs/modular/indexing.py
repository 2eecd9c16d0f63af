"""Operations that move elements: slices, pads, gathers, scatters and the like."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.proofs.modular.fields import Field, UndecidedError
from tests.proofs.modular.programs import Instruction
from tests.proofs.modular.values import Array, Leaf, array, moved, padded

Combine = Callable[[list[Leaf], list[Leaf]], list[Leaf]]
"""Combines the elements that are there with others, array by array."""


def on_places(field: Field, instruction: Instruction, values: list[Leaf]) -> Leaf:
    """Returns the result of an operation that moves elements.

    Raises:
        UndecidedError: The operation is not defined here.
    """
    first, dims, proto = values[0] if values else None, instruction.dims, instruction.proto
    numbers = instruction.dimensions
    if instruction.opcode == "iota":
        return _iota(field, instruction)
    assert first is not None, "expected an operand"
    if instruction.opcode in ("transpose", "broadcast") and not dims:
        return first  # a number in a computation that is applied to elements
    match instruction.opcode:
        case "reshape" | "bitcast":
            return moved(lambda x: x.reshape(dims), first)
        case "transpose":
            return moved(lambda x: x.transpose(numbers), first)
        case "broadcast":
            return moved(lambda x: _broadcast(x, dims, numbers), first)
        case "reverse":
            return moved(lambda x: np.flip(x, numbers), first)
        case "concatenate":
            return moved(lambda *x: np.concatenate(x, numbers[0]), *values)
        case "slice":
            parts = tuple(slice(s.start, s.limit, s.stride) for s in proto.slice_dimensions)
            return moved(lambda x: x[parts], first)
        case "pad":
            config = [
                (d.edge_padding_low, d.edge_padding_high, d.interior_padding)
                for d in proto.padding_config.dimensions
            ]
            return padded(first, values[1], config)
        case "dynamic-slice":
            sizes = tuple(proto.dynamic_slice_sizes)
            at = _window_at(values[1:], array(first).shape, sizes)
            return moved(lambda x: x[at], first)
        case "dynamic-update-slice":
            at = _window_at(values[2:], array(first).shape, array(values[1]).shape)
            return moved(lambda x, part: _updated(x, at, part), first, values[1])
        case "gather":
            places = _gathered_places(instruction, array(first).shape, array(values[1]))
            return moved(lambda x: x[places], first)
    raise UndecidedError(f"{instruction.opcode} is no operation that is known here")


def _iota(field: Field, instruction: Instruction) -> Leaf:
    axis = instruction.dimensions[0]
    line = np.arange(instruction.dims[axis]).reshape(
        [-1 if i == axis else 1 for i in _axes(instruction)]
    )
    whole = np.broadcast_to(line, instruction.dims)
    return field.integers(whole) if instruction.is_float else whole.astype(instruction.dtype)


def _axes(instruction: Instruction) -> range:
    return range(len(instruction.dims))


def _broadcast(data: Array, dims: Sequence[int], to: Sequence[int]) -> Array:
    order = np.argsort(to)
    wide = [1] * len(dims)
    for axis in order:
        wide[to[axis]] = data.shape[axis]
    return np.broadcast_to(data.transpose(order).reshape(wide), dims)


def _updated(data: Array, at: tuple[slice, ...], part: Array) -> Array:
    result = data.copy()
    result[at] = part
    return result


def _window_at(
    starts: Sequence[Leaf], dims: Sequence[int], sizes: Sequence[int]
) -> tuple[slice, ...]:
    """Returns a window that is moved into the array where it is not inside."""
    numbers = [int(number) for start in starts for number in array(start).reshape(-1)]
    firsts = [
        min(max(number, 0), dim - size)
        for number, dim, size in zip(numbers, dims, sizes, strict=True)
    ]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _starts(
    indices: Array, vector_dim: int, to: Sequence[int], rank: int
) -> tuple[Array, tuple[int, ...]]:
    """Returns the starts of windows, ``[windows' dimensions..., rank]``, and the former sizes.

    A start is zero where none is given.
    """
    if vector_dim == indices.ndim:
        indices = indices[..., None]
    vectors = np.moveaxis(indices, vector_dim, -1).astype(np.int64)
    starts = np.zeros((*vectors.shape[:-1], rank), np.int64)
    starts[..., list(to)] = vectors
    return starts, vectors.shape[:-1]


def _add_batch(
    starts: Array, operand_dims: Sequence[int], index_dims: Sequence[int], vector_dim: int
) -> None:
    """Starts windows in batch dimensions at the batch's own position."""
    for dim, index_dim in zip(operand_dims, index_dims, strict=True):
        axis = index_dim - (index_dim > vector_dim)
        line = np.arange(starts.shape[axis])
        starts[..., dim] = line.reshape([-1 if i == axis else 1 for i in range(starts.ndim - 1)])


def _gathered_places(
    instruction: Instruction, dims: Sequence[int], indices: Array
) -> tuple[Array, ...]:
    """Returns, for each dimension of the operand, where each element of the result is."""
    numbers = instruction.proto.gather_dimension_numbers
    sizes = np.array(instruction.proto.gather_slice_sizes, np.int64)
    starts, _ = _starts(indices, numbers.index_vector_dim, numbers.start_index_map, len(dims))
    _add_batch(
        starts,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.index_vector_dim,
    )
    starts = np.clip(starts, 0, np.array(dims, np.int64) - sizes)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [dim for dim in range(len(dims)) if dim not in dropped]
    return _places(starts, window, numbers.offset_dims, instruction.dims)


def _places(
    starts: Array, window: Sequence[int], offset_dims: Sequence[int], result: Sequence[int]
) -> tuple[Array, ...]:
    """Returns the places of elements of windows, in the dimensions of all windows' elements.

    Args:
        starts: Starts of the windows, ``[windows' dimensions..., rank]``.
        window: Dimensions of the operand along which windows extend.
        offset_dims: Dimensions of the result along which they extend.
        result: Dimensions of the result.
    """
    rank = len(result)
    batch = [dim for dim in range(rank) if dim not in set(offset_dims)]
    wide = [1] * rank
    for dim in batch:
        wide[dim] = result[dim]
    places = []
    for dim in range(starts.shape[-1]):
        place = starts[..., dim].reshape(wide)
        if dim in window:
            axis = offset_dims[list(window).index(dim)]
            line = np.arange(result[axis])
            place = place + line.reshape([-1 if i == axis else 1 for i in range(rank)])
        places.append(np.broadcast_to(place, result))
    return tuple(places)


def scattered(
    instruction: Instruction,
    operands: list[Leaf],
    indices: Array,
    updates: list[Leaf],
    combine: Combine,
) -> list[Leaf]:
    """Returns operands in which updates are combined with the elements at indices, in order.

    Windows that are not inside are left out.
    """
    numbers = instruction.proto.scatter_dimension_numbers
    dims, shape = array(operands[0]).shape, array(updates[0]).shape
    to = numbers.scatter_dims_to_operand_dims
    starts, _ = _starts(indices, numbers.index_vector_dim, to, len(dims))
    batching = numbers.input_batching_dims
    _add_batch(starts, batching, numbers.scatter_indices_batching_dims, numbers.index_vector_dim)
    dropped = {*numbers.inserted_window_dims, *batching}
    window = [dim for dim in range(len(dims)) if dim not in dropped]
    extents = np.ones(len(dims), np.int64)
    for dim, axis in zip(window, numbers.update_window_dims, strict=True):
        extents[dim] = shape[axis]
    fits = np.all((starts >= 0) & (starts + extents <= np.array(dims, np.int64)), axis=-1)
    places = _places(starts, window, numbers.update_window_dims, shape)
    inside = _places(fits[..., None].astype(np.int64), [], numbers.update_window_dims, shape)[0] > 0
    flat = np.zeros(int(inside.sum()), np.int64)
    for place, dim in zip(places, dims, strict=True):
        flat = flat * dim + place[inside]
    parts = [moved(lambda x: x[inside], update) for update in updates]
    lines = [moved(lambda x: x.reshape(-1), operand) for operand in operands]
    lines = in_turns(lines, flat, parts, combine)
    return [moved(lambda x: x.reshape(dims), line) for line in lines]


def in_turns(lines: list[Leaf], places: Array, parts: list[Leaf], combine: Combine) -> list[Leaf]:
    """Combines elements with those at places: at each place one after the other."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(is_first)
    turn = np.arange(len(ordered)) - np.repeat(begins, np.diff(begins, append=len(ordered)))
    for number in range(int(turn.max()) + 1 if len(turn) else 0):
        chosen = order[turn == number]
        at = places[chosen]
        there = [moved(lambda x, at=at: x[at], line) for line in lines]
        new = [moved(lambda x, chosen=chosen: x[chosen], part) for part in parts]
        results = combine(there, new)
        lines = [
            moved(lambda x, y, at=at: _put(x, at, y), line, result)
            for line, result in zip(lines, results, strict=True)
        ]
    return lines


def _put(data: Array, at: Array, values: Array) -> Array:
    result = data.copy()
    result[at] = values
    return result


def sorted_together(
    values: list[Leaf], axis: int, before: Callable[[list[Leaf], list[Leaf]], Array]
) -> list[Leaf]:
    """Sorts arrays along a dimension; equal elements keep their order.

    Args:
        values: The arrays.
        axis: The dimension.
        before: Returns where elements of the first arrays come before those of the second.
    """
    rows = [moved(lambda x: np.moveaxis(x, axis, -1), value) for value in values]
    shape = array(rows[0]).shape
    size = shape[-1]
    if size < 2 or math.prod(shape) == 0:
        return values
    left = [moved(lambda x: x[..., :, None], row) for row in rows]
    right = [moved(lambda x: x[..., None, :], row) for row in rows]
    is_less = np.broadcast_to(before(left, right), (*shape, size))
    is_equal = ~is_less & ~is_less.swapaxes(-1, -2)
    earlier = np.tri(size, k=-1, dtype=bool)
    rank = (is_less.swapaxes(-1, -2) | (is_equal & earlier)).sum(axis=-1)
    order = np.argsort(rank, axis=-1, kind="stable")
    return [
        moved(lambda x: np.moveaxis(np.take_along_axis(x, order, -1), -1, axis), row)
        for row in rows
    ]
