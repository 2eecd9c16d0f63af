"""Random damage to HLO text, which is a function of the random state.

A mutation takes the text, a `random.Random` and other texts, and returns the damaged text.
Mutations change bytes, tokens, lines and numbers, and insert words of HLO's grammar.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from hlograph import OPCODES
from tests.campaigns.framework.module_sets import SMALL
from tests.hlograph import samples


def _read(suffix: str) -> list[bytes]:
    folder = Path(__file__).with_name("seed_corpus")
    return [path.read_bytes() for path in sorted(folder.glob(f"*{suffix}"))]


HLO = _read(".hlo") + [text.encode() for text in (*samples.ALL.values(), *dict(SMALL).values())]
"""HLO texts, each a module that parses."""

STABLEHLO = _read(".mlir")
"""StableHLO texts that jaxlib converts."""


_TOKEN = re.compile(rb"[A-Za-z_][\w.\-]*|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|\"[^\"\n]*\"|.", re.S)
_NUMBER = re.compile(rb"\d+")
_OPENING = (b"(", b"{", b"[", b"/*", b'"', b"({", b"(f32[2],", b"{{", b"add(", b"[[")
_LARGEST_GROWTH = 1 << 20
"""Limit of the bytes that repeated copies add: the campaign tests the parser, not the memory."""

_NUMBERS = (
    *(b"0 1 2 3 4 5 7 8 16 64 127 128 255 256 1000 4096 32767 65535 65536 1000000".split()),
    *(b"2147483647 2147483648 4294967295 4294967296 1099511627776".split()),
    *(b"4611686018427387904 9223372036854775807 9223372036854775808".split()),
    *(b"18446744073709551615 18446744073709551616 99999999999999999999999999".split()),
    *(b"-1 -2 -9223372036854775808 1e400 -1e400 nan -nan inf -inf 1e-400 0x7f 00 1.5".split()),
)

_OPCODE_OR_ATTRIBUTE = re.compile(
    rb"""(?<=[ ])[a-z][a-z-]+(?=\() |
    [a-z][\w-]*=(?:
        \{(?:[^{}\n]|\{[^{}\n]*\})*\} | "[^"\n]*" | [\w.%]+->[\w.]+ | \[\S*[^\s,] | [\w.%]+
    )""",
    re.VERBOSE,
)
_RARE_WORDS = rb"""
    HloModule ENTRY ROOT calls= to_apply= body= condition= true_computation= kind=kCustom index=0
    sharding={{replicated},{manual}} buffer_donor={(0,{})} is_cross=true async_group_id=1
    batch_group_count=2 sparsity=L.0@2:4 result_accuracy={mode=highest} {...} (1,2) true false
    f32[] f32[2] f32[2,3]{1,0} s32[] pred[] token[] opaque[] () (f32[2],s32[]) c64[2] s4[3] u2[3]
    bf16[2] f8e4m3fn[2] f32[<=10] f32[?] f32[2]{0:T(8,128)} f32[2,3]{1,0:T(2,128)(2,1)S(5)}
    f32[2]{0:E(4)} f32[4]{0:D(D)} f32[2]{:D(C)} f32[2,3]{0,1:#(u32)} f32[0]
    /*index=5*/ // -> % = , : ; . ... ( ) { } [ ] < > " ' \ <= x _ | * ? # @ $
""".split()
_WORDS = sorted(
    {word for text in HLO for word in _OPCODE_OR_ATTRIBUTE.findall(text)}
    | {opcode.encode() for opcode in OPCODES}
    | {*_RARE_WORDS, b"\x00", b"\xff"}
)
"""Words of HLO's grammar: those of the seeds, all opcodes, and some that no seed has."""


Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def _span(size: int, random: Random, most: int = 1 << 30) -> tuple[int, int]:
    """Returns a random range of a sequence; short ranges are more frequent."""
    start = random.randrange(size + 1)
    length = int(min(random.paretovariate(0.8), most, size - start))  # it may be infinite
    return start, start + length


def flip_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Sets one to four bytes to other values."""
    damaged = bytearray(data)
    for _ in range(random.randint(1, 4) if damaged else 0):
        position = random.randrange(len(damaged))
        damaged[position] = random.choice((random.randrange(256), damaged[position] ^ 1))
    return bytes(damaged)


def delete_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Deletes a range of bytes."""
    start, end = _span(len(data), random)
    return data[:start] + data[end:]


def repeat_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Repeats a range of bytes several times."""
    start, end = _span(len(data), random)
    times = int(min(random.paretovariate(0.7) + 1, _LARGEST_GROWTH // (end - start + 1)))
    return data[:end] + data[start:end] * times + data[end:]


def truncate(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Cuts the end off."""
    return data[: random.randrange(len(data) + 1)]


def splice(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Replaces the end by the end of another text."""
    other = random.choice(others)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _change_items(items: list[bytes], random: Random, replacement: Callable[[], bytes]) -> None:
    """Deletes, doubles, moves, swaps or replaces one to three items."""
    for _ in range(random.randint(1, 3) if items else 0):
        at, to = random.randrange(len(items)), random.randrange(len(items))
        match random.randrange(5):
            case 0:
                items[at] = b""
            case 1:
                items.insert(to, items[at])
            case 2:
                items[at], items[to] = items[to], items[at]
            case 3:
                items[at] = items[to]
            case _:
                items[at] = replacement()


def change_tokens(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Changes tokens, or replaces them by words of the grammar."""
    tokens = _TOKEN.findall(data)
    _change_items(tokens, random, lambda: random.choice(_WORDS))
    return b"".join(tokens)


def exchange_tokens(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Replaces one to three names, numbers or element types by others of the same kind."""
    tokens = _TOKEN.findall(data)
    for _ in range(random.randint(1, 3)):
        words = [i for i, token in enumerate(tokens) if token[:1].isalnum()]
        if not words:
            break
        at = random.choice(words)
        kind = _kind(tokens, at)
        tokens[at] = tokens[random.choice([i for i in words if _kind(tokens, i) == kind])]
    return b"".join(tokens)


def _kind(tokens: Sequence[bytes], at: int) -> tuple[bool, bytes]:
    """Returns the kind of a token: if it is a number, and what follows (a "(" after opcodes)."""
    after = tokens[at + 1] if at + 1 < len(tokens) else b""
    return tokens[at].isdigit(), after if after in b"([=" else b""


def insert_words(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Inserts words of HLO's grammar, between tokens or as an attribute at the end of a line."""
    if random.random() < 0.5:
        lines = data.split(b"\n")
        at = random.randrange(len(lines))
        lines[at] += b", " + random.choice(_WORDS)
        return b"\n".join(lines)
    tokens = _TOKEN.findall(data)
    for _ in range(random.randint(1, 3)):
        tokens.insert(random.randrange(len(tokens) + 1), random.choice(_WORDS))
    return b"".join(tokens)


def change_numbers(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Replaces one to three numbers by others, most of them extreme or off by one or two."""
    for _ in range(random.randint(1, 3)):
        numbers = list(_NUMBER.finditer(data))
        if not numbers:
            break
        match = random.choice(numbers)
        new = random.choice(_NUMBERS)
        if random.random() < 0.5:
            new = b"%d" % (int(match.group()) + random.choice((-2, -1, 1, 2)))
        data = data[: match.start()] + new + data[match.end() :]
    return data


def change_lines(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Changes lines, or replaces them by lines of another text."""
    lines = data.split(b"\n")
    _change_items(lines, random, lambda: random.choice(random.choice(others).split(b"\n")))
    return b"\n".join(lines)


def nest(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Opens many brackets, with or without closing them."""
    opening = random.choice(_OPENING)
    depth = int(10 ** random.uniform(0, 5))
    closing = b""
    if random.random() < 0.7:
        inverse = {b"(": b")", b"{": b"}", b"[": b"]"}
        closing = b"".join(inverse.get(bytes((c,)), b"") for c in reversed(opening)) * depth
    at = random.randrange(len(data) + 1)
    inside = random.choice((b"", b"f32[2]", b"x", b"1"))
    return data[:at] + opening * depth + inside + closing + data[at:]


TEXT_MUTATIONS: dict[Mutation, int] = {
    flip_bytes: 3,
    delete_bytes: 2,
    repeat_bytes: 1,
    truncate: 1,
    splice: 1,
    change_tokens: 5,
    exchange_tokens: 12,
    insert_words: 6,
    change_numbers: 12,
    change_lines: 6,
    nest: 1,
}
"""Mutations of text, with their weights."""


def mutate_text(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Damages text by one to three mutations.

    Args:
        data: HLO or StableHLO text.
        random: Source of all randomness.
        others: Other texts whose parts may be inserted; at least one.
    """
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        mutation = random.choices([*TEXT_MUTATIONS], [*TEXT_MUTATIONS.values()])[0]
        data = mutation(data, random, others)
    return data
