"""Numbers of replicas and partitions, which HLO text holds and an ``HloModuleProto`` does not."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hlograph.reading.parsers import HloForm, parse_proto

if TYPE_CHECKING:
    from hlograph import _xla

NOT_IN_PROTO = re.compile(
    rb"\b(?:replica_count|num_partitions|allow_spmd_sharding_propagation_to_\w+)="
)
"""Attributes in the header of HLO text that an ``HloModuleProto`` has no fields for."""

_DIALECTS = ("stablehlo", "chlo", "mhlo", "sdy")
_IN_STABLEHLO = {
    name: re.compile(rb"\bmhlo\.%s = (\d+) : i\d+" % name.encode())
    for name in ("num_replicas", "num_partitions")
}


class DeviceCounts(NamedTuple):
    """Number of devices that a module is compiled for.

    Attributes:
        replicas: ``replica_count`` of the module.
        partitions: ``num_partitions`` of the module.
    """

    replicas: int = 1
    partitions: int = 1


def counts_of_stablehlo(text: bytes) -> DeviceCounts:
    """Returns the counts that jax writes into the attributes of a StableHLO module."""
    matches = (pattern.search(text) for pattern in _IN_STABLEHLO.values())
    return DeviceCounts(*(int(match.group(1)) if match else 1 for match in matches))


def counts_of_bytecode(data: bytes) -> DeviceCounts:
    """Returns the counts of StableHLO bytecode, also of the artifacts that ``jax.export`` writes.

    Raises:
        ImportError: jaxlib is not installed.
        Exception: jaxlib does not read the data, as classes of jaxlib.
    """
    ir = importlib.import_module("jaxlib.mlir.ir")
    registry = ir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    dialects = {name: importlib.import_module(f"jaxlib.mlir.dialects.{name}") for name in _DIALECTS}
    with ir.Context() as context:
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        dialects["mhlo"].register_mhlo_dialect(context)
        for name in ("stablehlo", "chlo", "sdy"):
            dialects[name].register_dialect(context)
        # This reads bytecode of StableHLO itself as well.
        module = dialects["stablehlo"].deserialize_portable_artifact(context, data)
        return _counts_of_attributes(module.operation.attributes)


def counts_of_lowered(lowered: Any) -> DeviceCounts:
    """Returns the counts of a ``jax.stages.Lowered``."""
    return _counts_of_attributes(lowered.compiler_ir("stablehlo").operation.attributes)


def _counts_of_attributes(attributes: Any) -> DeviceCounts:
    names = (f"mhlo.{name}" for name in _IN_STABLEHLO)
    return DeviceCounts(*(attributes[name].value if name in attributes else 1 for name in names))


def text_with_counts(serialized: bytes, counts: DeviceCounts) -> bytes:
    """Returns the HLO text of a serialized ``HloModuleProto``, with device counts in its header.

    Raises:
        HloParseError: The bytes are not an HLO module.
    """
    header, rest = parse_proto(serialized).to_text(True).split("\n", 1)
    header += f", replica_count={counts.replicas}, num_partitions={counts.partitions}"
    return f"{header}\n{rest}".encode()


def serialize(handle: _xla.Module) -> tuple[HloForm, bytes]:
    """Returns everything about a module as bytes.

    Returns:
        The form of the bytes, and a serialized ``HloModuleProto``; or HLO text with metadata if
        the proto would lose device counts or other attributes of the header.
    """
    text = handle.to_text(True).encode()
    if NOT_IN_PROTO.search(text.split(b"\n", 1)[0]):
        return "text", text
    return "proto", handle.to_proto()
