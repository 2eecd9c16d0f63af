"""The data set of kernel times: what kernels, as they are and with a decision each, took.

>>> from hlograph.corpus import kernel_times
>>> times = kernel_times.load("train", folder="runs/kernel_times")
>>> kernel = times.measured[0]
>>> default, *others = kernel.variants
>>> [(variant.decisions, default.seconds / variant.seconds) for variant in others]
>>> hlograph.parse(times.kernels[default.kernels[0].number])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from hlograph.corpus.json_lines import load_splits
from hlograph.corpus.plan_times import RunKernel, renumbered
from hlograph.errors import HloError
from hlograph.storage.locations import Location

Split: TypeAlias = Literal["train", "validation", "test"]
"""Splits of the data set, which have no family of programs in common. All are families that
models of plans may learn from: none is a held-out family of the speed set."""

SPLITS: tuple[Split, ...] = get_args(Split)
"""All splits."""

FOLDER = "kernel_times"
"""Folder of the data set in the corpus."""

_OF_VARIANTS = ("decisions", "flags", "warm", "cold", "compile_seconds", "kernels")


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """A kernel as one decision has it compiled.

    Attributes:
        decisions: The decision: values of knobs, by their names (``hlograph.plans.knobs``). Empty
            for jaxlib's default.
        flags: Flags of the compilation.
        warm: Seconds of a run whose operands are in the caches, for each turn.
        cold: The same of runs before which the caches were filled with other data.
        compile_seconds: Seconds of the compilation.
        kernels: What jaxlib made of it, in the order of the schedule: several kernels where the
            decision takes one apart. Their seconds are those of the warm runs.
    """

    decisions: Mapping[str, str]
    flags: Mapping[str, Any]
    warm: tuple[float, ...]
    cold: tuple[float, ...]
    compile_seconds: float
    kernels: tuple[RunKernel, ...]

    @property
    def seconds(self) -> float:
        """Median seconds of a warm run."""
        return median(self.warm)

    @property
    def cold_seconds(self) -> float:
        """Median seconds of a cold run."""
        return median(self.cold)

    @property
    def longest(self) -> RunKernel:
        """The kernel that takes longest in a run."""
        return max(self.kernels, key=lambda kernel: kernel.seconds or 0.0)


@dataclass(frozen=True, slots=True)
class MeasuredKernel:
    """A kernel with its variants, which were timed in turns.

    Attributes:
        origin: First 16 hexadecimal digits of the SHA-256 of the kernel's text in
            ``hlograph.corpus.plan_times`` that it comes from.
        family: Family of the program that it was cut out of.
        change: What was changed of it, by kind: ``sizes``, ``types``, ``turned``. Empty for the
            kernel as it is in its program.
        machine: Digest of the machine (``hlograph.storage.machine``). Compare times of one machine
            only.
        isa: Widest instruction set of the compilation, such as ``avx512``.
        load: Load of the machine by other programs while it was timed, from 0 to 1.
        variants: The variants; the first is jaxlib's default.
    """

    origin: str
    family: str
    change: Mapping[str, Any]
    machine: str
    isa: str
    load: float
    variants: tuple[KernelVariant, ...]

    def renumbered(self, number: Callable[[int], int]) -> MeasuredKernel:
        """Returns the kernel with other numbers of texts.

        Args:
            number: Returns the new number of a text.
        """
        return replace(
            self,
            variants=tuple(
                replace(v, kernels=renumbered(v.kernels, number)) for v in self.variants
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object, with the variants and kernels in columns."""
        content: dict[str, Any] = {
            name: getattr(self, name) for name in self.__slots__ if name != "variants"
        }
        for name in _OF_VARIANTS:
            content[name] = [getattr(variant, name) for variant in self.variants]
        content["kernels"] = [
            [list(column) for column in zip(*kernels, strict=True)]
            for kernels in content["kernels"]
        ]
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> MeasuredKernel:
        """Returns the kernel that ``to_json`` wrote."""
        columns = zip(*(content.pop(name) for name in _OF_VARIANTS), strict=True)
        return cls(
            **content,
            variants=tuple(
                KernelVariant(
                    decisions,
                    flags,
                    tuple(warm),
                    tuple(cold),
                    compile_seconds,
                    tuple(map(RunKernel, *kernels)) if kernels else (),
                )
                for decisions, flags, warm, cold, compile_seconds, kernels in columns
            ),
        )


class TimedOn(NamedTuple):
    """A machine and an instruction set.

    Attributes:
        machine: Digest of the machine.
        isa: The instruction set.
    """

    machine: str
    isa: str


@dataclass(frozen=True)
class KernelTimes:
    """Kernels of one or several splits.

    Attributes:
        kernels: HLO text of each kernel that jaxlib made, as a module of its own; of loops and
            branches whose bodies have kernels of their own, the opcode.
        measured: The kernels that were measured.
    """

    kernels: Sequence[str]
    measured: Sequence[MeasuredKernel]

    def usual(self, isa: str | None = None) -> TimedOn:
        """Returns what most kernels were timed on.

        Args:
            isa: The instruction set, such as ``avx512``; None takes any.

        Raises:
            HloError: There are no kernels of it.
        """
        counts = Counter(TimedOn(kernel.machine, kernel.isa) for kernel in self.measured)
        of_set = {where: count for where, count in counts.items() if isa in (None, where.isa)}
        if not of_set:
            sets = ", ".join(sorted({where.isa for where in counts})) or "none"
            raise HloError(f"expected kernels of the instruction set {isa or 'any'}, found {sets}")
        return max(of_set, key=of_set.__getitem__)

    def timed_on(self, where: TimedOn) -> KernelTimes:
        """Returns the kernels of one machine and instruction set, as times of several do not mix.

        Raises:
            HloError: There are none.
        """
        kernels = [k for k in self.measured if (k.machine, k.isa) == where]
        if not kernels:
            raise HloError(f"expected kernels that were timed on {where}, found none")
        return KernelTimes(self.kernels, kernels)


def load(*splits: Split, folder: Location | None = None) -> KernelTimes:
    """Loads the data set.

    Args:
        splits: Splits to load; none takes all.
        folder: Folder of the data set; None is that of the corpus.

    Raises:
        HloError: There is no data set at its location.
        DamagedFileError: A file is damaged.
    """
    kernels, contents = load_splits(FOLDER, folder, splits or SPLITS)
    return KernelTimes(kernels, [MeasuredKernel.from_json(content) for content in contents])
