"""Builds a graph as one would without hlograph: jaxlib's parser, its proto, a walk in Python.

The message classes are made from the descriptors in the generated files of TensorFlow's wheel.
These files are read, not imported: importing any of them imports all of TensorFlow.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    message_factory,
    timestamp_pb2,
)

from hlograph.errors import HloError

_PROTO = "xla/service/hlo.proto"
_MESSAGE = "xla.HloModuleProto"
# Dependencies that protobuf itself brings.
_BROUGHT = {file.DESCRIPTOR.name: file for file in (any_pb2, duration_pb2, timestamp_pb2)}


class WalkedGraph(NamedTuple):
    """The least columns of a graph, with N instructions and E edges.

    Attributes:
        opcode: int64 [N].
        element_type: int64 [N].
        elements: int64 [N], of the whole shape; 0 for tuples.
        edges: int64 [E, 2], operand to user, root of the called computation to caller.
        position: int64 [E], which operand.
    """

    opcode: np.ndarray
    element_type: np.ndarray
    elements: np.ndarray
    edges: np.ndarray
    position: np.ndarray


def parse_to_proto(text: str) -> bytes:
    """Parses HLO text with jaxlib's XLA; returns the serialized ``HloModuleProto``."""
    return parse_with_jaxlib(text).as_serialized_hlo_module_proto()


def parse_with_jaxlib(text: str) -> Any:
    """Parses HLO text with jaxlib's XLA."""
    from jaxlib import _hlo  # pyright: ignore[reportAttributeAccessIssue]

    return _hlo.hlo_module_from_text(text)


def walk(serialized: bytes) -> WalkedGraph:
    """Parses a serialized ``HloModuleProto`` and collects its instructions and edges."""
    module = message_class().FromString(serialized)
    number: dict[int, int] = {}
    roots: dict[int, int] = {}
    opcodes: dict[str, int] = {}
    columns: list[tuple[int, int, int]] = []
    for computation in module.computations:
        roots[computation.id] = computation.root_id
        for instruction in computation.instructions:
            number[instruction.id] = len(number)
            shape = instruction.shape
            elements = 1
            for dimension in shape.dimensions:
                elements *= dimension
            columns.append(
                (
                    opcodes.setdefault(instruction.opcode, len(opcodes)),
                    shape.element_type,
                    0 if shape.tuple_shapes else elements,
                )
            )
    edges: list[tuple[int, int, int]] = []
    for computation in module.computations:
        for instruction in computation.instructions:
            target = number[instruction.id]
            for position, operand in enumerate(instruction.operand_ids):
                edges.append((number[operand], target, position))
            for position, called in enumerate(instruction.called_computation_ids):
                edges.append((number[roots[called]], target, position))
    nodes = np.array(columns, dtype=np.int64).reshape(-1, 3)
    links = np.array(edges, dtype=np.int64).reshape(-1, 3)
    return WalkedGraph(nodes[:, 0], nodes[:, 1], nodes[:, 2], links[:, :2], links[:, 2])


@cache
def message_class() -> Any:
    """Returns the class of ``xla.HloModuleProto``.

    Raises:
        HloError: TensorFlow's wheel has no such descriptor.
    """
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        raise HloError("expected the package tensorflow-cpu, it is not installed: make test")
    folder = Path(spec.submodule_search_locations[0]) / "compiler"
    pool = descriptor_pool.DescriptorPool()
    _add(pool, folder, _PROTO, set())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(_MESSAGE))


def _add(pool: descriptor_pool.DescriptorPool, folder: Path, name: str, known: set[str]) -> None:
    """Adds a file's descriptor and those it depends on."""
    if name in known:
        return
    known.add(name)
    described = _descriptor(folder, name)
    for dependency in described.dependency:
        _add(pool, folder, dependency, known)
    pool.Add(described)  # pyright: ignore[reportAttributeAccessIssue]


def _descriptor(folder: Path, name: str) -> descriptor_pb2.FileDescriptorProto:
    """Reads the descriptor of a .proto file from the Python file generated from it."""
    if name in _BROUGHT:
        return descriptor_pb2.FileDescriptorProto.FromString(
            _BROUGHT[name].DESCRIPTOR.serialized_pb
        )
    path = folder / f"{name.removesuffix('.proto')}_pb2.py"
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HloError(f"expected the descriptor of {name} in {path}: {error}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("AddSerializedFile"):
            (literal,) = node.args
            assert isinstance(literal, ast.Constant)
            assert isinstance(literal.value, bytes)
            return descriptor_pb2.FileDescriptorProto.FromString(literal.value)
    raise HloError(f"expected a call of AddSerializedFile in {path}, found none")
