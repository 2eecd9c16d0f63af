"""Kernels that the bank begins with: those of the training programs of the plan times."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from random import Random
from typing import NamedTuple

from hlograph.corpus import kernel_times, plan_times
from hlograph.profiling.kernel_modules import is_kernel_text

_OPCODE = re.compile(r" ([a-z][a-z-]*)\(")
# An opcode that fewer than this share of the kernels have is rare.
_RARE = 0.01
_CONFIGURATION = re.compile(r", kind=k\w+|, backend_config=\{.*\}")

# Families that are not for training, those that resemble each other in the same split, with about
# a tenth of the kernels for each. They are named, so that more plan times change no split.
_FAMILIES: Mapping[kernel_times.Split, frozenset[str]] = {
    "test": frozenset(
        [
            "clustering",
            "cma-es",
            "k-means",
            "kmeans",
            "linear-solve",
            "regnet",
            "resnet",
            "special-functions",
            "translator",
            "wavenet",
        ]
    ),
    "validation": frozenset(
        [
            "assignment",
            "gnn",
            "graph-attention",
            "graph-convolution",
            "lstm",
            "recurrent-q",
            "rnn",
            "sorting",
            "stencil",
            "svi",
            "transposed-convolution",
        ]
    ),
}


class Origin(NamedTuple):
    """A kernel of a program.

    Attributes:
        text: HLO text (``hlograph.profiling.kernel_modules``).
        family: Of the families of its split, that whose programs have it most often.
        split: Split of the bank.
    """

    text: str
    family: str
    split: kernel_times.Split

    @property
    def digest(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the text."""
        return digest_of(self.text)


def digest_of(text: str) -> str:
    """Returns what names a kernel's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def held_out_texts() -> frozenset[str]:
    """Returns the kernels of the held-out programs of the speed set, which the bank must not have.

    Equal kernels have equal texts, without what plans decide about them (``unconfigured``). Loops
    and branches whose bodies have kernels of their own are none: their texts are opcodes.
    """
    times = plan_times.load("validation", "test")
    numbers = {kernel.number for plan in times.plans for kernel in plan.kernels}
    texts = (times.kernels[number] for number in numbers)
    return frozenset(unconfigured(text) for text in texts if is_kernel_text(text))


def origins(seed: int = 0) -> list[Origin]:
    """Returns the kernels to begin with, those of each family far apart.

    Loops and branches whose bodies have kernels of their own are none.

    Args:
        seed: Seed of their order.
    """
    times = plan_times.load("train", "small")
    families: dict[str, Counter[str]] = defaultdict(Counter)
    for plan in times.plans:
        for kernel in plan.kernels:
            families[times.kernels[kernel.number]][plan.program.partition("/")[0]] += 1
    held_out = held_out_texts()
    by_family: dict[str, list[Origin]] = defaultdict(list)
    for text, counts in _without_repetitions(families).items():
        if is_kernel_text(text) and unconfigured(text) not in held_out:
            split = split_of(counts)
            family = next(name for name, _ in counts.most_common() if split_of([name]) == split)
            by_family[family].append(Origin(text, family, split))
    return _in_turns(by_family, seed)


def _without_repetitions(families: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    """Returns one of the kernels that differ by configurations alone, with the families of all.

    Args:
        families: How often each kernel is in each family, by its text.
    """
    kept: dict[str, str] = {}
    merged: dict[str, Counter[str]] = defaultdict(Counter)
    for text, counts in families.items():
        merged[kept.setdefault(unconfigured(text), text)].update(counts)
    return merged


def unconfigured(text: str) -> str:
    """Returns a kernel's text without what plans decide about it: partitions, and the library."""
    lines = text.split("\n")
    return "\n".join(
        line if " custom-call(" in line else _CONFIGURATION.sub("", line) for line in lines
    )


def opcodes_of(text: str) -> frozenset[str]:
    """Returns the opcodes of a kernel, but for those of its operands."""
    return frozenset(_OPCODE.findall(text)) - {"parameter"}


def with_rare_opcodes(kernels: Collection[Origin]) -> frozenset[Origin]:
    """Returns the kernels with an opcode that few of them have."""
    opcodes = {kernel: opcodes_of(kernel.text) for kernel in kernels}
    counts = Counter(opcode for of_kernel in opcodes.values() for opcode in of_kernel)
    rare = {opcode for opcode, count in counts.items() if count < _RARE * len(kernels)}
    return frozenset(kernel for kernel, of_kernel in opcodes.items() if of_kernel & rare)


def split_of(families: Collection[str]) -> kernel_times.Split:
    """Returns the split of a kernel: the test if one of its families is in it, and so on."""
    for split, held_out in _FAMILIES.items():
        if not held_out.isdisjoint(families):
            return split
    return "train"


def _in_turns(by_family: dict[str, list[Origin]], seed: int) -> list[Origin]:
    """Returns one kernel of each family, then another one of each, and so on."""
    random = Random(seed)
    turns: list[tuple[int, int, Origin]] = []
    for number, (_, kernels) in enumerate(sorted(by_family.items())):
        random.shuffle(kernels)
        turns += [(turn, number, kernel) for turn, kernel in enumerate(kernels)]
    return [kernel for *_, kernel in sorted(turns, key=lambda item: item[:2])]
