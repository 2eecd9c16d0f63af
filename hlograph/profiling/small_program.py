"""A small program to be measured, and arrays for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class SmallProgram:
    """A program to be measured.

    Attributes:
        kind: The kind of its main kernel.
        name: Its name, with its sizes.
        function: A function that jax can trace.
        arguments: Its arguments.
    """

    kind: str
    name: str
    function: Function
    arguments: tuple[np.ndarray[Any, Any], ...] = field(repr=False)


Programs = Iterator[tuple[str, Function, tuple[np.ndarray[Any, Any], ...]]]
"""Names, functions and arguments."""


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """Returns random numbers between 0.5 and 1, for which all functions are defined."""
    return np.random.default_rng(0).uniform(0.5, 1.0, shape).astype(np.float32)


def integers(limit: int, *shape: int) -> np.ndarray[Any, Any]:
    """Returns random integers from 1 to below a limit."""
    return np.random.default_rng(0).integers(1, limit, shape).astype(np.int32)


def named(name: str, function: Function, *arguments: np.ndarray[Any, Any]) -> Any:
    """Returns the name with the shapes, the function and the arguments of a program."""
    shapes = ", ".join("x".join(map(str, one.shape)) for one in arguments)
    return f"{name}: {shapes}", function, arguments
