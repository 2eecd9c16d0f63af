"""Functions by name, with their example arguments, as command lines name them."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import dtype_of
from hlograph.optimization.of_function import check_arguments, jitted
from hlograph.reading.sources import is_lowered

if TYPE_CHECKING:
    import jax


@dataclass(frozen=True)
class NamedFunction:
    """A function of a user, by its name.

    Attributes:
        name: ``package.module:function``.
        arguments: ``package.module:name`` of a tuple of example arguments, or of a function that
            returns one; None takes the shapes.
        shapes: Shapes of the arguments, as XLA writes them.
    """

    name: str
    arguments: str | None = None
    shapes: tuple[str, ...] = ()

    def lowered(self) -> tuple[Any, tuple[Any, ...] | None]:
        """Returns the lowered function, and the arguments; None for what was lowered already.

        Raises:
            HloError: It cannot be imported, or jax does not lower it with these arguments.
        """
        function = imported(self.name)
        if is_lowered(function):
            return function, None
        arguments = self._example_arguments()
        try:
            lowered = jitted(function).lower(*arguments)
        except HloError:
            raise
        except Exception as error:  # whatever the user's function raises
            hint = "" if arguments else ". Are --arguments or --shapes missing?"
            raise HloError(
                f"jax does not lower {self.name}: {type(error).__name__}: {error}{hint}"
            ) from error
        check_arguments(lowered, arguments, {})
        return lowered, arguments

    def _example_arguments(self) -> tuple[Any, ...]:
        if self.arguments is None:
            return tuple(map(shape_of, self.shapes))
        if self.shapes:
            raise HloError("expected either --arguments or --shapes, got both")
        value = imported(self.arguments)
        try:
            value = value() if callable(value) else value
        except Exception as error:  # whatever the user's function raises
            raise HloError(f"{self.arguments} failed: {type(error).__name__}: {error}") from error
        if not isinstance(value, tuple):
            raise HloError(
                f"expected a tuple of arguments in {self.arguments}, or a function that returns "
                f"one, got {type(value).__qualname__}"
            )
        return value


def imported(name: str) -> Any:
    """Imports ``package.module:name``, also from the current folder.

    Raises:
        HloError: It cannot be imported.
    """
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except Exception as error:  # whatever the import of the user's module raises
        raise HloError(f"cannot import {name}: {type(error).__name__}: {error}") from error
    return value


_SHAPE = re.compile(r"([a-z]\w*)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\]")


def shape_of(text: str) -> jax.ShapeDtypeStruct:
    """Returns an array without values of the shape and type that a text says.

    Args:
        text: The type and the sizes as XLA writes them: ``f32[8,128]``, or ``s32[]`` for a scalar.

    Raises:
        HloError: It is no shape, or jax would use another type in its place.
    """
    import jax

    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise HloError(
            f"expected a shape as XLA writes it, such as 'f32[8,128]' or 's32[]', got {text!r}"
        )
    dtype = dtype_of(match[1])
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise HloError(f"jax uses {match[1]} only with JAX_ENABLE_X64=1, got the shape {text!r}")
    sizes = [int(size) for size in match[2].split(",") if size.strip()]
    return jax.ShapeDtypeStruct(tuple(sizes), dtype)
