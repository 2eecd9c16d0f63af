"""Places of all instructions of a module in one picture.

Each computation is a box of layers: an instruction is below its operands, as in a drawing of a
small graph, and parameters and constants are just above their first user. Long computations go on
in a further column beside, as a text does. Boxes are packed into one sheet.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

_ASPECT = 2.8
"""Width of the sheet over its height, and of a long computation's box."""
_SWEEPS = 6
_WIDEST = 4.0
"""Widest layer, in mean layers; the instructions of wider ones are drawn closer together."""
_LEAST_ROWS = 8
_GAP = 2.0

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Overview:
    """A picture of a module.

    Attributes:
        x: Place of each instruction, from the left.
        y: From the top.
        boxes: Left, top, width and height of each computation's box, ``[C, 4]``.
        width: Width of the sheet.
        height: Its height.
    """

    x: Floats
    y: Floats
    boxes: Floats
    width: float
    height: float


def overview(source: Ids, target: Ids, computation: Ids, computations: int) -> Overview:
    """Returns places for the instructions of a module.

    Args:
        source: Operand of each edge between instructions, which are in topological order.
        target: User of each edge.
        computation: Number of the computation of each instruction.
        computations: Number of computations.
    """
    layer = _layers(source, target, len(computation))
    x = _positions(source, target, layer, computation)
    bounds = np.searchsorted(computation, np.arange(computations + 1)).tolist()
    columns = [_columns(layer[b:e], x[b:e]) for b, e in itertools.pairwise(bounds)]
    sizes = np.array([(each.width, each.rows + _GAP) for each in columns])
    boxes, sheet = _packed(sizes)
    y = np.zeros(len(computation))
    for (begin, end), box, each in zip(itertools.pairwise(bounds), boxes, columns, strict=True):
        column, row = np.divmod(layer[begin:end], each.rows)
        x[begin:end] += box[0] + each.centres[column]
        y[begin:end] = box[1] + row + (1 + _GAP) / 2
    return Overview(x, y, boxes, *sheet)


def _layers(source: Ids, target: Ids, count: int) -> Ids:
    """Returns the layer of each instruction in its computation: the longest way from a source."""
    layers = [0] * count
    by_target = np.argsort(target, kind="stable")
    edges = zip(source[by_target].tolist(), target[by_target].tolist(), strict=True)
    for operand, user in edges:
        if layers[operand] >= layers[user]:
            layers[user] = layers[operand] + 1
    layer = np.array(layers, np.int64)
    first_user = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first_user, source, layer[target])
    moves = (np.bincount(target, minlength=count) == 0) & (np.bincount(source, minlength=count) > 0)
    layer[moves] = first_user[moves] - 1
    return layer


def _positions(source: Ids, target: Ids, layer: Ids, computation: Ids) -> Floats:
    """Returns the places of instructions in their layers, around 0, near their neighbours."""
    count = len(layer)
    row = computation * (int(layer.max(initial=0)) + 1) + layer
    rows, of_row = np.unique(row, return_inverse=True)
    size = np.bincount(of_row, minlength=len(rows))
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    degree = np.bincount(source, minlength=count) + np.bincount(target, minlength=count)
    x = np.zeros(count)
    order = np.lexsort((np.arange(count), of_row))
    for sweep in range(_SWEEPS + 1):
        if sweep:
            pull = np.bincount(source, x[target], count) + np.bincount(target, x[source], count)
            x = np.where(degree > 0, (x + pull) / (degree + 1), x)
            order = np.lexsort((x, of_row))
        ranked = of_row[order]
        x[order] = np.arange(count) - first[ranked] - (size[ranked] - 1) / 2
    owner = rows // (int(layer.max(initial=0)) + 1)
    mean = np.bincount(computation) / np.maximum(np.bincount(owner), 1)
    widest = np.maximum(8.0, _WIDEST * mean[computation])
    return x * np.minimum(1.0, widest / size[of_row])


@dataclass(frozen=True)
class _Columns:
    """Says how the layers of a computation go on in columns.

    Attributes:
        rows: Layers in each column.
        centres: Middle of each column, from the left of the computation's box.
        width: Width of all columns.
    """

    rows: int
    centres: Floats
    width: float


def _columns(layer: Ids, x: Floats) -> _Columns:
    height = int(layer.max(initial=0)) + 1
    widths = np.zeros(height)
    np.maximum.at(widths, layer, 2 * np.abs(x) + 1)
    # As many columns as give the box its proportions, and layers evenly over them.
    area = float(widths.sum()) + height * _GAP
    count = max(1, min(height // _LEAST_ROWS, ceil(height / sqrt(area / _ASPECT))))
    rows = ceil(height / count)
    within = np.maximum.reduceat(widths, np.arange(0, height, rows)) + _GAP
    return _Columns(rows, np.cumsum(within) - within / 2, float(within.sum()))


def _packed(sizes: Floats) -> tuple[Floats, tuple[float, float]]:
    """Returns boxes of these widths and heights on shelves, and the size of the sheet.

    The largest is first, and the others follow from high to low.
    """
    boxes = np.zeros((len(sizes), 4))
    limit = max(float(sizes[:, 0].max()), sqrt(float(sizes.prod(axis=1).sum()) * _ASPECT))
    left = top = shelf = 0.0
    largest = int(sizes.prod(axis=1).argmax())
    others = [n for n in np.argsort(-sizes[:, 1], kind="stable").tolist() if n != largest]
    for number in (largest, *others):
        width, height = sizes[number].tolist()
        if left > 0 and left + width > limit:
            left, top, shelf = 0.0, top + shelf, 0.0
        boxes[number] = left, top, width, height
        left += width
        shelf = max(shelf, height)
    return boxes, (limit, top + shelf)
