"""Random programs of all opcodes that jaxlib runs on one CPU, and inputs for them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.campaigns.random_programs import control, elementwise, shapes, sums
from tests.campaigns.random_programs.builder import Builder, Value

DRAWS: Mapping[str, Callable[[Builder], Value]] = {
    **elementwise.DRAWS,
    **shapes.DRAWS,
    **sums.DRAWS,
    **control.DRAWS,
}
"""Functions that add an instruction of an opcode, by opcode."""

LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "all-gather",
            "all-gather-done",
            "all-gather-start",
            "all-reduce",
            "all-reduce-done",
            "all-reduce-start",
            "all-to-all",
            "collective-broadcast",
            "collective-permute",
            "collective-permute-done",
            "collective-permute-start",
            "partition-id",
            "ragged-all-to-all",
            "reduce-scatter",
            "replica-id",
        ),
        "needs several devices",
    ),
    **dict.fromkeys(
        ("infeed", "outfeed", "send", "send-done", "recv", "recv-done"), "speaks with a host"
    ),
    **dict.fromkeys(
        ("after-all", "add-dependency", "domain"), "orders or marks others, and computes nothing"
    ),
    **dict.fromkeys(
        (
            "async-start",
            "async-update",
            "async-done",
            "copy-start",
            "copy-done",
            "bitcast",
            "fusion",
        ),
        "is made by compilers, and has no StableHLO, which jaxlib compiles",
    ),
    **dict.fromkeys(("rng", "rng-get-and-update-state"), "draws different numbers on each run"),
    **dict.fromkeys(
        ("set-dimension-size", "dynamic-reshape"), "has arrays of a size that depends on data"
    ),
    **dict.fromkeys(
        ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "stochastic-convert"),
        "has no code in XLA:CPU, or in some fusions alone: JAX composes it of others",
    ),
    **dict.fromkeys(
        ("ragged-dot", "scaled-dot", "scan"), "is new, and not in the StableHLO that JAX emits"
    ),
    "custom-call": "computes what its target does",
    "parameter": "is in each program that has inputs",
}
"""Opcodes that are not drawn, and the reason of each."""

# XLA's evaluator does not have these, so they are drawn in their turns alone.
_NOT_EVALUATED = frozenset(
    {"batch-norm-grad", "batch-norm-inference", "batch-norm-training", "cholesky"}
    | {"get-dimension-size", "rng-bit-generator", "topk", "triangular-solve"}
)
_LARGE, _SMALL = 30_000, 400
_MANY = 12
_DENORMAL = 0.1  # share of programs whose inputs may have denormal numbers


@dataclass(frozen=True)
class RandomProgram:
    """A program.

    Attributes:
        seed: Seed of the campaign.
        number: Number of the program.
        text: HLO text.
        is_special: True if its inputs have NaNs, infinities and extremes of their types.
        has_denormals: True if they have denormal numbers, too, which may be taken for zero.
    """

    seed: int
    number: int
    text: str
    is_special: bool
    has_denormals: bool


def random_program(seed: int, number: int) -> RandomProgram:
    """Draws a program of 1 to 12 opcodes, each time the same.

    The first opcode of each program is drawn in turns, so that all appear in as many programs as
    there are opcodes.

    Args:
        seed: Seed of the campaign.
        number: Number of the program.
    """
    rng = random.Random(f"{seed}/{number}")
    opcodes = sorted(DRAWS)
    builder = Builder(rng, _LARGE if rng.random() < 0.15 else _SMALL)
    first = opcodes[number % len(opcodes)]
    others = [opcode for opcode in opcodes if opcode not in _NOT_EVALUATED]
    chosen = [first, *rng.choices(others, k=rng.randint(0, _MANY - 1))]
    rng.shuffle(chosen)
    for opcode in chosen:
        DRAWS[opcode](builder)
    is_special = rng.random() < 0.5
    return RandomProgram(seed, number, builder.text(), is_special, rng.random() < _DENORMAL)
