"""Damages serialized protos, at random but reproducibly, for fuzzing their parser.

Most mutations change one field of the message or of a message inside it, so that the result still
decodes and reaches the code behind the decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.campaigns.parsing.protobuf_wire import Field, decode, encode
from tests.campaigns.parsing.text_mutations import (
    delete_bytes,
    flip_bytes,
    repeat_bytes,
    splice,
    truncate,
)

_VARINTS = (0, 1, 2, 3, 8, 11, 17, 64, 127, 255, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 40)
_LARGE_VARINTS = (1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 2)
_PROTO_BYTES = (flip_bytes, delete_bytes, repeat_bytes, truncate, splice)


def mutate_proto(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Damages a serialized message: four times of five its fields, else its bytes.

    Args:
        data: A serialized ``HloModuleProto``.
        random: Decides everything.
        others: Messages to take fields of; at least one.
    """
    if random.random() < 0.2:
        return random.choice(_PROTO_BYTES)(data, random, others)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = _change_fields(data, random, others)
    return data


def _change_fields(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Changes one field, of this message or of one inside it."""
    fields = decode(data)
    if not fields:
        return flip_bytes(data, random, others)
    at = random.randrange(len(fields))
    if random.random() < 0.5:
        # The large fields are the instructions, and they have most of the structure.
        some = random.sample(range(len(fields)), min(3, len(fields)))
        sizes = [len(field.content) for field in fields]
        at = max(some, key=sizes.__getitem__)
    field = fields[at]
    if field.is_bytes and random.random() < 0.85 and decode(field.content):
        fields[at] = field.with_content(_change_fields(field.content, random, others))
        return encode(fields)
    _change_field(fields, at, random)
    if random.random() < 0.03:
        fields += (decode(random.choice(others)) or fields)[:1]
    return encode(fields)


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
            fields[at] = Field(random.randrange(1, 100), field.wire_type, field.content)
        case 4:
            fields[at] = fields[to]
        case _ if field.is_bytes:
            mutation = random.choice((flip_bytes, delete_bytes, repeat_bytes, truncate))
            fields[at] = field.with_content(mutation(field.content, random, [field.content]))
        case _ if field.is_varint:
            old = field.varint
            near = (old + random.choice((-2, -1, 1, 2))) % (1 << 64)
            other = random.choice(random.choice((_VARINTS, _LARGE_VARINTS)))
            fields[at] = field.with_varint(random.choice((near, other)))
        case _:
            fields[at] = field.with_content(random.randbytes(len(field.content)))
