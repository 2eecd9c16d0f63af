"""Small HLO modules of every opcode in degenerate forms: scalars, one element, no element, rank 8.

XLA's verifier accepts most of them, and XLA's passes are rarely run on any. Some modules are not
valid on purpose: XLA's parser accepts them, so users may load them.

Each form of an operation comes with two kinds of operands: parameters, which stand for values that
no pass knows, and constants, which passes fold and simplify.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import product

from tests.hlograph.degenerate import arrays, control, effects, indexing, products, reductions
from tests.hlograph.degenerate.writer import Dims, Writer

SHAPES: dict[str, Dims] = {
    "scalar": (),
    "one": (1,),
    "empty": (0,),
    "hole": (2, 0, 3),
    "ones": (1, 1, 1, 1, 1, 1, 1, 1),
    "rank8": (2, 1, 1, 2, 1, 1, 1, 2),
}
"""Dimensions by name."""

_FAMILIES: dict[str, tuple[Callable[[Writer, Dims], None], str]] = {
    "elementwise": (arrays.elementwise, ""),
    "clamps": (arrays.scalar_clamps, ""),
    "moves": (arrays.moves, ""),
    "dynamic slices": (arrays.dynamic_slices, ""),
    "index vectors": (arrays.index_vectors, ""),
    "dynamic sizes": (arrays.dynamic_sizes, ""),
    "reductions": (reductions.reductions, ""),
    "reduce-windows": (reductions.reduce_windows, ""),
    "long scans": (reductions.long_scans, ""),
    "select-and-scatters": (reductions.select_and_scatters, ""),
    "sorts": (reductions.sorts, reductions.PAIRS),
    "batch-norms": (reductions.batch_norms, ""),
    "dots": (products.dots, ""),
    "convolutions": (products.convolutions, ""),
    "linear algebra": (products.linear_algebra, ""),
    "ffts": (products.ffts, ""),
    "gathers": (indexing.gathers, ""),
    "other gathers": (indexing.gathers_of_nothing, ""),
    "scatters": (indexing.scatters, ""),
    "other scatters": (indexing.scatters_of_nothing, ""),
    "calls": (control.calls, ""),
    "empty tuples": (control.empty_tuples, control.NOTHING),
    "random numbers": (effects.random_numbers, ""),
    "collectives": (effects.collectives, ""),
    "bfloat16": (effects.half_collectives, effects.HALF_ADD),
    "effects": (effects.effects, ""),
}
"""Functions that write the modules of a family, and the computations that they call."""


def modules(names: Collection[str] = tuple(SHAPES)) -> Iterator[tuple[str, str]]:
    """Yields names and texts of modules.

    Args:
        names: Names in ``SHAPES``.
    """
    for name, constant in product(names, (False, True)):
        dims = SHAPES[name]
        kind = "constants" if constant else "parameters"
        for family, (write, computations) in _FAMILIES.items():
            writer = Writer(constant)
            write(writer, dims)
            called = control.callees(dims) if family == "calls" else computations
            for number, text in enumerate(writer.texts(called)):
                yield f"{family} of {name} {kind} {number}", text
