"""Random damage to serialized protos, which is a function of the random state.

Most mutations change one field of the message or of a message inside it. The result can still be
decoded, so it reaches the code behind the decoder.
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from tests.campaigns.parsing.text_mutations import (
    delete_bytes,
    flip_bytes,
    repeat_bytes,
    splice,
    truncate,
)

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


_VARINTS = (0, 1, 2, 3, 8, 11, 17, 64, 127, 255, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 40)
_LARGE_VARINTS = (1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 2)
_PROTO_BYTES = (flip_bytes, delete_bytes, repeat_bytes, truncate, splice)


def mutate_proto(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Damages a serialized message: its fields in four of five cases, else its bytes.

    Args:
        data: Serialized `HloModuleProto`.
        random: Source of all randomness.
        others: Other messages whose fields may be inserted; at least one.
    """
    if random.random() < 0.2:
        return random.choice(_PROTO_BYTES)(data, random, others)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = _change_fields(data, random, others)
    return data


def _change_fields(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Changes one field of a message or of a message inside it."""
    fields = decode(data)
    if not fields:
        return flip_bytes(data, random, others)
    at = random.randrange(len(fields))
    if random.random() < 0.5:
        # The largest fields are the instructions, which have most of the structure.
        candidates = random.sample(range(len(fields)), min(3, len(fields)))
        at = max(candidates, key=[_size(field) for field in fields].__getitem__)
    inner = fields[at].value
    if isinstance(inner, bytes) and random.random() < 0.85 and decode(inner):
        fields[at] = fields[at]._replace(value=_change_fields(inner, random, others))
        return encode(fields)
    _change_field(fields, at, random)
    if random.random() < 0.03:
        fields += (decode(random.choice(others)) or fields)[:1]
    return encode(fields)


def _size(field: Field) -> int:
    return len(field.value) if isinstance(field.value, bytes) else 1


def _change_field(fields: list[Field], at: int, random: Random) -> None:
    field = fields[at]
    to = random.randrange(len(fields))
    match random.randrange(8):
        case 0:
            del fields[at]
        case 1:
            fields.insert(to, field)
        case 2:
            fields[at], fields[to] = fields[to], field
        case 3:
            fields[at] = field._replace(number=random.randrange(1, 100))
        case 4:
            fields[at] = fields[to]
        case _:
            fields[at] = field._replace(value=_other_value(field, random))


def _other_value(field: Field, random: Random) -> int | bytes:
    if isinstance(field.value, bytes):
        mutation = random.choice((flip_bytes, delete_bytes, repeat_bytes, truncate))
        return mutation(field.value, random, [field.value])
    if field.wire_type != VARINT:
        return random.getrandbits(32)
    if random.random() < 0.5:
        return (field.value + random.choice((-2, -1, 1, 2))) % (1 << 64)
    return random.choice(random.choice((_VARINTS, _LARGE_VARINTS)))
