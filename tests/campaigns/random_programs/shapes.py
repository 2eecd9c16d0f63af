"""Random instructions that move elements, and those that take them at places of operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tests.campaigns.random_programs.builder import (
    ALL_TYPES,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Builder,
    Value,
    braces,
)

_MOST_RANK = 8
_INDICES = ("s32", "s64", "u32", "s8", "u8")


def _broadcast(b: Builder) -> Value:
    x = b.value(ranks=range(_MOST_RANK))
    rank = b.rng.randint(len(x.dims), min(_MOST_RANK, len(x.dims) + 2))
    places = sorted(b.rng.sample(range(rank), len(x.dims)))
    dims = [b.rng.choice((0, 1, 2, 3, 5, 8)) for _ in range(rank)]
    for place, size in zip(places, x.dims, strict=True):
        dims[place] = size
    if math.prod(dims) > b.most:
        dims = [size if at in places else 1 for at, size in enumerate(dims)]
    return b.op("broadcast", x.type, dims, [x], f"dimensions={braces(places)}")


def _reshape(b: Builder) -> Value:
    x = b.value()
    size, dims = x.size, list[int]()
    if size == 0:
        dims = [0, *b.dims(b.rng.randint(0, 3))]
    else:
        while size > 1 and len(dims) < _MOST_RANK - 1:
            factor = b.rng.choice([n for n in range(2, size + 1) if size % n == 0][:4])
            dims.append(factor)
            size //= factor
            if b.rng.random() < 0.3:
                break
        dims += [size] if size > 1 else []
        if len(dims) < _MOST_RANK and b.rng.random() < 0.3:
            dims.append(1)
        b.rng.shuffle(dims)
    return b.op("reshape", x.type, dims, [x])


def _transpose(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    order = b.rng.sample(range(len(x.dims)), len(x.dims))
    dims = [x.dims[place] for place in order]
    return b.op("transpose", x.type, dims, [x], f"dimensions={braces(order)}")


def _reverse(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    places = b.rng.sample(range(len(x.dims)), b.rng.randint(1, len(x.dims)))
    return b.op("reverse", x.type, x.dims, [x], f"dimensions={braces(sorted(places))}")


def _slice(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    dims, bounds = [], []
    for size in x.dims:
        low = b.rng.randint(0, size)
        high, step = b.rng.randint(low, size), b.rng.choice((1, 1, 2, 3))
        dims.append(math.ceil((high - low) / step))
        bounds.append(f"[{low}:{high}:{step}]")
    return b.op("slice", x.type, dims, [x], f"slice={braces(bounds)}")


def _pad(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    dims, paddings = [], []
    for size in x.dims:
        low, high, interior = draw_padding(b, size)
        padded = size + low + high + max(size - 1, 0) * interior
        if padded < 0 or padded * math.prod(dims) > b.most:
            low, high, interior, padded = 0, 0, 0, size
        dims.append(padded)
        paddings.append(f"{low}_{high}_{interior}")
    fill = b.value((x.type,), range(1))
    return b.op("pad", x.type, dims, [x, fill], f"padding={'x'.join(paddings)}")


def draw_padding(b: Builder, size: int) -> tuple[int, int, int]:
    """Draws low, high and interior padding of a dimension; it may crop."""
    return (
        b.rng.choice((0, 0, 1, 2, -1, -size // 2)),
        b.rng.choice((0, 0, 1, 3, -1)),
        b.rng.choice((0, 0, 0, 1, 2)),
    )


def _concatenate(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    at, parts = b.rng.randrange(len(x.dims)), [x]
    for _ in range(b.rng.randint(0, 3)):
        dims = list(x.dims)
        dims[at] = b.rng.choice((0, 1, 2, x.dims[at]))
        parts.append(b.value((x.type,), None, dims))
    dims = list(x.dims)
    dims[at] = sum(part.dims[at] for part in parts)
    return b.op("concatenate", x.type, dims, parts, f"dimensions={{{at}}}")


def _iota(b: Builder) -> Value:
    dims = b.dims(b.rng.randint(1, 4))
    element_type = b.type(INTEGERS + FLOATS + COMPLEX)
    return b.op("iota", element_type, dims, (), f"iota_dimension={b.rng.randrange(len(dims))}")


def _starts(b: Builder, rank: int) -> list[Value]:
    """Returns indices of a start, which may be out of range."""
    element_type = b.rng.choice(_INDICES)
    return [
        b.constant(element_type, str(b.rng.choice((0, 1, 2, 100))))
        if b.rng.random() < 0.3
        else b.value((element_type,), range(1))
        for _ in range(rank)
    ]


def _dynamic_slice(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    dims = [b.rng.randint(0, size) if b.rng.random() < 0.8 else size for size in x.dims]
    attributes = f"dynamic_slice_sizes={braces(dims)}"
    return b.op("dynamic-slice", x.type, dims, [x, *_starts(b, len(dims))], attributes)


def _dynamic_update_slice(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    dims = [b.rng.randint(0, size) for size in x.dims]
    update = b.value((x.type,), None, dims)
    return b.op("dynamic-update-slice", x.type, x.dims, [x, update, *_starts(b, len(dims))])


def _index_places(b: Builder, x: Value) -> tuple[list[int], tuple[int, ...], Value]:
    """Draws the dimensions that are indexed, how many indices there are, and the indices."""
    places = sorted(b.rng.sample(range(len(x.dims)), b.rng.randint(1, min(2, len(x.dims)))))
    batch = tuple(b.rng.choice((0, 1, 2, 3, 5)) for _ in range(b.rng.randint(0, 2)))
    indices = b.value((b.rng.choice(_INDICES),), None, (*batch, len(places)))
    return places, batch, indices


def _gather(b: Builder) -> Value:
    x = b.value(ranks=range(1, 6))
    places, batch, indices = _index_places(b, x)
    sizes = [b.rng.randint(0, size) for size in x.dims]
    collapsed = [place for place in places if x.dims[place] and b.rng.random() < 0.6]
    for place in collapsed:
        sizes[place] = 1
    kept = [size for place, size in enumerate(sizes) if place not in collapsed]
    while math.prod(kept) * math.prod(batch) > b.most:
        at = max(range(len(sizes)), key=lambda place: sizes[place])
        sizes[at] //= 2
        kept = [size for place, size in enumerate(sizes) if place not in collapsed]
    offsets = list(range(len(batch), len(batch) + len(kept)))
    attributes = (
        f"offset_dims={braces(offsets)}, collapsed_slice_dims={braces(collapsed)}, "
        f"start_index_map={braces(places)}, index_vector_dim={len(batch)}, "
        f"slice_sizes={braces(sizes)}"
    )
    return b.op("gather", x.type, (*batch, *kept), [x, indices], attributes)


def _scatter(b: Builder) -> Value:
    # Updates of one element come in any order, so the combination has to commute.
    x = b.value(("pred", *NUMBERS), ranks=range(1, 5))
    combine = combiner(b, x.type)
    places, batch, indices = _index_places(b, x)
    inserted = [place for place in places if x.dims[place] and b.rng.random() < 0.6]
    window = [b.rng.randint(0, size) for place, size in enumerate(x.dims) if place not in inserted]
    dims = (*batch, *window)
    updates = b.value((x.type,), None, dims)
    attributes = (
        f"update_window_dims={braces(range(len(batch), len(dims)))}, "
        f"inserted_window_dims={braces(inserted)}, "
        f"scatter_dims_to_operand_dims={braces(places)}, index_vector_dim={len(batch)}, "
        f"to_apply={b.reducer(combine, x.type)}"
    )
    return b.op("scatter", x.type, x.dims, [x, indices, updates], attributes)


def combiner(b: Builder, element_type: str) -> str:
    """Draws an opcode that combines two scalars in any order."""
    if element_type == "pred":
        return b.rng.choice(("and", "or", "maximum", "minimum"))
    if element_type in COMPLEX:
        return b.rng.choice(("add", "multiply"))
    bits = ("and", "or") if element_type in INTEGERS else ()
    return b.rng.choice(("add", "add", "multiply", "maximum", "minimum", *bits))


def _tuple(b: Builder) -> Value:
    x, y = b.value(ALL_TYPES), b.value(FLOATS)
    pair = Value(b.name(), "tuple", ())
    b.body.lines.append(f"  {pair.name} = ({x.shape}, {y.shape}) tuple({x.name}, {y.name})")
    b.body.used |= {x.name, y.name}
    chosen = b.rng.randrange(2)
    result = (x, y)[chosen]
    return b.op("get-tuple-element", result.type, result.dims, [pair], f"index={chosen}")


def _barrier(b: Builder) -> Value:
    x = b.value()
    return b.op("opt-barrier", x.type, x.dims, [x])


def _dimension_size(b: Builder) -> Value:
    x = b.value(ranks=range(1, _MOST_RANK + 1))
    at = b.rng.randrange(len(x.dims))
    return b.op("get-dimension-size", "s32", (), [x], f"dimensions={{{at}}}")


DRAWS: Mapping[str, Callable[[Builder], Value]] = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "reverse": _reverse,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "iota": _iota,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "tuple": _tuple,
    "get-tuple-element": _tuple,
    "opt-barrier": _barrier,
    "get-dimension-size": _dimension_size,
}
"""Functions that add an instruction of an opcode."""
