"""Kernels that the bank begins with: those of the training programs of the plan times."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from random import Random
from typing import NamedTuple

from hlograph.corpus import kernel_times, plan_times

_CONFIGURATION = re.compile(r", kind=k\w+|, backend_config=\{.*\}")

# Of ten families, one is for validation and two are for the test.
_VALIDATION, _TEST, _OF = 1, 2, 10


class Origin(NamedTuple):
    """A kernel of a program.

    Attributes:
        text: HLO text (``hlograph.profiling.kernel_modules``).
        family: Family of the programs that have it most often.
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

    Equal kernels have equal texts, without what plans decide about them (``unconfigured``).
    """
    times = plan_times.load("validation", "test")
    numbers = {kernel.number for plan in times.plans for kernel in plan.kernels}
    return frozenset(unconfigured(times.kernels[number]) for number in numbers)


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
        if text.startswith("HloModule") and unconfigured(text) not in held_out:
            (family, _), *_ = counts.most_common(1)
            by_family[family].append(Origin(text, family, split_of(counts)))
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


def split_of(families: Iterable[str]) -> kernel_times.Split:
    """Returns the split of a kernel: the one that all of its families are in, otherwise train."""
    splits: set[kernel_times.Split] = {_split_of_family(family) for family in families}
    return splits.pop() if len(splits) == 1 else "train"


def _split_of_family(family: str) -> kernel_times.Split:
    place = int.from_bytes(hashlib.sha256(family.encode()).digest()[:4], "big") % _OF
    if place < _VALIDATION:
        return "validation"
    return "test" if place < _VALIDATION + _TEST else "train"


def _in_turns(by_family: dict[str, list[Origin]], seed: int) -> list[Origin]:
    """Returns one kernel of each family, then another one of each, and so on."""
    random = Random(seed)
    turns: list[tuple[int, int, Origin]] = []
    for number, (_, kernels) in enumerate(sorted(by_family.items())):
        random.shuffle(kernels)
        turns += [(turn, number, kernel) for turn, kernel in enumerate(kernels)]
    return [kernel for *_, kernel in sorted(turns, key=lambda item: item[:2])]
