"""Inputs of the parser campaign: input number N of a seed is the same in every process."""

import gzip
from random import Random
from typing import NamedTuple

import zstandard

from hlograph import Module
from tests.campaigns.framework.module_sets import select
from tests.campaigns.parsing.proto_mutations import decode, encode, mutate_proto
from tests.campaigns.parsing.text_mutations import HLO, STABLEHLO, mutate_text

# Percentages. jaxlib parses StableHLO, and decompression has little code of its own.
_SHARES = {"text": 58, "proto": 37, "compressed": 3, "stablehlo": 2}
KINDS = tuple(_SHARES)
_LARGEST = 150
"""Instructions of the largest corpus module: small modules show a defect sooner."""
_MODULES = 25
_ID = 5
"""Number of the field `id` of `HloModuleProto`."""


class Input(NamedTuple):
    """One input.

    Attributes:
        kind: One of `KINDS`.
        data: Argument of `hlograph.parse`.
    """

    kind: str
    data: bytes


class Inputs:
    """Damaged modules by their number.

    Args:
        seed: Seed of the damage.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        corpus = _diverse_modules()
        modules = [*map(Module.from_text, HLO), *corpus]
        self._texts = [*HLO, *(module.to_text(metadata=True).encode() for module in corpus)]
        self._protos = [_without_id(module) for module in modules]

    def __getitem__(self, number: int) -> Input:
        random = Random(f"{self._seed}/{number}")
        kind = random.choices(KINDS, list(_SHARES.values()))[0]
        make = {"text": self._text, "proto": self._proto, "compressed": self._compressed}
        return Input(kind, make.get(kind, self._stablehlo)(random))

    def _text(self, random: Random) -> bytes:
        return mutate_text(random.choice(self._texts), random, self._texts)

    def _proto(self, random: Random) -> bytes:
        return mutate_proto(random.choice(self._protos), random, self._protos)

    def _stablehlo(self, random: Random) -> bytes:
        return mutate_text(random.choice(STABLEHLO), random, STABLEHLO)

    def _compressed(self, random: Random) -> bytes:
        content = random.choice((self._text, self._proto))(random)
        data = random.choice((gzip.compress, zstandard.compress))(content)
        at = random.randrange(len(data))
        return random.choice(
            (data, data[:at], data + data[:at], data[:at] + random.randbytes(1) + data[at + 1 :])
        )


def _without_id(module: Module) -> bytes:
    """Returns the module's proto without its id, which counts the modules of a process."""
    fields = decode(module.to_proto()) or []
    return encode(field for field in fields if field.number != _ID)


def _diverse_modules() -> list[Module]:
    """Returns the smallest modules of the corpus that each add an opcode to those before."""
    chosen: list[Module] = []
    seen: set[int] = set()
    for benchmark in select(["*"], _LARGEST):
        module = benchmark.load()
        opcodes = set(module.op_counts().nonzero()[0].tolist())
        if opcodes - seen and len(chosen) < _MODULES:
            seen |= opcodes
            chosen.append(module)
    return chosen
