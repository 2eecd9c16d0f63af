"""Random programs with the patterns of the rules for sorting, and programs that they refuse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused, lowered

FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16)
INTEGERS = (jnp.int32, jnp.uint32, jnp.int16, jnp.uint8)


def _array(shape: tuple[int, ...], dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _tied(values: jax.Array) -> jax.Array:
    """Returns values of which many are equal, -0 and NaN among those of floats."""
    if not jnp.issubdtype(values.dtype, jnp.floating):
        return values & 3
    coarse = jnp.round(values * 2).astype(values.dtype)
    return jnp.where(coarse > 2, jnp.nan, coarse)


@st.composite
def _shapes(draw: st.DrawFn, least: int = 2, most: int = 12) -> tuple[tuple[int, ...], int]:
    """Draws a shape, and the dimension that is sorted."""
    others = draw(st.lists(st.integers(1, 3), max_size=2))
    dimension = draw(st.integers(0, len(others)))
    others.insert(dimension, draw(st.integers(least, most)))
    return tuple(others), dimension


@st.composite
def prefixes(draw: st.DrawFn) -> str:
    shape, dimension = draw(_shapes(4))
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))
    size = draw(st.integers(1, shape[dimension] // 2))
    stride = draw(st.sampled_from([1, 1, 2]))
    at_end, flips = draw(st.booleans()), draw(st.booleans())
    kind = draw(st.sampled_from(["sort", "argsort", "pairs"]))

    def function(values: jax.Array) -> Any:
        values = _tied(values)

        def part(ordered: jax.Array) -> jax.Array:
            ordered = jnp.flip(ordered, dimension) if flips else ordered
            start = shape[dimension] - size if at_end else 0
            return jax.lax.slice_in_dim(ordered, start, start + size, stride, dimension)

        if kind == "sort":
            return part(jnp.sort(values, axis=dimension))
        if kind == "argsort":
            return part(jnp.argsort(values, axis=dimension))
        carried = jnp.cumsum(jnp.ones(shape), axis=dimension)
        pair = jax.lax.sort((values, carried), dimension=dimension, num_keys=1)
        return tuple(map(part, pair))

    return lowered(function, _array(shape, dtype))


@st.composite
def integer_top_k(draw: st.DrawFn) -> str:
    shape, _ = draw(_shapes())
    shape = (*shape, draw(st.integers(3, 9)))
    count = draw(st.integers(1, shape[-1] - 1))

    def function(values: jax.Array) -> Any:
        return jax.lax.top_k(values, count), jax.lax.top_k(_tied(values), count)

    return lowered(function, _array(shape, draw(st.sampled_from(INTEGERS))))


@st.composite
def large_top_k(draw: st.DrawFn) -> str:
    shape, _ = draw(_shapes())
    shape = (*shape, draw(st.integers(3, 24)))
    count = draw(st.integers(-(-shape[-1] // 8), shape[-1]))

    def function(values: jax.Array) -> Any:
        return jax.lax.top_k(values, count), jax.lax.top_k(_tied(values), count)

    return lowered(function, _array(shape, draw(st.sampled_from((jnp.float32, *INTEGERS)))))


@st.composite
def grouped_top_k(draw: st.DrawFn) -> str:
    rows = draw(st.lists(st.integers(1, 3), max_size=2))
    count = draw(st.integers(1, 9))
    shape = (*rows, draw(st.integers(32 * count, 48 * count)))

    def function(values: jax.Array) -> Any:
        return jax.lax.top_k(values, count), jax.lax.top_k(_tied(values), count)

    return lowered(function, _array(shape))


@st.composite
def small_sorts(draw: st.DrawFn) -> str:
    dimension, size = draw(st.integers(0, 2)), draw(st.integers(2, 32))
    shape = [draw(st.integers(3, 4)), draw(st.integers(3, 4))]
    shape.insert(dimension, size)
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))

    def function(values: jax.Array) -> Any:
        return jnp.sort(_tied(values), axis=dimension), jnp.sort(values, axis=dimension)

    return lowered(function, _array(tuple(shape), dtype))


@st.composite
def sorts(draw: st.DrawFn, *, minor: bool) -> str:
    shape, dimension = draw(_shapes())
    if not minor:
        shape, dimension = (*shape, draw(st.integers(1, 4))), min(dimension, len(shape) - 1)
    dtype = draw(st.sampled_from(FLOATS))

    def function(values: jax.Array) -> Any:
        return jnp.sort(_tied(values), axis=dimension), jnp.sort(values, axis=dimension)

    return lowered(function, _array(shape, dtype))


@st.composite
def pairs(draw: st.DrawFn, *, minor: bool) -> str:
    shape, dimension = draw(_shapes())
    dimension = len(shape) - 1 if minor else dimension
    if not minor:
        shape = (*shape, draw(st.integers(1, 4)))
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))

    def function(values: jax.Array, carried: jax.Array) -> Any:
        order = jnp.argsort(_tied(values), axis=dimension)
        pair = jax.lax.sort((_tied(values), carried), dimension=dimension, num_keys=1)
        return order, pair

    return lowered(function, _array(shape, dtype), _array(shape))


@st.composite
def ranks(draw: st.DrawFn) -> str:
    shape, dimension = draw(_shapes())
    by_top_k = draw(st.booleans())

    def function(values: jax.Array, carried: jax.Array) -> Any:
        if by_top_k:
            order = jax.lax.top_k(values, values.shape[-1])[1]
            return jax.lax.sort((order, carried), dimension=values.ndim - 1, num_keys=1)
        order = jnp.argsort(_tied(values), axis=dimension)
        return jnp.argsort(order, axis=dimension)

    return lowered(function, _array(shape), _array(shape))


@st.composite
def positions(draw: st.DrawFn) -> str:
    shape, dimension = draw(_shapes())
    dtype = draw(st.sampled_from((*FLOATS, jnp.int32, jnp.int16)))
    search = draw(st.sampled_from([jnp.argmax, jnp.argmin]))

    def function(values: jax.Array) -> Any:
        return search(values, axis=dimension), search(_tied(values), axis=dimension)

    return lowered(function, _array(shape, dtype))


@st.composite
def medians(draw: st.DrawFn) -> str:
    shape, dimension = draw(_shapes())
    part = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))

    def function(values: jax.Array) -> Any:
        return jnp.median(values, axis=dimension), jnp.quantile(values, part, axis=dimension)

    return lowered(function, _array(shape))


PROGRAMS: Programs = {
    "sort-prefix-as-top-k": prefixes,
    "top-k-by-float-keys": integer_top_k,
    "top-k-by-packed-keys": large_top_k,
    "top-k-of-groups": grouped_top_k,
    "sort-as-network": small_sorts,
    "gather-at-constant-as-slice": medians,
    "sort-along-minor": lambda: st.one_of(sorts(minor=False), pairs(minor=False)),
    "sort-by-integer-keys": lambda: sorts(minor=True),
    "sort-by-packed-keys": lambda: pairs(minor=True),
    "sort-by-permutation-as-scatter": ranks,
    "argmax-as-first-maximum": positions,
}


def _total_order(values: jax.Array) -> jax.Array:
    """Returns the values, sorted by two keys."""
    return jax.lax.sort((values, -values), num_keys=2)[0]


REFUSED: Refused = {
    "more than half of the elements": (
        "sort-prefix-as-top-k",
        lambda: lowered(lambda x: jnp.sort(x)[:, :5], _array((3, 8))),
    ),
    "elements from the middle": (
        "sort-prefix-as-top-k",
        lambda: lowered(lambda x: jnp.sort(x)[:, 3:6], _array((3, 9))),
    ),
    "slice along another dimension": (
        "sort-prefix-as-top-k",
        lambda: lowered(lambda x: jnp.sort(x, axis=1)[:2], _array((8, 8))),
    ),
    "equal elements in any order": (
        "sort-prefix-as-top-k",
        lambda: lowered(
            lambda x: jax.lax.sort((x, x * 2), num_keys=1, is_stable=False)[1][:2], _array((8,))
        ),
    ),
    "prefix of a sort by two keys": (
        "sort-prefix-as-top-k",
        lambda: lowered(lambda x: _total_order(x)[:, :2], _array((3, 8))),
    ),
    "floats": (
        "top-k-by-float-keys",
        lambda: lowered(lambda x: jax.lax.top_k(x, 3), _array((3, 8))),
    ),
    "all elements": (
        "top-k-by-float-keys",
        lambda: lowered(lambda x: jax.lax.top_k(x, 8), _array((3, 8), jnp.int32)),
    ),
    "less than an eighth of the elements": (
        "top-k-by-packed-keys",
        lambda: lowered(lambda x: jax.lax.top_k(x, 2), _array((3, 17))),
    ),
    "sort in place of top-k": (
        "top-k-by-packed-keys",
        lambda: lowered(lambda x: jnp.argsort(x, axis=-1)[:, :3], _array((3, 8))),
    ),
    "groups that leave more than half of the elements": (
        "top-k-of-groups",
        lambda: lowered(lambda x: jax.lax.top_k(x, 8), _array((3, 128))),
    ),
    "groups of integers": (
        "top-k-of-groups",
        lambda: lowered(lambda x: jax.lax.top_k(x, 2), _array((3, 256), jnp.int32)),
    ),
    "more than 128 elements": (
        "top-k-of-groups",
        lambda: lowered(lambda x: jax.lax.top_k(x, 129), _array((3, 8192))),
    ),
    "position that is an argument": (
        "gather-at-constant-as-slice",
        lambda: lowered(lambda x, i: x[i], _array((8, 3)), _array((), jnp.int32)),
    ),
    "several positions": (
        "gather-at-constant-as-slice",
        lambda: lowered(lambda x: x[jnp.array([1, 4])], _array((8, 3))),
    ),
    "more than 32 elements": (
        "sort-as-network",
        lambda: lowered(lambda x: jnp.sort(x, axis=0), _array((33, 16))),
    ),
    "few rows": (
        "sort-as-network",
        lambda: lowered(lambda x: jnp.sort(x, axis=0), _array((16, 7))),
    ),
    "positions that go along": (
        "sort-as-network",
        lambda: lowered(lambda x: jnp.argsort(x, axis=0), _array((16, 16))),
    ),
    "last dimension": (
        "sort-along-minor",
        lambda: lowered(lambda x: jnp.sort(x, axis=-1), _array((3, 8))),
    ),
    "first dimension, two keys": (
        "sort-along-minor",
        lambda: lowered(
            lambda x: jax.lax.sort((x, -x), dimension=0, num_keys=2)[0], _array((8, 3))
        ),
    ),
    "integers": (
        "sort-by-integer-keys",
        lambda: lowered(jnp.sort, _array((3, 8), jnp.int32)),
    ),
    "carried array": (
        "sort-by-integer-keys",
        lambda: lowered(jnp.argsort, _array((3, 8))),
    ),
    "two keys": (
        "sort-by-packed-keys",
        lambda: lowered(_total_order, _array((3, 8))),
    ),
    "not stable": (
        "sort-by-packed-keys",
        lambda: lowered(
            lambda x: jax.lax.sort((x, x * 2), num_keys=1, is_stable=False), _array((8,))
        ),
    ),
    "key that is no permutation": (
        "sort-by-permutation-as-scatter",
        lambda: lowered(lambda x: jnp.argsort(x), _array((3, 8), jnp.int32)),
    ),
    "top-k of some": (
        "sort-by-permutation-as-scatter",
        lambda: lowered(lambda x: jnp.argsort(jax.lax.top_k(x, 5)[1]), _array((3, 8))),
    ),
    "permutation along another dimension": (
        "sort-by-permutation-as-scatter",
        lambda: lowered(lambda x: jnp.argsort(jnp.argsort(x, axis=0), axis=1), _array((3, 8))),
    ),
    "last of equal elements": (
        "argmax-as-first-maximum",
        lambda: lowered(
            lambda x: (
                7
                - jax.lax.reduce(
                    (x, jax.lax.iota(jnp.int32, 8)),
                    (jnp.float32(-jnp.inf), jnp.int32(0)),
                    lambda one, two: (
                        jnp.maximum(one[0], two[0]),
                        jnp.where(one[0] > two[0], one[1], two[1]),
                    ),
                    (0,),
                )[1]
            ),
            _array((8,)),
        ),
    ),
    "greatest element itself": (
        "argmax-as-first-maximum",
        lambda: lowered(lambda x: jnp.max(x, axis=1), _array((3, 8))),
    ),
}
