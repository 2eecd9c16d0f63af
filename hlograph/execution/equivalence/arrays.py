"""Numpy arrays for XLA's element types, and signatures of modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hlograph._native import native
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph import _xla
    from hlograph.graph.hlo_graph import HloGraph

Array = NDArray[Any]


class ComparedModule(Protocol):
    """Interface of ``hlograph.Module``, which calls this package, to a comparison."""

    @property
    def _native(self) -> _xla.Module: ...
    def clone(self) -> Self: ...  # noqa: D102
    def fingerprint(self) -> str: ...  # noqa: D102
    def graph(self) -> HloGraph: ...  # noqa: D102
    def verify(self) -> None: ...  # noqa: D102


_BY_NAME: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e3m4": np.dtype(ml_dtypes.float8_e3m4),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "f8e4m3b11fnuz": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    "f4e2m1fn": np.dtype(ml_dtypes.float4_e2m1fn),
    "s2": np.dtype(ml_dtypes.int2),
    "u2": np.dtype(ml_dtypes.uint2),
    "s4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
} | {
    f"{kind}{8 * size}": np.dtype(f"{numpy_kind}{size}")
    for kind, numpy_kind in (("s", "i"), ("u", "u"))
    for size in (1, 2, 4, 8)
}

FLOATS = frozenset(name for name in _BY_NAME if name.startswith(("f", "bf")))
"""Names of the real floating-point types."""

COMPLEX_PARTS = {"c64": "f32", "c128": "f64"}
"""Type of the real and imaginary parts of each complex type."""

INEXACT = FLOATS | COMPLEX_PARTS.keys()
"""Names of the floating-point types, real and complex."""


class ArraySpec(NamedTuple):
    """Description of an array that is a leaf of a module's parameters or result.

    Attributes:
        element_type: XLA's name of the type, such as ``f32``.
        dims: Sizes of the dimensions, from major to minor.
        path: Positions in nested tuples that lead to the array; for a parameter its number comes
            first.
    """

    element_type: str
    dims: tuple[int, ...]
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.element_type}[{','.join(map(str, self.dims))}]"


class Signature(NamedTuple):
    """The leaves of a module's parameters and of its result, in order."""

    parameters: tuple[ArraySpec, ...]
    results: tuple[ArraySpec, ...]


def signature_of(module: ComparedModule) -> Signature:
    """Returns the signature of a module.

    Raises:
        HloError: A parameter or result is not an array of fixed size (a token, a dynamic
            dimension), or has a type that numpy and ml_dtypes do not support.
    """
    parameters, results = (
        tuple(ArraySpec(name, tuple(dims), tuple(path)) for name, dims, path in specs)
        for specs in native().signature(module._native)
    )
    for spec in parameters + results:
        dtype_of(spec.element_type)
    return Signature(parameters, results)


def dtype_of(element_type: str) -> np.dtype[Any]:
    """Returns the numpy or ml_dtypes type of an element type.

    Raises:
        HloError: numpy and ml_dtypes do not support the type.
    """
    if element_type not in _BY_NAME:
        raise HloError(f"expected an element type that numpy or ml_dtypes has, got {element_type}")
    return _BY_NAME[element_type]


def is_integral(array: Array) -> bool:
    """Returns True for integers and predicates, which have no infinities and no NaNs."""
    return array.dtype.kind in "iub" or array.dtype.name.lstrip("u").startswith("int")


def to_bytes(arrays: Sequence[Array]) -> list[bytes]:
    """Returns the bytes of each array in row-major order, as the extension expects them."""
    return [array.tobytes() for array in arrays]


def from_bytes(specs: Sequence[ArraySpec], leaves: Sequence[bytes]) -> list[Array]:
    """Returns read-only arrays that are views of bytes from the extension."""
    return [
        np.frombuffer(leaf, dtype_of(spec.element_type)).reshape(spec.dims)
        for spec, leaf in zip(specs, leaves, strict=True)
    ]
