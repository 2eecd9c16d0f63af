"""Random instructions that combine many elements, and those that order or draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from tests.campaigns.random_programs.builder import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SMALL_FLOATS,
    Builder,
    Value,
    braces,
)
from tests.campaigns.random_programs.shapes import combiner

_MOST_RANK = 8
_MOST_WORK = 200_000  # products in a dot or convolution, which the evaluator computes one by one


def _reduce(b: Builder) -> Value:
    if b.rng.random() < 0.15:
        return _arg_max(b)
    x = b.value(("pred", *NUMBERS), ranks=range(1, _MOST_RANK + 1))
    places = sorted(b.rng.sample(range(len(x.dims)), b.rng.randint(1, len(x.dims))))
    opcode = combiner(b, x.type)
    dims = [size for place, size in enumerate(x.dims) if place not in places]
    attributes = f"dimensions={braces(places)}, to_apply={b.reducer(opcode, x.type)}"
    return b.op("reduce", x.type, dims, [x, b.neutral(opcode, x.type)], attributes)


def _arg_max(b: Builder) -> Value:
    """Adds a reduction to the largest element and its index."""
    x = b.value(FLOATS + INTEGERS, ranks=range(1, _MOST_RANK + 1))
    at = b.rng.randrange(len(x.dims))
    index = b.op("iota", "s32", x.dims, (), f"iota_dimension={at}")

    def build() -> str:
        v, i = b.parameter(x.type, ()), b.parameter("s32", ())
        w, j = b.parameter(x.type, ()), b.parameter("s32", ())
        more = b.op("compare", "pred", (), [v, w], "direction=GT")
        same = b.op("compare", "pred", (), [v, w], "direction=EQ")
        first = b.op("compare", "pred", (), [i, j], "direction=LT")
        tie = b.op("and", "pred", (), [same, first])
        left = b.op("or", "pred", (), [more, tie])
        best = b.op("select", x.type, (), [left, v, w])
        place = b.op("select", "s32", (), [left, i, j])
        return f"{b.name()} = ({x.type}[], s32[]) tuple({best.name}, {place.name})"

    dims = [size for place, size in enumerate(x.dims) if place != at]
    start = b.neutral("maximum", x.type), b.constant("s32", str((1 << 31) - 1))
    attributes = f"dimensions={{{at}}}, to_apply={b.computation(build)}"
    results = b.ops("reduce", [(x.type, dims), ("s32", dims)], [x, index, *start], attributes)
    return b.rng.choice(results)


def _window(b: Builder, dims: tuple[int, ...], dilated: bool = True) -> tuple[list[int], str]:
    """Draws a window over an array; returns the sizes of the result, and the attribute."""
    sizes, strides, pads, bases, windows, results = [], [], [], [], [], []
    for dim in dims:
        size, stride = b.rng.choice((1, 1, 2, 3, dim or 1)), b.rng.choice((1, 1, 2, 3))
        low, high = b.rng.choice((0, 0, 1, 2, -1)), b.rng.choice((0, 0, 1, 3, -1))
        base = b.rng.choice((1, 1, 1, 2)) if dilated else 1
        window = b.rng.choice((1, 1, 1, 2)) if dilated else 1
        padded = low + high + (max(dim - 1, 0) * base + 1 if dim else 0)
        if padded < 0:
            low = high = 0
            padded = max(dim - 1, 0) * base + 1 if dim else 0
        extent = (size - 1) * window + 1
        results.append((padded - extent) // stride + 1 if padded >= extent else 0)
        sizes.append(size)
        strides.append(stride)
        pads.append(f"{low}_{high}")
        bases.append(base)
        windows.append(window)
    x = "x".join
    parts = [f"size={x(map(str, sizes))}", f"stride={x(map(str, strides))}", f"pad={x(pads)}"]
    if dilated:
        parts += [f"lhs_dilate={x(map(str, bases))}", f"rhs_dilate={x(map(str, windows))}"]
    return results, f"window={{{' '.join(parts)}}}"


def _reduce_window(b: Builder) -> Value:
    x = b.value(("pred", *NUMBERS), ranks=range(1, 6))
    opcode = combiner(b, x.type)
    dims, window = _window(b, x.dims)
    attributes = f"{window}, to_apply={b.reducer(opcode, x.type)}"
    return b.op("reduce-window", x.type, dims, [x, b.neutral(opcode, x.type)], attributes)


def _select_and_scatter(b: Builder) -> Value:
    x = b.value(("f32", "f64", "s32", "bf16"), ranks=range(1, 5))

    def build() -> Value:
        v, w = b.parameter(x.type, ()), b.parameter(x.type, ())
        return b.op("compare", "pred", (), [v, w], "direction=GE")

    select = b.computation(build)
    dims, window = _window(b, x.dims, dilated=False)
    source = b.value((x.type,), None, dims)
    attributes = f"{window}, select={select}, scatter={b.reducer('add', x.type)}"
    start = b.constant(x.type, "0")
    return b.op("select-and-scatter", x.type, x.dims, [x, source, start], attributes)


def _dot(b: Builder) -> Value:
    x = b.value((*NUMBERS, *SMALL_FLOATS[2:]), ranks=range(1, 7))
    places = b.rng.sample(range(len(x.dims)), len(x.dims))
    contracted = places[: b.rng.choice((0, 1, 1, 1, 2))]
    batch = places[len(contracted) : len(contracted) + b.rng.choice((0, 0, 1, 2))]
    own = [b.rng.choice((0, 1, 2, 3, 8, 16)) for _ in range(b.rng.choice((0, 1, 1, 2)))]
    taken = [*((place, "b") for place in batch), *((place, "c") for place in contracted)]
    slots = [*taken, *((size, "f") for size in own)]
    b.rng.shuffle(slots)
    dims = [at if kind == "f" else x.dims[at] for at, kind in slots]
    free = [size for at, size in enumerate(x.dims) if at not in (*contracted, *batch)]
    if math.prod((*x.dims, *own)) > _MOST_WORK:
        return _reduce(b)
    y = b.value((x.type,), None, dims)
    where = {place: at for at, (place, kind) in enumerate(slots) if kind != "f"}
    lists = {
        "lhs_batch_dims": batch,
        "rhs_batch_dims": [where[place] for place in batch],
        "lhs_contracting_dims": contracted,
        "rhs_contracting_dims": [where[place] for place in contracted],
    }
    attributes = ", ".join(f"{name}={braces(places)}" for name, places in lists.items())
    other = [size for at, (size, kind) in enumerate(slots) if kind == "f" and at >= 0]
    result = [*(x.dims[place] for place in batch), *free, *other]
    wide = "f32" if x.type in SMALL_FLOATS else x.type
    if x.type in ("s4", "s8", "bf16") and b.rng.random() < 0.3:
        wide = "f32" if x.type == "bf16" else "s32"
    return b.op("dot", wide, result, [x, y], attributes)


def _convolution(b: Builder) -> Value:
    element_type = b.type(("f32", "f32", "f32", "bf16", "f16", "f64", "s32", "s8", "c64"))
    rank, groups = b.rng.choice((0, 1, 1, 2, 2, 2, 3)), b.rng.choice((1, 1, 1, 2, 3))
    batch, inputs = b.rng.choice((0, 1, 2, 3)), groups * b.rng.choice((1, 1, 2, 4))
    outputs = groups * b.rng.choice((1, 2, 3))
    by_batch = groups > 1 and b.rng.random() < 0.3
    spatial = [b.rng.choice((0, 1, 2, 4, 5, 7)) for _ in range(rank)]
    kernel = [b.rng.choice((1, 1, 2, 3)) for _ in range(rank)]
    parts = list[tuple[int, int, int, int, int, int]]()
    result = []
    for size, extent in zip(spatial, kernel, strict=True):
        low, high = b.rng.choice((0, 0, 1, 2, -1, -2)), b.rng.choice((0, 0, 1, 3, -1))
        stride, lhs, rhs = (b.rng.choice((1, 1, 1, 2, 3)) for _ in range(3))
        dilated = (size - 1) * lhs + 1 if size else 0
        if dilated + low + high < 0:
            low = high = 0
        padded, wide = dilated + low + high, (extent - 1) * rhs + 1
        result.append((padded - wide) // stride + 1 if padded >= wide else 0)
        parts.append((low, high, stride, lhs, rhs, b.rng.choice((0, 0, 0, 1))))
    digits = "".join(map(str, range(rank)))
    if by_batch:
        batch *= groups
        x_dims, k_dims = [batch, *spatial, inputs], [*kernel, inputs, outputs]
        group = f", batch_group_count={groups}"
        dims = [batch // groups, *result, outputs]
    else:
        x_dims, k_dims = [batch, *spatial, inputs], [*kernel, inputs // groups, outputs]
        group = f", feature_group_count={groups}" if groups > 1 else ""
        dims = [batch, *result, outputs]
    labels = f"b{digits}f_{digits}io->b{digits}f"
    if math.prod(dims) * math.prod(kernel) * inputs > _MOST_WORK:
        return _reduce(b)
    x, k = b.value((element_type,), None, x_dims), b.value((element_type,), None, k_dims)
    window = ""
    if rank:
        low_high = "x".join(f"{part[0]}_{part[1]}" for part in parts)
        numbers = ["x".join(str(part[n]) for part in parts) for n in range(2, 6)]
        window = (
            f"window={{size={'x'.join(map(str, kernel))} stride={numbers[0]} pad={low_high} "
            f"lhs_dilate={numbers[1]} rhs_dilate={numbers[2]} rhs_reversal={numbers[3]}}}, "
        )
    return b.op("convolution", element_type, dims, [x, k], f"{window}dim_labels={labels}{group}")


def _sort(b: Builder) -> Value:
    x = b.value(INTEGERS + FLOATS, ranks=range(1, 5))
    at = b.rng.randrange(len(x.dims))
    order = ", type=TOTALORDER" if x.type in FLOATS else ""
    with_index = b.rng.random() < 0.5
    operands = [x, b.op("iota", "s32", x.dims, (), f"iota_dimension={at}")] if with_index else [x]

    def build() -> Value:
        v, w = b.parameter(x.type, ()), b.parameter(x.type, ())
        if with_index:
            b.parameter("s32", ())
            b.parameter("s32", ())
        direction = b.rng.choice(("LT", "GT"))
        return b.op("compare", "pred", (), [v, w], f"direction={direction}{order}")

    attributes = f"dimensions={{{at}}}, is_stable=true, to_apply={b.computation(build)}"
    if not with_index:
        return b.op("sort", x.type, x.dims, operands, attributes)
    return b.rng.choice(b.ops("sort", [(x.type, x.dims), ("s32", x.dims)], operands, attributes))


def _topk(b: Builder) -> Value:
    x = b.value(("f32", "bf16", "f16", "f64", "s32"), ranks=range(1, 4))
    most = x.dims[-1]
    if not most:
        return _sort(b)
    dims = (*x.dims[:-1], b.rng.randint(1, most))
    largest = b.rng.choice(("true", "true", "false"))
    attributes = f"k={dims[-1]}, largest={largest}"
    return b.rng.choice(b.ops("topk", [(x.type, dims), ("s32", dims)], [x], attributes))


def _normalisation(opcode: str, b: Builder) -> Value:
    x = b.value(("f32", "f64", "f16", "bf16"), ranks=range(1, 6))
    at = b.rng.randrange(len(x.dims))
    size = (x.dims[at],)
    scale, offset = b.value((x.type,), None, size), b.value((x.type,), None, size)
    attributes = f"epsilon=0.001, feature_index={at}"
    statistics = [(x.type, size), (x.type, size)]
    if opcode == "batch-norm-training":
        return b.ops(opcode, [(x.type, x.dims), *statistics], [x, scale, offset], attributes)[0]
    mean = b.value((x.type,), None, size)
    variance = b.op("multiply", x.type, size, [mean, mean])
    if opcode == "batch-norm-inference":
        operands = [x, scale, offset, mean, variance]
        return b.op(opcode, x.type, x.dims, operands, attributes)
    operands = [x, scale, mean, variance, b.alike(x)]
    return b.rng.choice(b.ops(opcode, [(x.type, x.dims), *statistics], operands, attributes))


def _fft(b: Builder) -> Value:
    kind = b.rng.choice(("FFT", "IFFT", "RFFT", "IRFFT"))
    x = b.value((b.rng.choice(("f32", "f64") if kind == "RFFT" else COMPLEX),), ranks=range(1, 5))
    lengths = list(x.dims[-b.rng.randint(1, min(3, len(x.dims))) :])
    last = lengths[-1]
    if not all(lengths) or (kind == "IRFFT" and last < 2):
        return _reduce(b)
    element_type, dims = x.type, list(x.dims)
    if kind == "RFFT":
        element_type, dims[-1] = {"f32": "c64", "f64": "c128"}[x.type], last // 2 + 1
    elif kind == "IRFFT":
        element_type, dims[-1] = {"c64": "f32", "c128": "f64"}[x.type], 2 * (last - 1)
        lengths[-1] = dims[-1]
    return b.op("fft", element_type, dims, [x], f"fft_type={kind}, fft_length={braces(lengths)}")


def _matrix(b: Builder, kind: str, types: tuple[str, ...] = ("f32", "f64", "c64")) -> Value:
    """Returns a new matrix, or matrices, with which a system of equations can be solved.

    It is a matrix with a large diagonal, of the kind `spd` symmetric.
    """
    batch, size = b.dims(b.rng.randint(0, 2)), b.rng.choice((0, 1, 2, 3, 5, 8))
    while math.prod(batch) * size * size > b.most:
        batch = batch[1:]
    element_type = b.rng.choice(types)
    dims = (*batch, size, size)
    x = b.parameter(element_type, dims)
    bounded = x
    if element_type not in COMPLEX:
        small, large = b.constant(element_type, "-1"), b.constant(element_type, "1")
        # NaN becomes a bound or stays; so it is chosen away.
        finite = b.op("is-finite", "pred", dims, [x])
        one = b.op("broadcast", element_type, dims, [large], "dimensions={}")
        bounded = b.op("select", element_type, dims, [finite, x, one])
        for opcode, bound in (("maximum", small), ("minimum", large)):
            bounds = b.op("broadcast", element_type, dims, [bound], "dimensions={}")
            bounded = b.op(opcode, element_type, dims, [bounded, bounds])
    rows = b.op("iota", "s32", dims, (), f"iota_dimension={len(dims) - 2}")
    columns = b.op("iota", "s32", dims, (), f"iota_dimension={len(dims) - 1}")
    diagonal = b.op("compare", "pred", dims, [rows, columns], "direction=EQ")
    number = "(20, 0)" if element_type in COMPLEX else "20"
    large = b.op(
        "broadcast", element_type, dims, [b.constant(element_type, number)], "dimensions={}"
    )
    if kind == "spd":
        order = [*range(len(batch)), len(dims) - 1, len(dims) - 2]
        turned = b.op("transpose", element_type, dims, [bounded], f"dimensions={braces(order)}")
        bounded = b.op("add", element_type, dims, [bounded, turned])
    return b.op("select", element_type, dims, [diagonal, large, bounded])


def _cholesky(b: Builder) -> Value:
    x = _matrix(b, "spd", ("f32", "f64"))
    lower = b.rng.choice(("true", "false"))
    factor = b.op("cholesky", x.type, x.dims, [x], f"lower={lower}")
    # The other triangle is not defined.
    rows = b.op("iota", "s32", x.dims, (), f"iota_dimension={len(x.dims) - 2}")
    columns = b.op("iota", "s32", x.dims, (), f"iota_dimension={len(x.dims) - 1}")
    direction = "GE" if lower == "true" else "LE"
    inside = b.op("compare", "pred", x.dims, [rows, columns], f"direction={direction}")
    zeros = b.op("broadcast", x.type, x.dims, [b.constant(x.type, "0")], "dimensions={}")
    return b.op("select", x.type, x.dims, [inside, factor, zeros])


def _triangular_solve(b: Builder) -> Value:
    a = _matrix(b, "triangular")
    columns, left = b.rng.choice((0, 1, 2, 4)), b.rng.random() < 0.5
    size = a.dims[-1]
    dims = (*a.dims[:-2], size, columns) if left else (*a.dims[:-2], columns, size)
    transpose = b.rng.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
    attributes = (
        f"left_side={str(left).lower()}, lower={b.rng.choice(('true', 'false'))}, "
        f"unit_diagonal={b.rng.choice(('true', 'false'))}, transpose_a={transpose}"
    )
    right = b.value((a.type,), None, dims)
    return b.op("triangular-solve", a.type, dims, [a, right], attributes)


def _random_bits(b: Builder) -> Value:
    algorithm = b.rng.choice(("rng_three_fry", "rng_philox"))
    state = b.value(("u64",), None, (2,))
    bits = (b.type(("u8", "u16", "u32", "u64")), b.dims(b.rng.randint(1, 3)))
    results = [("u64", (2,)), bits]
    return b.rng.choice(b.ops("rng-bit-generator", results, [state], f"algorithm={algorithm}"))


DRAWS: Mapping[str, Callable[[Builder], Value]] = {
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "select-and-scatter": _select_and_scatter,
    "dot": _dot,
    "convolution": _convolution,
    "sort": _sort,
    "topk": _topk,
    **{
        opcode: partial(_normalisation, opcode)
        for opcode in ("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
    },
    "fft": _fft,
    "cholesky": _cholesky,
    "triangular-solve": _triangular_solve,
    "rng-bit-generator": _random_bits,
}
"""Functions that add an instruction of an opcode."""
