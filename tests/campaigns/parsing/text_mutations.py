"""Damages HLO text, at random but reproducibly, for fuzzing its parser.

A mutation takes the content, a ``random.Random`` and other contents, and returns the damaged
content. They work on bytes, tokens, lines and numbers, and know the words of HLO's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(rb"[A-Za-z_][\w.\-]*|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\s+|\"[^\"\n]*\"|.", re.S)
_NUMBER = re.compile(rb"\d+")
_OPENING = (b"(", b"{", b"[", b"/*", b'"', b"({", b"(f32[2],", b"{{", b"add(", b"[[")
_MOST_NESTING = 100_000
_LARGEST_GROWTH = 1 << 20
"""Bytes; repeated copies stay below it, so that a campaign measures the parser, not memory."""

_NUMBERS = (
    *(b"0 1 2 3 4 5 7 8 16 64 127 128 255 256 1000 4096 32767 65535 65536 1000000".split()),
    *(b"2147483647 2147483648 4294967295 4294967296 1099511627776".split()),
    *(b"4611686018427387904 9223372036854775807 9223372036854775808".split()),
    *(b"18446744073709551615 18446744073709551616 99999999999999999999999999".split()),
    *(b"-1 -2 -9223372036854775808 1e400 -1e400 nan -nan inf -inf 1e-400 0x7f 00 1.5".split()),
)

_WORDS = tuple(
    b"""HloModule ENTRY ROOT parameter constant add subtract tuple get-tuple-element reshape
    transpose broadcast reduce reduce-window select-and-scatter convolution dot scatter gather
    slice dynamic-slice dynamic-update-slice pad concatenate iota convert bitcast bitcast-convert
    while conditional call fusion map sort custom-call all-reduce all-gather all-to-all
    collective-permute reduce-scatter async-start async-update async-done all-reduce-start
    all-reduce-done copy-start copy-done send send-done recv recv-done infeed outfeed after-all
    rng rng-bit-generator fft cholesky triangular-solve topk ragged-dot ragged-all-to-all
    get-dimension-size set-dimension-size add-dependency optimization-barrier domain partition-id
    replica-id compare select clamp batch-norm-training batch-norm-grad stochastic-convert
    calls= to_apply= body= condition= kind=kLoop kind=kCustom index=0 dimensions={0} dimensions={}
    direction=LT window={size=3x3} dim_labels=b01f_01io->b01f slice={[0:2]} padding=0_1_2
    lhs_contracting_dims={0} rhs_contracting_dims={1} lhs_batch_dims={0} rhs_batch_dims={0}
    offset_dims={1} collapsed_slice_dims={0} start_index_map={0} index_vector_dim=1
    slice_sizes={1,20} operand_batching_dims={0} replica_groups={{0,1},{2,3}}
    replica_groups=[2,4]<=[8] replica_groups=[2,4]<=[4,2]T(1,0) channel_id=1
    use_global_device_ids=true source_target_pairs={{0,1},{1,0}} sharding={replicated}
    sharding={maximal device=0} sharding={devices=[2,2]<=[4]} sharding={{replicated},{manual}}
    sharding={devices=[4,1]0,1,2,3} sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
    metadata={op_name="x"} backend_config="{}" backend_config={"a":1} frontend_attributes={a="b"}
    control-predecessors={x} custom_call_target="f" operand_layout_constraints={f32[2]{0}}
    input_output_alias={{0}:(0,{},may-alias)} buffer_donor={(0,{})} is_scheduled=true
    entry_computation_layout={(f32[2]{0})->f32[2]{0}} num_partitions=4 replica_count=2
    async_execution_thread="t" async_group_id=1 branch_computations={a,b} true_computation=
    feature_group_count=2 batch_group_count=2 precision_config={highest} largest=true k=2
    distribution=rng_uniform algorithm=rng_default fft_type=FFT fft_length={2} epsilon=1
    feature_index=0 exponent_bits=5 mantissa_bits=2 dimension=0 is_stable=true is_cross=true
    to_apply=add select=ge scatter=add statistics={visualizing_index=0,a=1}
    parameter_replication={true} origin={{"a"}} sparsity=L.0@2:4 result_accuracy={mode=highest}
    literal={1} output_to_operand_aliasing={{}:(0,{})} schedule=SCHEDULE_LATEST
    f32[] f32[2] f32[2,3]{1,0} s32[] pred[] token[] opaque[] () (f32[2],s32[]) c64[2] s4[3] u2[3]
    bf16[2] f8e4m3fn[2] f32[<=10] f32[?] f32[2]{0:T(8,128)} f32[2,3]{1,0:T(2,128)(2,1)S(5)}
    f32[2]{0:E(4)} f32[4]{0:D(D)} f32[2]{:D(C)} f32[2,3]{0,1:#(u32)} f32[0] {...} (1,2) true false
    /*index=5*/ // -> % = , : ; . ... ( ) { } [ ] < > " ' \\ \x00 \xff <= x _ | * ? # @ $
    """.split()
)


Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def _span(size: int, random: Random, most: int = 1 << 30) -> tuple[int, int]:
    """A random range of a sequence, short ones more often than long ones."""
    start = random.randrange(size + 1)
    length = min(int(random.paretovariate(0.8)), most, size - start)
    return start, start + length


def flip_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Sets one to four bytes to other values."""
    damaged = bytearray(data)
    for _ in range(random.randint(1, 4) if damaged else 0):
        position = random.randrange(len(damaged))
        damaged[position] = random.choice((random.randrange(256), damaged[position] ^ 1))
    return bytes(damaged)


def delete_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Drops a range of bytes."""
    start, end = _span(len(data), random)
    return data[:start] + data[end:]


def repeat_bytes(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Writes a range of bytes several times."""
    start, end = _span(len(data), random)
    times = min(int(random.paretovariate(0.7)) + 1, _LARGEST_GROWTH // (end - start + 1))
    return data[:end] + data[start:end] * times + data[end:]


def truncate(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Cuts the end off."""
    return data[: random.randrange(len(data) + 1)]


def splice(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Continues with the rest of another content."""
    other = random.choice(others)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def change_tokens(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Deletes, doubles, swaps or replaces one to three tokens."""
    tokens = _TOKEN.findall(data)
    for _ in range(random.randint(1, 3) if tokens else 0):
        at, to = random.randrange(len(tokens)), random.randrange(len(tokens))
        match random.randrange(5):
            case 0:
                tokens[at] = b""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at], tokens[to] = tokens[to], tokens[at]
            case 3:
                tokens[at] = tokens[to]
            case _:
                tokens[at] = random.choice(_WORDS)
    return b"".join(tokens)


def exchange_tokens(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Puts for one to three names, numbers or element types another one of the same kind."""
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
    """Whether a token is a number, and what follows it: names before "(" are opcodes, say."""
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
    """Puts other numbers, most of them extreme or off by one, for one to three numbers."""
    for _ in range(random.randint(1, 3)):
        numbers = list(_NUMBER.finditer(data))
        if not numbers:
            break
        found = random.choice(numbers)
        new = random.choice(_NUMBERS)
        if random.random() < 0.5:
            new = b"%d" % (int(found.group()) + random.choice((-2, -1, 1, 2)))
        data = data[: found.start()] + new + data[found.end() :]
    return data


def change_lines(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Deletes, doubles or swaps lines, or takes lines of another content."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 3)):
        at, to = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(4):
            case 0:
                lines[at] = b""
            case 1:
                lines.insert(to, lines[at])
            case 2:
                lines[at], lines[to] = lines[to], lines[at]
            case _:
                lines[at] = random.choice(random.choice(others).split(b"\n"))
    return b"\n".join(lines)


def nest(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Opens many brackets, with or without closing them."""
    opening = random.choice(_OPENING)
    depth = int(10 ** random.uniform(0, 5))
    depth = min(depth, _MOST_NESTING)
    closing = b""
    if random.random() < 0.7:
        inverse = {b"(": b")", b"{": b"}", b"[": b"]"}
        closing = b"".join(inverse.get(bytes((c,)), b"") for c in reversed(opening)) * depth
    at = random.randrange(len(data) + 1)
    inside = random.choice((b"", b"f32[2]", b"x", b"1"))
    return data[:at] + opening * depth + inside + closing + data[at:]


TEXT_MUTATIONS: tuple[Mutation, ...] = (
    flip_bytes,
    delete_bytes,
    repeat_bytes,
    truncate,
    splice,
    change_tokens,
    exchange_tokens,
    insert_words,
    change_numbers,
    change_lines,
    nest,
)
_TEXT_WEIGHTS = (3, 2, 1, 1, 1, 5, 12, 6, 12, 6, 1)


def mutate_text(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Damages text by one to three mutations.

    Args:
        data: HLO or StableHLO text.
        random: Decides everything.
        others: Texts to take parts of; at least one.
    """
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        mutation = random.choices(TEXT_MUTATIONS, _TEXT_WEIGHTS)[0]
        data = mutation(data, random, others)
    return data
