"""Compiled functions that tell weak types apart, as ``jax.jit`` does.

The type of a Python number is weak: it gives way to that of an array. A ``jax.stages.Compiled``
takes a weak type for another one, and returns other types than ``jax.jit`` would.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_NUMBERS = (int, float, complex)


def checking_weak_types(compiled: Any, lowered: Any) -> Any:
    """Makes a compiled function raise a TypeError for arguments of other weak types.

    jax looks at the arguments' types in C++, weak types included, and comes back to Python for
    types that it has not seen. The check is made there, so that later calls cost nothing.

    Args:
        compiled: A ``jax.stages.Compiled`` that was not called yet; it is changed.
        lowered: The ``jax.stages.Lowered`` that it was compiled from.
    """
    import jax

    # An attribute of jax 0.10, which tests/hlograph/plans hold.
    params = compiled._params
    expected = [bool(aval.weak_type) for aval in jax.tree.leaves(lowered.in_avals)]
    checked = _Checked(params.executable, [False] * len(params.const_args) + expected)
    compiled._params = params._replace(executable=checked)
    return compiled


class _Checked:
    """Stands in for the executable of a compiled function.

    Args:
        executable: The executable.
        weak: For each argument, True for a weak type.
    """

    def __init__(self, executable: Any, weak: Sequence[bool]) -> None:
        self._executable, self._weak = executable, weak

    def call(self, *arguments: Any) -> Any:
        """Calls the executable if the arguments have the expected weak types."""
        for number, (argument, weak) in enumerate(zip(arguments, self._weak, strict=True)):
            if is_weak(argument) != weak:
                raise TypeError(
                    f"expected a {'weak' if weak else 'strong'} type as argument {number}, got "
                    f"{type(argument).__name__}: a Python number, or an array made of numbers "
                    "alone, has a weak type"
                )
        return self._executable.call(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executable, name)


def is_weak(argument: Any) -> bool:
    """Returns True for an argument of a weak type."""
    return bool(getattr(argument, "weak_type", False)) or type(argument) in _NUMBERS
