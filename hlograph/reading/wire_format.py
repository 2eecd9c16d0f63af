"""The wire format of protocol buffers: what is needed to read and edit messages without classes."""

from __future__ import annotations

from collections.abc import Iterator

# Type of a field whose payload has a length, in the low bits of its tag.
_WITH_LENGTH = 2

_LONGEST_VARINT = 10


def field(number: int, payload: bytes) -> bytes:
    """Returns a field whose payload has a length: text, bytes or a message."""
    return _varint(number << 3 | _WITH_LENGTH) + _varint(len(payload)) + payload


def fields(data: bytes | memoryview) -> Iterator[tuple[int, memoryview, memoryview | None]]:
    """Yields the fields of a message.

    Each is its number, its bytes with the tag, and its payload if that has a length.

    Raises:
        ValueError: A number in it is damaged.
    """
    view, position = memoryview(data), 0
    while position < len(view):
        start = position
        tag, position = read_varint(view, position)
        payload = None
        match tag & 7:
            case 0:
                _, position = read_varint(view, position)
            case 1:
                position += 8
            case 2:
                length, position = read_varint(view, position)
                payload = view[position : position + length]
                position += length
            case _:
                position += 4
        yield tag >> 3, view[start:position], payload


def read_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Returns the number that is written at a position, and the position after it.

    Raises:
        ValueError: There is none: it would have more than ten bytes, or go beyond the end.
    """
    number = shift = 0
    for byte in data[position : position + _LONGEST_VARINT]:
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position
    raise ValueError("expected a number of at most ten bytes in a proto")


def _varint(number: int) -> bytes:
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)
