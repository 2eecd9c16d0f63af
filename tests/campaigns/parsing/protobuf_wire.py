"""The wire format of protocol buffers: a message as the list of its fields, without a schema.

https://protobuf.dev/programming-guides/encoding. Groups (wire types 3 and 4) are not decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_LARGEST_FIELD = (1 << 29) - 1
_LONGEST_VARINT = 10
_MASK = (1 << 64) - 1


class Field(NamedTuple):
    """One field as it is written.

    Attributes:
        number: Field number, from 1.
        wire_type: 0 varint, 1 fixed 64 bits, 2 bytes, 5 fixed 32 bits.
        content: The bytes behind the tag, of wire type 2 behind the length.
    """

    number: int
    wire_type: int
    content: bytes

    @property
    def is_bytes(self) -> bool:
        """Whether it holds bytes: a string, a message or packed numbers."""
        return self.wire_type == _BYTES

    @property
    def is_varint(self) -> bool:
        """Whether it holds one integer."""
        return self.wire_type == _VARINT

    @property
    def varint(self) -> int:
        """The integer of a varint field, unsigned."""
        return _read_varint(self.content, 0)[0]

    def with_content(self, content: bytes) -> Field:
        """This field with other bytes."""
        return self._replace(content=content)

    def with_varint(self, value: int) -> Field:
        """This field with another integer."""
        return self._replace(content=_varint(value))


def decode(data: bytes) -> list[Field] | None:
    """Returns the fields of a serialized message, or None if the bytes are not one."""
    fields = []
    position = 0
    try:
        while position < len(data):
            field, position = _read_field(data, position)
            fields.append(field)
    except ValueError:
        return None
    return fields


def encode(fields: Iterable[Field]) -> bytes:
    """Returns the serialized message."""
    parts = []
    for field in fields:
        parts.append(_varint(field.number << 3 | field.wire_type))
        if field.is_bytes:
            parts.append(_varint(len(field.content)))
        parts.append(field.content)
    return b"".join(parts)


def _read_field(data: bytes, position: int) -> tuple[Field, int]:
    tag, position = _read_varint(data, position)
    number, wire_type = tag >> 3, tag & 7
    if not 0 < number <= _LARGEST_FIELD:
        raise ValueError(f"no field has the number {number}")
    if wire_type == _VARINT:
        _, end = _read_varint(data, position)
    elif wire_type == _BYTES:
        length, position = _read_varint(data, position)
        end = position + length
    elif wire_type in _FIXED_SIZES:
        end = position + _FIXED_SIZES[wire_type]
    else:
        raise ValueError(f"wire type {wire_type} is not decoded")
    if end > len(data):
        raise ValueError(f"the field ends at byte {end} of {len(data)}")
    return Field(number, wire_type, data[position:end]), end


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST_VARINT):
        if position >= len(data):
            raise ValueError("the varint does not end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & _MASK, position
    raise ValueError(f"the varint is longer than {_LONGEST_VARINT} bytes")


def _varint(value: int) -> bytes:
    value &= _MASK
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
