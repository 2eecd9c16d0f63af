"""Functions and their arguments, as ``hlograph.optimize`` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array

# Larger arguments are not sent to the workers, which measure on random ones then.
_MOST_BYTES = 4 << 30


def jitted(function: Any) -> Any:
    """Returns a function that ``jax.jit`` returned as it is, and another one jitted.

    Raises:
        HloError: It is no function.
    """
    import jax

    if hasattr(function, "lower") and callable(function):
        return function
    if not callable(function):
        raise HloError(
            "expected a function, a function of jax.jit, or a jax.stages.Lowered, got "
            f"{type(function).__qualname__}"
        )
    return jax.jit(function)


def check_arguments(lowered: Any, args: Any, kwargs: Any) -> None:
    """Checks that a lowered function takes all of its arguments when it is called.

    Raises:
        HloError: Some are static, and a compiled function of jax is called without them; or they
            are being traced, and have no values.
    """
    import jax
    from jax.core import Tracer

    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
        raise HloError(
            "expected arrays or jax.ShapeDtypeStruct, got arguments that jax is tracing: call "
            "hlograph.optimize outside of jit, grad, vmap and other transformations"
        )
    taken = jax.tree.structure((args, kwargs))
    if lowered.in_tree != taken:
        raise HloError(
            "expected arguments of a function without static arguments (static_argnums, "
            "static_argnames), or those that it was lowered with. Bind static ones first, as in "
            "hlograph.optimize(jax.jit(functools.partial(f, mode='train')), x)"
        )


def inputs_of(lowered: Any, args: Any, kwargs: Any) -> list[Array] | None:
    """Returns the arguments as one numpy array for each parameter of the lowered module.

    Raises:
        HloError: The function was lowered with other arguments.

    Returns:
        The arrays; None if an argument is only a ``jax.ShapeDtypeStruct``, or if they take more
        than 4 GiB together.
    """
    import jax

    leaves = [*lowered._lowering.const_args, *jax.tree.leaves((args, kwargs))]
    kept = lowered._lowering.compile_args["kept_var_idx"]
    avals = lowered._lowering.compile_args["global_in_avals"]
    chosen = [leaf for number, leaf in enumerate(leaves) if number in kept]
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in chosen):
        return None
    arrays = [_array(leaf, aval) for leaf, aval in zip(chosen, avals, strict=True)]
    return arrays if sum(array.nbytes for array in arrays) <= _MOST_BYTES else None


def _array(leaf: Any, aval: Any) -> Array:
    import jax
    from jax import dtypes

    if np.shape(leaf) != aval.shape:
        raise HloError(
            f"expected an argument of shape {aval.shape}, which the function was lowered for, got "
            f"one of {np.shape(leaf)}"
        )
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, np.bool_)  # what jax lowers it to
    if dtypes.issubdtype(aval.dtype, dtypes.extended):  # pyright: ignore[reportPrivateImportUsage]
        return np.asarray(jax.random.key_data(leaf))
    # Python scalars become arrays of the type that they were lowered with.
    return np.asarray(leaf).astype(aval.dtype)
