"""A case: a function of a real program, and the rule that gives it another form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Case:
    """A function and the rules that are applied to it, one after the other, wherever they apply.

    Attributes:
        rules: Names of the rules.
        shape: The shapes, in words, such as ``2x28x28x96, 3x3, NHWC``.
        function: The function, as users write it.
        arguments: Its arguments: arrays, or shapes for which random arrays stand in.
        program: Name of a program of the speed set in which it occurs; empty if there is none.
        pays: False for a shape that is kept to show where the form does not pay.
    """

    rules: tuple[str, ...]
    shape: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(repr=False)
    program: str = ""
    pays: bool = True

    @property
    def name(self) -> str:
        """Rules and shape, by which a case is chosen and reported."""
        return f"{' + '.join(self.rules)}: {self.shape}"


def floats(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array of floats."""
    return jax.ShapeDtypeStruct(shape, dtype)
