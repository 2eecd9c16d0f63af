"""Parts of a topic of the catalogue: cases to measure, random programs, and refused programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import jax
import jax.numpy as jnp

from hlograph.programs import Program
from hlograph.transforms.sweeping import PREPARATION


@dataclass(frozen=True)
class Case:
    """A function and the rules that are applied to it, one after the other, wherever they apply.

    Attributes:
        shape: The shapes, in words, such as ``2x28x28x96, 3x3, NHWC``.
        function: The function, as users write it.
        arguments: Its arguments: arrays, or shapes for which random arrays stand in.
        program: Name of a program of the speed set in which it occurs; empty if there is none.
        pays: False for a shape that is kept to show where the rules do not pay.
        rules: Names of the rules, which the catalogue sets.
    """

    shape: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(repr=False)
    program: str = ""
    pays: bool = True
    rules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Rules and shape, by which a case is chosen and reported."""
        return f"{' + '.join(self.rules)}: {self.shape}"


Cases = Mapping[str, Sequence[Case]]
"""Cases by the names of their rules, joined by `` + ``."""

Programs = Mapping[str, Callable[[Random], str]]
"""Functions that draw the HLO text of a small program where a rule applies, by the rule."""

Refused = Mapping[str, Mapping[str, Callable[[], str]]]
"""Functions that return the HLO text of a program that lacks one detail of a rule's pattern.

By the rule, and by the detail.
"""


def array(*sizes: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array."""
    return jax.ShapeDtypeStruct(sizes, dtype)


def f32(*sizes: int) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array of single precision."""
    return array(*sizes)


def s32(*sizes: int) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array of integers of 32 bits."""
    return array(*sizes, dtype=jnp.int32)


def lowered(function: Callable[..., Any], *arguments: Any) -> str:
    """Returns the HLO text of a function of JAX, prepared as for a sweep.

    If an argument has 64 bits, JAX has them everywhere.
    """
    is_wide = any(leaf.dtype.itemsize == 8 for leaf in jax.tree.leaves(arguments))
    with jax.enable_x64(is_wide):
        module = Program.of(jax.jit(function).lower(*arguments)).module()
    for step in PREPARATION:
        module.run(step)
    return module.to_text()


def program(function: Callable[..., Any], *arguments: Any) -> Callable[[], str]:
    """Returns a function that lowers a function of JAX when it is called."""
    return partial(lowered, function, *arguments)
