"""Chooses the modules to measure: from the corpus where one is near, synthetic ones elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from benchmarks.settings import Settings
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.module import Module

NEAR = 1.25
"""Largest factor between the size asked for and the size of a module of the corpus."""


@dataclass(frozen=True)
class Subject:
    """Module to measure on."""

    size: int
    """Instructions asked for."""
    benchmark: corpus.Benchmark | None
    """The module's place in the corpus, or None if it is synthetic."""

    @cached_property
    def module(self) -> Module:
        """The module, which must not be changed."""
        if self.benchmark is not None:
            return self.benchmark.load()
        return Module.from_text(chain(self.size))

    @cached_property
    def text(self) -> str:
        """HLO text of the module."""
        return self.module.to_text()

    @property
    def column(self) -> str:
        """Heading of the module's column."""
        return f"{self.size:,}"

    @property
    def description(self) -> str:
        """Name, instructions and size of the text."""
        name = f"`{self.benchmark.name}`" if self.benchmark else "synthetic"
        return f"{name}, {self.module.op_count:,} instructions, {len(self.text) / 1e3:,.0f} KB"


@cache
def subject(size: int) -> Subject:
    """Returns the module for a size."""
    nearest = min(corpus.load(), key=lambda benchmark: _distance(benchmark, size))
    return Subject(size, nearest if _distance(nearest, size) <= math.log(NEAR) else None)


def described_by_size(sizes: Iterable[int]) -> dict[str, str]:
    """Describes the modules of sizes, by column."""
    return {subject(size).column: subject(size).description for size in sizes}


def names_near(size: int, count: int) -> list[str]:
    """Returns the names of the corpus' training modules that are nearest in size.

    Raises:
        HloError: The corpus has fewer within the factor `NEAR`.
    """
    train = sorted(corpus.load(split="train"), key=lambda b: (_distance(b, size), b.name))[:count]
    if len(train) < count or _distance(train[-1], size) > math.log(NEAR):
        raise HloError(
            f"expected {count} training modules of about {size} instructions, the corpus has "
            "fewer; ask for another size or for fewer modules"
        )
    return [benchmark.name for benchmark in train]


def described(names: list[str]) -> str:
    """Describes a set of modules in a few words."""
    counts = sorted(corpus.benchmark(name).op_count for name in names)
    return f"{len(names)} training modules of {counts[0]:,} to {counts[-1]:,} instructions"


def learning_subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns of groups that play on several modules of each size."""
    return {
        f"{size:,}": described(names_near(size, settings.modules))
        for size in settings.learning_sizes
    }


def chain(instructions: int) -> str:
    """Returns the text of a synthetic module with instructions in layers of eight."""
    lines = ["HloModule chain", "ENTRY e {", "  x0 = f32[8,8] parameter(0)"]
    for index in range(1, instructions - 1):
        operand = max(0, index - 1 - index % 8)
        opcode = ("add", "multiply", "maximum", "subtract")[index % 4]
        lines.append(f"  x{index} = f32[8,8] {opcode}(x{index - 1}, x{operand})")
    lines += [f"  ROOT r = f32[8,8] tanh(x{instructions - 2})", "}"]
    return "\n".join(lines)


def _distance(benchmark: corpus.Benchmark, size: int) -> float:
    return abs(math.log(benchmark.op_count / size))
