"""The inputs of a fuzzing campaign: input number N of a seed is the same in every process."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import zstandard

from hlograph import Module, corpus
from tests.campaigns.parsing import seeds as parser_seeds
from tests.campaigns.parsing.proto_mutations import mutate_proto
from tests.campaigns.parsing.protobuf_wire import decode, encode
from tests.campaigns.parsing.text_mutations import mutate_text

# Of a hundred inputs; StableHLO is jaxlib's to parse, a decompressor is soon tested.
_SHARES = {"text": 58, "proto": 37, "compressed": 3, "stablehlo": 2}
KINDS = tuple(_SHARES)
_LARGEST = 150
"""Instructions of the corpus's modules taken: damage is found sooner in small ones."""
_MODULES = 25
_ID = 5
"""Number of the field ``id`` of ``HloModuleProto``."""


class Input(NamedTuple):
    """One input.

    Attributes:
        kind: One of ``KINDS``.
        data: What ``hlograph.parse`` is given.
    """

    kind: str
    data: bytes


class Inputs:
    """Damaged modules by their number.

    Args:
        seed: Of the damage.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        modules = [Module.from_text(text) for text in parser_seeds.HLO]
        texts = list(parser_seeds.HLO)
        for module in _diverse_modules():
            modules.append(module)
            texts.append(module.to_text(metadata=True).encode())
        self._texts: Sequence[bytes] = texts
        self._protos: Sequence[bytes] = [_without_id(module) for module in modules]

    def __getitem__(self, number: int) -> Input:
        random = Random(f"{self._seed}/{number}")
        kind = random.choices(KINDS, list(_SHARES.values()))[0]
        if kind == "text":
            return Input(kind, self._text(random))
        if kind == "proto":
            return Input(kind, self._proto(random))
        if kind == "stablehlo":
            texts = parser_seeds.STABLEHLO
            return Input(kind, mutate_text(random.choice(texts), random, texts))
        return Input(kind, self._compressed(random))

    def _text(self, random: Random) -> bytes:
        return mutate_text(random.choice(self._texts), random, self._texts)

    def _proto(self, random: Random) -> bytes:
        return mutate_proto(random.choice(self._protos), random, self._protos)

    def _compressed(self, random: Random) -> bytes:
        content = random.choice((self._text, self._proto))(random)
        compress = random.choice((gzip.compress, zstandard.compress))
        data = compress(content)
        match random.randrange(4):
            case 0:
                return data[: random.randrange(len(data))]
            case 1:
                return data + data[: random.randrange(len(data))]
            case 2:
                at = random.randrange(len(data))
                return data[:at] + random.randbytes(1) + data[at + 1 :]
            case _:
                return data


def _without_id(module: Module) -> bytes:
    """The module's proto without its id, which counts the modules of a process."""
    fields = decode(module.to_proto()) or []
    return encode(field for field in fields if field.number != _ID)


def _diverse_modules() -> list[Module]:
    """The smallest modules of the corpus that each add an opcode to those before."""
    chosen: list[Module] = []
    seen: set[int] = set()
    for benchmark in sorted(corpus.load(max_op_count=_LARGEST), key=lambda b: b.op_count):
        module = benchmark.load()
        opcodes = set(module.op_counts().nonzero()[0].tolist())
        if opcodes - seen and len(chosen) < _MODULES:
            seen |= opcodes
            chosen.append(module)
    return chosen
