"""Wire format of protocol buffers: a message as the list of its fields, without a schema.

https://protobuf.dev/programming-guides/encoding. Groups (wire types 3 and 4) are not decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}


class Field(NamedTuple):
    """One field of a message.

    Attributes:
        number: Field number, from 1.
        wire_type: 0 for a varint, 1 for fixed 64 bits, 2 for bytes, 5 for fixed 32 bits.
        value: The unsigned integer; for wire type 2 the bytes of a string, message or packed array.
    """

    number: int
    wire_type: int
    value: int | bytes


def decode(data: bytes) -> list[Field] | None:
    """Returns the fields of a serialized message, or None if the bytes are not a message."""
    message = Empty()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    fields = [Field(f.field_number, f.wire_type, f.data) for f in UnknownFieldSet(message)]
    return fields if all(field.wire_type in (VARINT, _BYTES, *_SIZES) for field in fields) else None


def encode(fields: Iterable[Field]) -> bytes:
    """Returns the serialized message."""
    parts = []
    for number, wire_type, value in fields:
        parts.append(_varint(number << 3 | wire_type))
        if isinstance(value, bytes):
            parts += [_varint(len(value)), value]
        elif wire_type == VARINT:
            parts.append(_varint(value))
        else:
            parts.append(value.to_bytes(_SIZES[wire_type], "little"))
    return b"".join(parts)


def _varint(value: int) -> bytes:
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
