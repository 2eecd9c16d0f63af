"""Programs that are plain functions of arrays, and their recipes."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
from recipe import Recipe, Tree


class Program(NamedTuple):
    """One function to be lowered, with everything that varies between runs as its arguments.

    Attributes:
        name: Benchmark name, `family/model/variant`, with the sizes in the variant.
        words: What the function computes, in plain words.
        function: The function.
        arguments: Its abstract arguments.
    """

    name: str
    words: str
    function: Callable[..., Any]
    arguments: tuple[Tree, ...]


def program_recipes(library: str, programs: Iterable[Program]) -> Iterator[Recipe]:
    """Yields one recipe for each program of a library."""
    for program in programs:
        yield Recipe(
            name=program.name,
            family=program.name.split("/", maxsplit=1)[0],
            library=library,
            recipe=f"{program.words}; {shapes(program.arguments)}",
            lower=partial(_lower, program),
            scope="algorithm",
        )


def shapes(arguments: Tree) -> str:
    """Returns the shapes of all arrays of a tree in words, without repetitions."""
    texts = ("x".join(map(str, leaf.shape)) or "scalar" for leaf in jax.tree.leaves(arguments))
    return ", ".join(dict.fromkeys(texts))


def _lower(program: Program) -> jax.stages.Lowered:
    return jax.jit(program.function).lower(*program.arguments)
