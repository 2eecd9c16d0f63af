"""Matrix products over eight devices, with their collectives written out.

The stencils take what makes their programs from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from partitioned import lower_partitioned, make_mesh, mesh_axes, request_devices, shift
from recipe import Recipe, array

LIBRARY = "jax"


class Program(NamedTuple):
    """An algorithm on a mesh of devices.

    Attributes:
        name: With the layout, the second part of the benchmark's name.
        layout: Mesh as `mesh_axes` takes it.
        body: The algorithm; its docstring goes into the recipe.
        arguments: Abstract arguments.
        specs: How the arguments are spread.
        out: How the results are spread.
        kind: `forward` or `grad`.
    """

    name: str
    layout: str
    body: Callable[..., Any]
    arguments: tuple[Any, ...]
    specs: tuple[Any, ...]
    out: Any
    kind: str


def lower_program(program: Program, mapped: bool) -> str:
    """Lowers one program, by hand under `jax.shard_map` or for XLA to partition."""
    mesh = make_mesh(**mesh_axes(program.layout))
    function, specs, out = program.body, program.specs, program.out
    if mapped:
        function = jax.shard_map(
            function, mesh=mesh, in_specs=specs, out_specs=out, check_vma=False
        )
    if program.kind == "forward":
        return lower_partitioned(function, program.arguments, mesh, specs, out)

    def objective(*arguments: Any) -> jax.Array:
        return jnp.sum(jnp.square(function(*arguments)))

    gradient = jax.grad(objective, argnums=tuple(range(len(specs))))
    return lower_partitioned(gradient, program.arguments, mesh, specs, specs)


def program_recipes(family: str, programs: Iterable[Program], mapped: bool) -> Iterator[Recipe]:
    """Yields one recipe for each program of a family.

    Args:
        family: Family of the benchmarks.
        programs: What is lowered.
        mapped: The bodies are written for one device, with collectives, and not for all.
    """
    how = "jax.shard_map" if mapped else "sharded by XLA"
    for program in programs:
        name, layout, kind = program.name, program.layout, program.kind
        yield Recipe(
            name=f"{family}/{name}-{layout}/{kind}",
            family=family,
            library=LIBRARY,
            recipe=f"{program.body.__doc__} {how}, mesh {layout}; {kind}",
            lower=partial(lower_program, program, mapped),
            scope="algorithm",
        )


def gathered_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies rows, gathered, by columns."""
    return jax.lax.all_gather(left, "tp", tiled=True) @ right


