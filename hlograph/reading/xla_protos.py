"""XLA's messages as protobuf classes: protos as text, snapshots with inputs, profiles.

The descriptions of the messages come from the files of the installed tensorflow-cpu, which is not
imported.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import EngineUnavailableError, HloParseError, HloWarning

# Modules of protobuf and of tensorflow-cpu with descriptions, each after those that it imports.
_COMMON = ("any", "duration", "timestamp", "wrappers")
_FILES = (
    "compiler/xla/xla_data_pb2.py",
    "compiler/xla/service/metrics_pb2.py",
    "compiler/xla/service/hlo_pb2.py",
    "tsl/profiler/protobuf/xplane_pb2.py",
)

# Kinds of protos, by the field that their text begins with; others are of a module.
_KINDS = {"hlo_module": "xla.HloProto", "hlo": "xla.HloSnapshot"}
_FIRST_FIELD = re.compile(r"\s*(?:#[^\n]*\n\s*)*(\w+)")

# Element type by number, with the field of a LiteralProto and its type in numpy.
_LITERALS: dict[int, tuple[str, Any]] = {
    1: ("preds", np.bool_),
    2: ("s8s", np.int8),
    3: ("s16s", np.int16),
    4: ("s32s", np.int32),
    5: ("s64s", np.int64),
    6: ("u8s", np.uint8),
    7: ("u16s", np.uint16),
    8: ("u32s", np.uint32),
    9: ("u64s", np.uint64),
    10: ("f16s", np.float16),
    11: ("f32s", np.float32),
    12: ("f64s", np.float64),
    15: ("c64s", np.complex64),
    16: ("bf16s", "bfloat16"),
    18: ("c128s", np.complex128),
}
_TUPLE = 13
_PARTS = {15: np.float32, 18: np.float64}


def from_text_format(text: str, name: str) -> bytes:
    """Returns the serialized form of a proto as text: of a module, an HloProto, or a snapshot.

    Raises:
        HloParseError: The text is none of them.
        EngineUnavailableError: tensorflow-cpu or protobuf is not installed.
    """
    start = _FIRST_FIELD.match(text)
    kind = _KINDS.get(start[1] if start else "", "xla.HloModuleProto")
    message = message_class(kind)()
    from google.protobuf import text_format

    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        message = message_class(kind)()
        try:
            text_format.Parse(text, message, allow_unknown_field=True)
        except text_format.ParseError:
            raise HloParseError(f"{name} is no {kind} as text: {error}") from error
        warnings.warn(
            f"{name} has fields of a newer XLA, which are left out: {error}",
            HloWarning,
            stacklevel=5,
        )
    return message.SerializeToString()


def inputs_of_snapshot(data: bytes) -> list[NDArray[Any]]:
    """Returns the arguments in a serialized ``HloSnapshot``, one array for each leaf.

    Raises:
        HloParseError: It is damaged, or an argument has a type that numpy lacks.
    """
    snapshot = _parsed("xla.HloSnapshot", data, "snapshot")
    return [leaf for argument in snapshot.arguments for leaf in leaves_of_literal(argument)]


def results_of_snapshot(data: bytes) -> list[NDArray[Any]]:
    """Returns the results in a serialized ``HloSnapshot``, one array for each leaf.

    Raises:
        HloParseError: It is damaged, or a result has a type that numpy lacks.
    """
    snapshot = _parsed("xla.HloSnapshot", data, "snapshot")
    return leaves_of_literal(snapshot.result) if snapshot.HasField("result") else []


def modules_of_profile(data: bytes) -> list[tuple[str, bytes]]:
    """Returns names and HloProtos of the modules in a profile (``*.xplane.pb``), each once.

    Raises:
        HloParseError: It is damaged.
    """
    space = _parsed("tensorflow.profiler.XSpace", data, "profile")
    modules: dict[bytes, str] = {}
    for plane in space.planes:
        numbers = {
            number
            for number, stat in plane.stat_metadata.items()
            if stat.name.lower().replace(" ", "_") == "hlo_proto"
        }
        for event in plane.event_metadata.values():
            for stat in event.stats:
                if stat.metadata_id in numbers and stat.bytes_value:
                    modules.setdefault(stat.bytes_value, event.name)
    return [(name, proto) for proto, name in modules.items()]


def leaves_of_literal(literal: Any) -> list[NDArray[Any]]:
    """Returns the arrays of an ``xla.LiteralProto``, one for each leaf.

    Raises:
        HloParseError: It is damaged, or has a type that numpy lacks.
    """
    kind = literal.shape.element_type
    if kind == _TUPLE:
        return [leaf for part in literal.tuple_literals for leaf in leaves_of_literal(part)]
    if kind not in _LITERALS:
        raise HloParseError(f"expected an array of a type that numpy has, got type {kind}")
    import ml_dtypes  # here, as most readers need no arrays  # noqa: F401

    field, dtype = _LITERALS[kind]
    try:
        array = _array_of(getattr(literal, field), _PARTS.get(kind), dtype)
    except ValueError as error:
        raise HloParseError(f"expected the values of an array of {dtype}: {error}") from error
    sizes = list(literal.shape.dimensions)
    order = list(literal.shape.layout.minor_to_major) or list(reversed(range(len(sizes))))
    fits = array.size == int(np.prod(sizes)) and min(sizes, default=0) >= 0
    if not fits or sorted(order) != list(range(len(sizes))):
        raise HloParseError(f"expected {np.prod(sizes):.0f} elements of an array: {array.size}")
    outer = order[::-1]
    array = array.reshape([sizes[number] for number in outer])
    return [array.transpose([outer.index(n) for n in range(len(sizes))]).copy()]


def _array_of(values: Any, parts: Any, dtype: Any) -> NDArray[Any]:
    """Returns the values of a literal as an array, which come as bytes, in parts, or one by one.

    Raises:
        ValueError: There is a part of a value too much.
    """
    if isinstance(values, bytes):
        return np.frombuffer(values, dtype)
    if parts is not None:
        return np.array(values, parts).view(dtype)
    return np.array(values, dtype)


def _parsed(kind: str, data: bytes, content: str) -> Any:
    """Returns a message of a class, such as ``xla.HloSnapshot``, that holds what errors call it."""
    message = message_class(kind)()
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise HloParseError(f"the {content} is damaged: {error}") from error
    return message


def message_class(name: str) -> Any:
    """Returns the class of a message, such as ``xla.HloProto``.

    Raises:
        EngineUnavailableError: tensorflow-cpu or protobuf is not installed.
    """
    pool = _pool()
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@cache
def _pool() -> Any:
    try:
        from google.protobuf import descriptor_pool
    except ImportError as error:
        raise _missing() from error
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.origin is None:
        raise _missing()
    pool = descriptor_pool.DescriptorPool()
    for common in _COMMON:
        module = importlib.import_module(f"google.protobuf.{common}_pb2")
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    for file in _FILES:
        pool.AddSerializedFile(_serialized(Path(spec.origin).parent / file))
    return pool


def _serialized(path: Path) -> bytes:
    """Returns the description in a module that protobuf has generated, without importing it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("AddSerializedFile"):
            value = ast.literal_eval(node.args[0])
            assert isinstance(value, bytes)
            return value
    raise _missing()


def _missing() -> EngineUnavailableError:
    return EngineUnavailableError(
        "protos as text, snapshots and profiles are read by the descriptions that tensorflow-cpu "
        "has, and by protobuf: pip install tensorflow-cpu==2.21.0"
    )
