"""Rules that put native kernels in the place of instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.speed_rules.convolution import Axis, HloConvolution, draw_axes, draw_convolution
from benchmarks.speed_rules.lowering import Programs, Refused, array, lowered, program
from benchmarks.speed_rules.topics import convolutions, fourier, recurrences, reductions, sorting

WIDE = (*sorting.FLOATS, jnp.int32, jnp.uint32, jnp.int16, jnp.uint16)
"""Types that kernels select from."""
SORTED = (*WIDE, jnp.float64, jnp.int64, jnp.uint64)
"""Types that kernels sort."""
_TOP_K = (sorting.integer_top_k, sorting.large_top_k, sorting.grouped_top_k)


def int8_layer(activations: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns products of integers of 8 bits, with sums of 32."""
    return jnp.matmul(activations, weights, preferred_element_type=jnp.int32)


def int8_rows(activations: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns products with the rows of a matrix."""
    numbers = (((activations.ndim - 1,), (1,)), ((), ()))
    return lax.dot_general(activations, weights, numbers, preferred_element_type=jnp.int32)


def inner(left: jax.Array, right: jax.Array) -> jax.Array:
    """Returns inner products of rows of complex numbers."""
    return jnp.einsum("...k,...k->...", jnp.conj(left), right)


def summed(left: jax.Array, right: jax.Array) -> jax.Array:
    """Returns inner products as sums of products."""
    return jnp.sum(left * jnp.conj(right), axis=-1)


def spread(root: jax.Array) -> jax.Array:
    """Returns positive definite matrices, of any."""
    return root @ root.mT + 0.1 * jnp.eye(root.shape[-1], dtype=root.dtype)


def factors(root: jax.Array) -> jax.Array:
    """Returns Cholesky factors of positive definite matrices."""
    return jnp.linalg.cholesky(spread(root))


def solved(root: jax.Array, right: jax.Array) -> jax.Array:
    """Returns solutions of systems with positive definite matrices."""
    return jnp.linalg.solve(spread(root), right)


def solved_gradients(root: jax.Array, right: jax.Array) -> Any:
    """Returns the sum of solutions, and its gradients."""
    return jax.value_and_grad(lambda *given: solved(*given).sum(), argnums=(0, 1))(root, right)


def whitened(root: jax.Array, rows: jax.Array) -> jax.Array:
    """Returns vectors whose covariance is the identity, each by a matrix of its own."""
    return lax.linalg.triangular_solve(factors(root), rows, left_side=True, lower=True)


def sampled(weights: jax.Array, uniforms: jax.Array) -> jax.Array:
    """Returns samples of each row's piecewise constant density, by its inverse distribution."""
    weights = weights**2 + 1e-5
    heights = jnp.cumsum(weights / weights.sum(-1, keepdims=True), axis=-1)
    heights = jnp.concatenate([jnp.zeros_like(heights[:, :1]), heights], axis=-1)
    last = weights.shape[-1] - 1

    def of_row(heights: jax.Array, uniforms: jax.Array) -> jax.Array:
        below = jnp.clip(jnp.searchsorted(heights, uniforms, side="right") - 1, 0, last)
        within = (uniforms - heights[below]) / (heights[below + 1] - heights[below] + 1e-5)
        return (below + within) / weights.shape[-1]

    return jax.vmap(of_row)(heights, jax.nn.sigmoid(uniforms))


def counted(values: jax.Array, edges: jax.Array) -> jax.Array:
    """Returns a histogram over edges at any distances."""
    return jnp.histogram(values, jnp.sort(edges))[0]


def digits(values: jax.Array, edges: jax.Array) -> jax.Array:
    """Returns the numbers of the bins of values, between edges at any distances."""
    return jnp.digitize(values, jnp.sort(edges))


def inverted(table: jax.Array, draws: jax.Array) -> jax.Array:
    """Returns the ranks of draws in the empirical distribution of each row."""
    return jax.vmap(jnp.searchsorted)(jnp.sort(table, axis=-1), draws)


def uniforms(rng: jax.Array, *, shape: tuple[int, ...]) -> jax.Array:
    """Draws numbers from 0 to 1."""
    return jax.random.uniform(rng, shape)


def normals(rng: jax.Array, *, shape: tuple[int, ...]) -> jax.Array:
    """Draws normal numbers."""
    return jax.random.normal(rng, shape)


def normal_rows(keys: jax.Array, *, shape: tuple[int, ...]) -> jax.Array:
    """Draws normal numbers, by a key for each row."""
    return jax.vmap(partial(normals, shape=shape))(keys)


def row_sums(labels: jax.Array, rows: jax.Array, *, count: int) -> jax.Array:
    """Returns the sum of the rows of each label."""
    return jax.ops.segment_sum(rows, labels, num_segments=count)


def group_sums(rows: jax.Array, *, count: int) -> jax.Array:
    """Returns the sums of rows by group, as of the nodes of graphs, for groups of one size."""
    labels = jnp.repeat(jnp.arange(count), len(rows) // count)
    return row_sums(labels, rows, count=count)


def searches(rng: Random) -> str:
    """Draws searches among edges in order and in none, of one row or of many."""
    dtype, side = rng.choice(SORTED), rng.choice(("left", "right"))
    edges, values = rng.randint(1, 40), rng.choice(((3,), (50,), (6, 7), (11, 13)))
    orders = rng.choice((jnp.sort, lambda edges: edges))

    def function(edges: jax.Array, values: jax.Array) -> jax.Array:
        return jnp.searchsorted(orders(edges), values, side=side)

    if rng.random() < 0.5:
        return lowered(function, array(edges, dtype=dtype), array(*values, dtype=dtype))
    rows = rng.choice(((5,), (2, 3)))
    for _ in rows:
        function = jax.vmap(function)
    return lowered(function, array(*rows, edges, dtype=dtype), array(*rows, *values, dtype=dtype))


def random_bits(rng: Random) -> str:
    """Draws random bits of one key, or of a key for each row."""
    shape = rng.choice(((7,), (256,), (700,), (3, 5), (1, 9), (4, 1), (2, 3, 5)))
    dtype = rng.choice((jnp.uint8, jnp.uint16, jnp.uint32))
    rows = rng.choice(((), (), (3,), (300,), (2, 3)))
    shape = rng.choice((shape, ())) if rows else shape

    def function(key: jax.Array) -> jax.Array:
        return jax.random.bits(key, shape, dtype=dtype)

    for _ in rows:
        function = jax.vmap(function)
    return lowered(function, array(*rows, 2, dtype=jnp.uint32))


def scatter_adds(rng: Random, dtypes: tuple[Any, ...]) -> str:
    """Draws sums of many rows by label: of given ones, of ones, or beside initial sums."""
    count, rows, dtype = rng.randint(1, 30), rng.randint(1024, 1100), rng.choice(dtypes)
    width = rng.choice(((), (), (3,), (2, 2)))
    labels = array(rows, dtype=rng.choice((jnp.int32, jnp.uint32)))
    values, start = (array(size, *width, dtype=dtype) for size in (rows, count))
    functions = (
        (lambda i, x: row_sums(i, x, count=count), values),
        (lambda i, x: x.at[i].add(1), start),
        (lambda i, x, y: x.at[i].add(y, mode="drop"), start, values),
    )
    function, *arrays = rng.choice(functions)
    return lowered(function, labels, *arrays)


def _cumulative(rng: Random, dtypes: tuple[Any, ...]) -> str:
    return reductions.cumulative(rng, reductions.ALL, dtypes, lengths=(8, 20, 128, 257, 600))


def wide_convolutions(rng: Random) -> str:
    """Draws convolutions of many channels, or of each alone, and gradients by the kernel."""
    axes = [replace(axis, taps=max(axis.taps, 2)) for axis in draw_axes(rng, most=2)]
    axes = [axis if axis.positions > 0 else replace(axis, low=2, high=2) for axis in axes]
    channels, batch, kinds = rng.randint(32, 40), rng.randint(1, 3), ("f32", "f64")
    by_kernel, alone = rng.random() < 0.5, rng.random() < 0.4
    if by_kernel:
        axes = [replace(axis, size=9, taps=7, low=1, high=1, dilation=1) for axis in axes]
        batch, channels = channels, batch
    if not alone:
        features = rng.choice((32, 37, 70))
        return draw_convolution(
            rng, axes, kinds=kinds, batch=batch, channels=channels, features=features
        )
    sizes = {"batch": batch, "channels": channels, "features": max(batch, channels)}
    if not by_kernel:
        axes = [replace(axis, size=9) for axis in axes]
        return draw_convolution(rng, axes, kinds=kinds, feature_groups=channels, **sizes)
    spatial = "01"[: len(axes)]
    labels = (f"f{spatial}b", f"i{spatial}o", f"{spatial}bf")
    return HloConvolution(
        tuple(axes), batch_groups=batch, kind=rng.choice(kinds), labels=labels, **sizes
    ).text()


def int8_products(rng: Random) -> str:
    """Draws products of integers of 8 bits."""
    depth, columns = rng.randint(1, 70), rng.randint(1, 40)
    rows = [rng.randint(1, 9) for _ in range(rng.randint(1, 2))]
    left = array(*rows, depth, dtype=jnp.int8)
    if rng.random() < 0.5:
        return lowered(int8_rows, left, array(columns, depth, dtype=jnp.int8))
    return lowered(int8_layer, left, array(depth, columns, dtype=jnp.int8))


def complex_rows(rng: Random) -> str:
    """Draws inner products of rows of complex numbers."""
    shape = [rng.randint(1, 9) for _ in range(rng.randint(1, 3))] + [rng.randint(1, 70)]
    dtype = rng.choice((jnp.complex64, jnp.complex128))
    function = rng.choice((inner, summed, lambda a, b: inner(jnp.conj(a), b)))
    return lowered(function, array(*shape, dtype=dtype), array(*shape, dtype=dtype))


def _batch(rng: Random, columns: int = 0) -> jax.ShapeDtypeStruct:
    """Draws a batch of square matrices, or of as many columns."""
    rows = rng.randint(1, 8)
    batch = rng.choice(((rng.randint(16, 40),), (rng.randint(4, 6), rng.randint(4, 7))))
    return array(*batch, rows, columns or rows, dtype=rng.choice((jnp.float32, jnp.float64)))


def cholesky_factors(rng: Random) -> str:
    """Draws Cholesky factorizations."""
    return lowered(factors, _batch(rng))


def lu_factors(rng: Random) -> str:
    """Draws LU factorizations."""
    return lowered(lambda matrices: lax.linalg.lu(matrices)[:2], _batch(rng))


def triangular_solves(rng: Random) -> str:
    """Draws solutions of triangular systems."""
    matrices = _batch(rng)
    right = array(*matrices.shape[:-1], rng.randint(1, 11), dtype=matrices.dtype)
    options = {name: rng.random() < 0.5 for name in ("lower", "transpose_a", "unit_diagonal")}

    def function(root: jax.Array, right: jax.Array) -> jax.Array:
        matrices = root + 4 * jnp.eye(root.shape[-1], dtype=root.dtype)
        return lax.linalg.triangular_solve(matrices, right, left_side=True, **options)

    return lowered(function, matrices, right)


def _lu(matrices: jax.Array) -> Any:
    return lax.linalg.lu(matrices)[0]


def solved_by(
    matrices: jax.Array, right: jax.Array, *, left_side: bool = True, lower: bool = True
) -> jax.Array:
    """Returns solutions of triangular systems."""
    return lax.linalg.triangular_solve(matrices, right, left_side=left_side, lower=lower)


FLOATS = (jnp.float32, jnp.float64)
INTEGERS = (jnp.int32, jnp.uint32)
PROGRAMS: Programs = {}
KERNELS: Programs = {
    "kernel-sort": lambda rng: sorting.sorts(rng, minor=True, types=SORTED),
    "kernel-sort-pairs": lambda rng: sorting.pairs(rng, minor=True, types=SORTED),
    "kernel-top-k": lambda rng: rng.choice(_TOP_K)(rng, WIDE),
    "kernel-binary-search": searches,
    "kernel-threefry": random_bits,
    "kernel-scatter-add": lambda rng: scatter_adds(rng, FLOATS),
    "kernel-scatter-add:integers": lambda rng: scatter_adds(rng, INTEGERS),
    "kernel-cumulative": lambda rng: _cumulative(rng, FLOATS),
    "kernel-cumulative:integers": lambda rng: _cumulative(rng, INTEGERS),
    "kernel-convolution": wide_convolutions,
    "kernel-fourier": fourier.transforms,
    "kernel-recurrence": recurrences.networks,
    "kernel-int8-product": int8_products,
    "kernel-complex-rows": complex_rows,
    "kernel-small-cholesky": cholesky_factors,
    "kernel-small-lu": lu_factors,
    "kernel-small-solve": triangular_solves,
}
"""As ``PROGRAMS``, of rules of kernels, which jaxlib alone can run."""


def _small(function: Callable[..., Any], details: dict[str, str]) -> dict[str, Callable[[], str]]:
    return {detail: program(function, arguments) for detail, arguments in details.items()}


def _bits(key: jax.Array) -> jax.Array:
    return jax.random.bits(key, (5, 7))


def _instead(make: Callable[[], str], old: str, new: str) -> Callable[[], str]:
    """Returns a program with other text in one place."""

    def text() -> str:
        original = make()
        if original.count(old) != 1:
            raise ValueError(f"expected {old} once, got:\n{original}")
        return original.replace(old, new)

    return text


def searched_by_hand(
    edges: jax.Array,
    values: jax.Array,
    *,
    of_rows: tuple[int, ...] | None = None,
    number: Callable[[jax.Array], jax.Array] = lambda edge: edge,
) -> jax.Array:
    """Returns the places of values among the edges of their row, by a loop that halves ranges.

    Args:
        edges: Edges, of shape (rows, count).
        values: The values.
        of_rows: Shape of the values as rows; None takes that which they have.
        number: What of an edge is compared.
    """
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )

    def halved(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        middle = low + lax.div(high - low, jnp.full_like(low, 2))
        places = middle.reshape(of_rows or middle.shape)[..., None]
        edge = lax.gather(edges, places, numbers, (1, 1), mode="promise_in_bounds")
        left = values <= number(edge).reshape(values.shape)
        return jnp.where(left, low, middle), jnp.where(left, middle, high)

    count = edges.shape[1]
    ends = jnp.zeros(values.shape, jnp.int32), jnp.full(values.shape, count, jnp.int32)
    return lax.fori_loop(0, count.bit_length(), halved, ends)[1]


def _by_rows(make: Callable[[], str]) -> Callable[[], str]:
    """Returns a program whose calls take the matrices of a batch row by row, not by columns."""

    def text() -> str:
        by_columns = make()
        if "{1,2,0}" not in by_columns:
            raise ValueError("expected matrices that lie by columns, got none")
        return by_columns.replace("{1,2,0}", "{2,1,0}")

    return text


REFUSED: Refused = {
    "kernel-sort": {
        "numbers of eight bits to sort": program(jnp.sort, "u8:3x8"),
        "kernel of what goes along": program(jnp.argsort, "3x8"),
        "first dimension to sort along": program(partial(jnp.sort, axis=0), "8x3"),
        "two keys to sort by": program(lambda x: lax.sort((x, x * 2, x - 1), num_keys=2)[1], "3x8"),
    },
    "kernel-sort-pairs": {
        "one array to sort": program(jnp.sort, "3x8"),
        "equal elements in any order": program(
            lambda x: lax.sort((x, x * 2), num_keys=1, is_stable=False), "8"
        ),
        "zeros of both signs told apart by equality": sorting.by_total_order(jnp.argsort, "3x8"),
        "numbers of eight bits as keys": program(jnp.argsort, "u8:3x8"),
    },
    "kernel-top-k": {
        "sort of all elements": program(jnp.argsort, "3x8"),
        "numbers of eight bits to select": program(partial(lax.top_k, k=2), "u8:3x8"),
    },
    "kernel-binary-search": {
        "numbers of eight bits to search": program(jnp.searchsorted, "u8:9 u8:20"),
        "zeros of both signs to search": sorting.by_total_order(jnp.searchsorted, "9 20"),
        "comparison with all numbers": program(
            partial(jnp.searchsorted, method="compare_all"), "9 20"
        ),
        "many edges for few values": program(jnp.searchsorted, "100 2"),
        "edges cut to fewer bits": program(
            partial(searched_by_hand, number=lambda x: x.astype(jnp.int32).astype(x.dtype)),
            "s64:2x9 s64:2x20",
        ),
        "values in one row": program(partial(searched_by_hand, of_rows=(2, 10)), "2x9 20"),
        "values in other rows": program(partial(searched_by_hand, of_rows=(2, 10)), "2x9 10x2"),
        "a loop that halves numbers": program(
            lambda x, y: lax.fori_loop(0, 5, lambda i, z: jnp.where(z < y, z, (x + z) / 2), x),
            "9 9",
        ),
    },
    "kernel-threefry": {
        "one number of one key": program(lambda key: jax.random.bits(key, ()), "u32:2"),
        "both halves of bits": program(lambda key: jax.random.split(key, 5), "u32:2"),
        "both halves of bits of each key": program(
            jax.vmap(lambda key: jax.random.split(key, 5)), "u32:3x2"
        ),
        "counts of each key by columns": _instead(
            program(jax.vmap(_bits), "u32:3x2"), "u64[] constant(7)", "u64[] constant(8)"
        ),
        "another rotation": _instead(program(_bits, "u32:2"), "{13, 15, 26, 6}", "{13, 15, 26, 7}"),
        "sixteen rounds": _instead(
            program(_bits, "u32:2"), "s32[] constant(5)", "s32[] constant(4)"
        ),
        "counts by columns": _instead(
            program(_bits, "u32:2"), "u64[] constant(7)", "u64[] constant(8)"
        ),
    },
    "kernel-scatter-add": {
        "sums of integers": program(partial(row_sums, count=9), "s32:2000 s32:2000"),
        "sums of half precision": program(partial(row_sums, count=9), "s32:2000 bf16:2000"),
        "few numbers": program(partial(row_sums, count=9), "s32:1000 1000"),
        "many sums": program(partial(row_sums, count=100), "s32:2000 2000"),
        "greatest numbers": program(
            lambda labels, x: jnp.zeros(9).at[labels].max(x), "s32:2000 2000"
        ),
        "two labels of each number": program(
            lambda labels, x: jnp.zeros((3, 3)).at[labels, labels].add(x), "s32:2000 2000"
        ),
        "columns for rows": program(
            lambda labels, x: jnp.zeros((3, 9)).at[:, labels].add(x), "s32:2000 3x2000"
        ),
    },
    "kernel-scatter-add:integers": {
        "sums of floats": program(partial(row_sums, count=9), "s32:2000 2000"),
        "numbers of eight bits to add": program(partial(row_sums, count=9), "s32:2000 u8:2000"),
    },
    "kernel-cumulative": {
        "cumulative sums of integers": program(lax.cumsum, "s32:32"),
        "cumulative sums of half precision": program(lax.cumsum, "bf16:32"),
        "windows of a few elements": program(reductions.moving, "2x32"),
        "too few elements to cumulate": program(lax.cumsum, "7"),
    },
    "kernel-cumulative:integers": {
        "cumulative sums of floats": program(lax.cumsum, "32"),
        "cumulative sums of eight bits": program(lax.cumsum, "u8:32"),
    },
    "kernel-convolution": {
        "gaps between the elements": program(
            partial(convolutions.upsampled, stride=2), "1x8x8x16 3x3x16x32"
        ),
        "groups of channels": program(
            partial(convolutions.convolved, groups=2), "1x8x8x32 3x3x16x32"
        ),
        "two features of each channel": program(
            partial(convolutions.convolved, groups=32), "1x8x8x32 3x3x1x64"
        ),
        "one tap": program(convolutions.convolved, "1x8x8x16 1x1x16x32"),
        "three dimensions of space": HloConvolution((Axis(),) * 3, channels=16, features=32).text,
        "few products": program(convolutions.convolved, "1x3x3x1 3x3x1x1"),
        "half precision to convolve": program(
            convolutions.convolved, "bf16:1x8x8x16 bf16:3x3x16x32"
        ),
    },
    "kernel-int8-product": {
        "sums of eight bits": program(jnp.matmul, "s8:4x8 s8:8x16"),
        "bits without sign": program(int8_layer, "u8:4x8 u8:8x16"),
        "matrix for each row": program(int8_layer, "s8:3x4x8 s8:3x8x16"),
        "columns of the left matrix": program(
            lambda x, y: lax.dot_general(
                x, y, (((0,), (0,)), ((), ())), preferred_element_type=jnp.int32
            ),
            "s8:8x4 s8:8x16",
        ),
    },
    "kernel-complex-rows": {
        "real numbers": program(inner, "3x8 3x8"),
        "columns of complex numbers": program(
            lambda x, y: jnp.einsum("kc,kc->c", x, y), "c64:8x3 c64:8x3"
        ),
        "each row with each": program(jnp.matmul, "c64:3x8 c64:8x3"),
        "product that is used elsewhere": program(
            lambda x, y: (lambda z: (jnp.sum(z, -1), z))(x * y), "c64:3x8 c64:3x8"
        ),
    },
    "kernel-small-cholesky": _small(
        jnp.linalg.cholesky,
        {"factors of nine rows": "20x9x9", "few factors": "3x5x5", "one factor": "5x5"},
    )
    | {"factors by rows": _by_rows(program(jnp.linalg.cholesky, "20x5x5"))},
    "kernel-small-lu": _small(
        _lu, {"pivots of nine rows": "20x9x9", "few pivots": "3x5x5", "no square": "20x3x4"}
    )
    | {"matrices by rows": _by_rows(program(_lu, "20x5x5"))},
    "kernel-small-solve": _small(
        partial(solved_by, left_side=True), {"systems of nine rows": "20x9x9 20x9x1"}
    )
    | _small(partial(solved_by, left_side=False), {"matrices at the right": "20x5x5 20x1x5"})
    | {"systems by rows": _by_rows(program(partial(solved_by, left_side=True), "20x5x5 20x5x3"))},
}