def ring_gathered_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies rows by columns, each block sent on while it is used (Wang et al., 2022)."""
    size, here = jax.lax.axis_size("tp"), jax.lax.axis_index("tp")
    rows = left.shape[0]

    def step(count: Any, carry: Any) -> Any:
        left, total = carry
        place = (here - count) % size * rows
        total = jax.lax.dynamic_update_slice(total, left @ right, (place, 0))
        return shift(left, "tp"), total

    total = jnp.zeros((size * rows, right.shape[1]), left.dtype)
    return jax.lax.fori_loop(0, size, step, (left, total))[1]


def two_way_gathered_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies rows by columns, half of each block sent around in each direction."""
    size, here = jax.lax.axis_size("tp"), jax.lax.axis_index("tp")
    rows = left.shape[0]
    up, down = jnp.split(left, 2)
    total = jnp.zeros((size * rows, right.shape[1]), left.dtype)
    for count in range(size):
        for half, sign, offset in ((up, -1, 0), (down, 1, rows // 2)):
            place = (here + sign * count) % size * rows + offset
            total = jax.lax.dynamic_update_slice(total, half @ right, (place, 0))
        up, down = shift(up, "tp"), shift(down, "tp", -1)
    return total


def scattered_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies columns by rows and scatters the sum."""
    return jax.lax.psum_scatter(left @ right, "tp", tiled=True)


def ring_scattered_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies columns by rows, partial sums sent around."""
    size, here = jax.lax.axis_size("tp"), jax.lax.axis_index("tp")
    rows = left.shape[0] // size
    total = jnp.zeros((rows, right.shape[1]), left.dtype)
    for count in range(size):
        place = (here + size - 1 - count) % size * rows
        total = shift(total, "tp") if count else total
        total += jax.lax.dynamic_slice_in_dim(left, place, rows) @ right
    return total


def summed_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies blocks over a grid, a row and a column gathered (SUMMA)."""
    left = jax.lax.all_gather(left, "y", axis=1, tiled=True)
    return left @ jax.lax.all_gather(right, "x", axis=0, tiled=True)


def cannon_product(left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiplies blocks over a square grid (Cannon's algorithm), layers summed (2.5D)."""
    size = jax.lax.axis_size("x")
    grid = [(row, column) for row in range(size) for column in range(size)]

    def skew(block: jax.Array, by_row: bool) -> jax.Array:
        moves = [
            (
                row * size + column,
                row * size + (column - row) % size
                if by_row
                else (row - column) % size * size + column,
            )
            for row, column in grid
        ]
        return jax.lax.ppermute(block, ("x", "y"), moves)

    left, right = skew(left, True), skew(right, False)
    total = jnp.zeros((left.shape[0], right.shape[1]), left.dtype)
    for _ in range(size):
        total += left @ right
        left, right = shift(left, "y", -1), shift(right, "x", -1)
    return jax.lax.psum(total, "z")


def megatron_block(inputs: jax.Array, inner: jax.Array, outer: jax.Array) -> jax.Array:
    """Returns a feed-forward block with one sum over devices."""
    return jax.lax.psum(jax.nn.gelu(inputs @ inner) @ outer, "tp")


def sequence_block(inputs: jax.Array, inner: jax.Array, outer: jax.Array) -> jax.Array:
    """Returns a feed-forward block whose inputs and outputs are split by rows."""
    normed = jax.nn.standardize(inputs)
    return inputs + ring_scattered_product(jax.nn.gelu(ring_gathered_product(normed, inner)), outer)


def zero_block(inputs: jax.Array, inner: jax.Array, outer: jax.Array) -> jax.Array:
    """Returns a feed-forward block whose weights are gathered when they are needed."""
    gather = partial(jax.lax.all_gather, axis_name="tp", tiled=True)
    return jax.nn.gelu(inputs @ gather(inner)) @ gather(outer)


def matrix_products() -> Iterator[Program]:
    """Yields products of matrices, and blocks of networks made of them."""
    square = (array(64, 64), array(64, 64))
    rows, columns, grid = P("tp", None), P(None, "tp"), P("x", "y")
    gathering: tuple[Any, ...] = ("tp8", square, (rows, columns), columns)
    scattering: tuple[Any, ...] = ("tp8", square, (columns, rows), rows)
    skewed = (P("x", ("z", "y")), P(("z", "x"), "y"))
    block = (array(16, 4, 32), array(32, 64), array(64, 32))
    flat = (array(64, 32), array(32, 64), array(64, 32))
    for name, body, (layout, arguments, specs, out), kinds in (
        ("gather", gathered_product, gathering, ("grad",)),
        ("ring-gather", ring_gathered_product, gathering, ("forward",)),
        ("two-way-gather", two_way_gathered_product, gathering, ("forward", "grad")),
        ("scatter", scattered_product, scattering, ("grad",)),
        ("ring-scatter", ring_scattered_product, scattering, ("forward", "grad")),
        ("summa", summed_product, ("x4-y2", square, (grid, grid), grid), ("grad",)),
        ("cannon", cannon_product, ("x2-y2-z2", square, skewed, grid), ("grad",)),
        (
            "megatron",
            megatron_block,
            ("dp4-tp2", block, (P("dp"), columns, rows), P("dp")),
            ("grad",),
        ),
        ("sequence", sequence_block, ("tp8", flat, (rows, columns, rows), rows), ("grad",)),
        ("zero", zero_block, ("tp8", flat, (rows, rows, rows), rows), ("grad",)),
    ):
        for kind in kinds:
            yield Program(name, layout, body, arguments, specs, out, kind)


def recipes() -> Iterator[Recipe]:
    """Yields the matrix products."""
    request_devices()
    yield from program_recipes("collective-matmul", matrix_products(), mapped=True)
