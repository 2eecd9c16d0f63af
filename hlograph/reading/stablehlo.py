"""Conversion of StableHLO and of jax lowerings to HLO."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from hlograph.errors import HloParseError
from hlograph.reading.constant_divisions import guarded
from hlograph.reading.device_counts import (
    DeviceCounts,
    counts_of_lowered,
    text_with_counts,
)
from hlograph.reading.parsers import DEVICE_COUNTS, HloForm, parse_isolated

# jaxlib reports "-:3:25: error: ...", followed by lines about versions of the dialect.
_MLIR_POSITION = re.compile(r".*?-:([1-9]\d*):(\d+): ")


def from_stablehlo(data: bytes, name: str) -> tuple[HloForm, bytes]:
    """Converts StableHLO, as text or bytecode, to HLO.

    The conversion runs in another process, because jaxlib does not terminate on some inputs.
    The numbers of replicas and partitions are kept.

    Args:
        data: The StableHLO module.
        name: Name of the source for error messages.

    Returns:
        The form of the result, and HLO text or a serialized ``HloModuleProto``.

    Raises:
        HloParseError: jaxlib does not convert the data.
        ImportError: jaxlib is not installed.
    """
    if importlib.util.find_spec("jaxlib") is None:
        raise ImportError(
            f"{name} is StableHLO, which jaxlib converts to HLO, and jaxlib is not installed: "
            "pip install jax"
        )
    try:
        answer = parse_isolated("mlir", data)
    except HloParseError as error:
        message = _MLIR_POSITION.sub(r"was parsing \1:\2: ", str(error))
        raise HloParseError(f"{name} is not StableHLO that jaxlib converts: {message}") from error
    counts = DeviceCounts(*DEVICE_COUNTS.unpack_from(answer))
    return _with_counts(answer[DEVICE_COUNTS.size :], counts)


def from_lowered(lowered: Any) -> tuple[HloForm, bytes]:
    """Converts a ``jax.stages.Lowered`` to HLO, before XLA's optimizations.

    Returns:
        The form of the result, and HLO text or a serialized ``HloModuleProto``.

    Raises:
        HloParseError: jax does not lower it to HLO.
    """
    try:
        module = lowered.compiler_ir("stablehlo")
        safe = guarded(module)
        if safe is module:
            serialized = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
        else:
            serialized = from_mlir(safe)
        counts = counts_of_lowered(lowered)
    except Exception as error:  # jax raises whatever the platform's lowering raises
        raise HloParseError(f"jax does not lower this to HLO: {error}") from error
    return _with_counts(serialized, counts)


def from_mlir(module: Any) -> bytes:
    """Converts an ``ir.Module`` that jax has made to HLO, as ``jax.stages.Lowered`` does.

    Returns:
        A serialized ``HloModuleProto``.

    Raises:
        HloParseError: jaxlib does not convert it.
    """
    from jax._src.interpreters.mlir import module_to_bytecode
    from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]

    try:
        computation = _jax.mlir.mlir_module_to_xla_computation(
            module_to_bytecode(guarded(module)), use_tuple_args=False, return_tuple=False
        )
        return computation.as_serialized_hlo_module_proto()
    except Exception as error:  # of classes that jaxlib does not export
        raise HloParseError(f"jaxlib does not convert this StableHLO to HLO: {error}") from error


def _with_counts(serialized: bytes, counts: DeviceCounts) -> tuple[HloForm, bytes]:
    if counts == DeviceCounts():
        return "proto", serialized
    return "text", text_with_counts(serialized, counts)
