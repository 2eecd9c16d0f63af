"""The data set of plan times: what plans and their kernels took on XLA:CPU.

>>> from hlograph.corpus import plan_times
>>> times = plan_times.load("train")
>>> times.plans[0].ratio, times.plans[0].decisions
>>> kernel = times.plans[0].kernels[0]
>>> hlograph.parse(times.kernels[kernel.number]), kernel.seconds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from hlograph.corpus.json_lines import load_splits
from hlograph.storage.locations import Location

Split: TypeAlias = Literal["train", "validation", "test", "small"]
"""The first three are those of the speed set, which have no family in common. ``small`` has
programs of the other sets of the corpus, of no family of ``validation`` and ``test``."""

SPLITS: tuple[Split, ...] = get_args(Split)
"""All splits."""

FOLDER = "plan_times"
"""Folder of the data set in the corpus."""

DECISIONS = "decision_times"
"""Folder of the data set of plans with one decision each."""


class RunKernel(NamedTuple):
    """A kernel in a run of a plan.

    Attributes:
        number: Index in ``PlanTimes.kernels``.
        calls: Number of times that it runs in a run.
        seconds: Seconds of all calls in a run; None if XLA's profiler did not see it.
    """

    number: int
    calls: float
    seconds: float | None


def renumbered(kernels: Iterable[RunKernel], number: Callable[[int], int]) -> tuple[RunKernel, ...]:
    """Returns kernels with other numbers, as behind those of another data set.

    Args:
        kernels: The kernels.
        number: Returns the new number of a kernel.
    """
    return tuple(kernel._replace(number=number(kernel.number)) for kernel in kernels)


@dataclass(frozen=True, slots=True)
class PlanTime:
    """One plan of a program, as it was compiled and run.

    Attributes:
        program: Name of the program in the corpus.
        decisions: The decisions: values of knobs, by their names (``hlograph.plans.knobs``).
        flags: Flags of the compilation.
        ratios: Ratios default / plan of runs in turns.
        seconds: Median seconds of a run.
        default_seconds: The same of jaxlib's default, in the same turns.
        compile_seconds: Seconds of the compilation.
        memory: Bytes of temporary buffers.
        accounted: Share of a run's time that the profiler saw, before the kernels' seconds were
            scaled to add up to a run.
        outside_seconds: Seconds of a run in no kernel.
        kernels: The kernels, in the order of the schedule.
    """

    program: str
    decisions: Mapping[str, str]
    flags: Mapping[str, Any]
    ratios: tuple[float, ...]
    seconds: float
    default_seconds: float
    compile_seconds: float
    memory: int
    accounted: float
    outside_seconds: float
    kernels: tuple[RunKernel, ...]

    @property
    def ratio(self) -> float:
        """Median of the ratios: how many times as fast as the default the plan is."""
        return median(self.ratios)

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object, with the kernels in columns."""
        content = {name: getattr(self, name) for name in self.__slots__}
        content["kernels"] = [list(column) for column in zip(*self.kernels, strict=True)]
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> PlanTime:
        """Returns the plan that ``to_json`` wrote."""
        columns, ratios = content.pop("kernels"), content.pop("ratios")
        kernels = tuple(map(RunKernel, *columns)) if columns else ()
        return cls(**content, ratios=tuple(ratios), kernels=kernels)


@dataclass(frozen=True)
class PlanTimes:
    """Plans of one or several splits.

    Attributes:
        kernels: HLO text of each kernel, as a module of its own; of loops and branches whose bodies
            have kernels of their own, the opcode.
        plans: The plans, those of a program one behind the other.
    """

    kernels: Sequence[str]
    plans: Sequence[PlanTime]

    def by_program(self) -> dict[str, list[PlanTime]]:
        """Returns the plans of each program."""
        grouped: dict[str, list[PlanTime]] = {}
        for plan in self.plans:
            grouped.setdefault(plan.program, []).append(plan)
        return grouped


def load(*splits: Split, folder: Location | None = None, name: str = FOLDER) -> PlanTimes:
    """Loads the data set.

    Args:
        splits: Splits to load; none takes all.
        folder: Folder of the data set; None is that of the corpus.
        name: Name of the data set in the corpus: ``FOLDER`` or ``DECISIONS``.

    Raises:
        HloError: There is no data set at its location.
        DamagedFileError: A file is damaged.
    """
    kernels, contents = load_splits(name, folder, splits or SPLITS)
    return PlanTimes(kernels, [PlanTime.from_json(content) for content in contents])
