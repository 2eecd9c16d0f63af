"""Lowers functions of JAX to HLO text, for arrays whose shapes are given in short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

import jax
import numpy as np

from hlograph.plans import Program
from hlograph.transforms.sweeping import PREPARATION

Programs = Mapping[str, Callable[[Random], str]]
"""Functions that draw the HLO text of a small program where a rule applies, by the rule."""

Refused = Mapping[str, Mapping[str, Callable[[], str]]]
"""Functions that return the HLO text of a program that lacks one detail of a rule's pattern.

By the rule, and by the detail.
"""

_TYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "s32": "int32",
    "s8": "int8",
    "u8": "uint8",
    "s64": "int64",
    "c64": "complex64",
    "u32": "uint32",
    "bool": "bool",
}


def array(*sizes: int, dtype: Any = "float32") -> jax.ShapeDtypeStruct:
    """Returns the shape of an array."""
    return jax.ShapeDtypeStruct(sizes, dtype)


def shapes(text: str) -> tuple[jax.ShapeDtypeStruct, ...]:
    """Returns the shapes of arrays, such as ``4x8 s32:16 f32:``: two arrays and a number.

    Without a type, they are of single precision.
    """
    return tuple(map(_shape, text.split()))


def _shape(text: str) -> jax.ShapeDtypeStruct:
    kind, colon, sizes = text.rpartition(":")
    dtype = _TYPES[kind] if colon else "float32"
    return array(*(int(size) for size in sizes.split("x") if size), dtype=dtype)


def lowered(function: Callable[..., Any], *arguments: Any) -> str:
    """Returns the HLO text of a function of JAX, prepared as for a sweep.

    If an argument has 64 bits, JAX has them everywhere.
    """
    wide = {np.dtype(name) for name in ("float64", "complex128", "int64", "uint64")}
    is_wide = any(leaf.dtype in wide for leaf in jax.tree.leaves(arguments))
    with jax.enable_x64(is_wide):
        module = Program.of(jax.jit(function).lower(*arguments)).module()
    for step in PREPARATION:
        module.run(step)
    return module.to_text()


def s32(*sizes: int) -> jax.ShapeDtypeStruct:
    """Returns the shape of an array of integers."""
    return array(*sizes, dtype="int32")


def program(function: Callable[..., Any], arguments: str) -> Callable[[], str]:
    """Returns a function that lowers a function of JAX, for such shapes, when it is called."""
    return partial(lowered, function, *shapes(arguments))
