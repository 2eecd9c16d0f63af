"""Shapes of arguments as XLA writes them, such as ``f32[8,128]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlograph.errors import HloError

if TYPE_CHECKING:
    import jax

_SHAPE = re.compile(r"([a-z]\w*)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\]")


def shape_of(text: str) -> jax.ShapeDtypeStruct:
    """Returns an array without values of the shape and type that a text says.

    Args:
        text: The type and the sizes as XLA writes them: ``f32[8,128]``, or ``s32[]`` for a scalar.

    Raises:
        HloError: It is no shape, or jax would use another type in its place.
    """
    import jax

    from hlograph.execution.equivalence.arrays import dtype_of

    found = _SHAPE.fullmatch(text.strip())
    if found is None:
        raise HloError(
            f"expected a shape as XLA writes it, such as 'f32[8,128]' or 's32[]', got {text!r}"
        )
    dtype = dtype_of(found[1])
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise HloError(f"jax uses {found[1]} only with JAX_ENABLE_X64=1, got the shape {text!r}")
    sizes = [int(size) for size in found[2].split(",") if size.strip()]
    return jax.ShapeDtypeStruct(tuple(sizes), dtype)
