"""Examples of the cost model: plans and kernels of the data set, as tensors."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.cost_model.kernel_inputs import LAYOUT_FEATURES, KernelInputs, kernel_inputs
from hlograph.corpus import plan_times
from hlograph.corpus.plan_times import PlanTime, PlanTimes
from models.cost_model import PlanBatch
from models.graph_view import GraphSchema
from models.refined_graphs import RefinedGraphs

_LEAST_PLANS = 10
"""Plans that a program must have: an order of few says little."""

_LEAST = 1e-8
"""Seconds of a kernel's call that are told from none."""


def schema() -> GraphSchema:
    """Returns the schema of kernels' graphs."""
    base = GraphSchema.of_hlograph()
    return replace(base, node_features=base.node_features + len(LAYOUT_FEATURES))


class FlagTable:
    """Sets of flags as rows of ones and zeros, a column for each flag with its value.

    Args:
        columns: The columns; flags with other values have none.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._rows: dict[frozenset[str], int] = {}

    @classmethod
    def of(cls, plans: Iterable[PlanTime]) -> "FlagTable":
        """Returns the table with a column for each flag and value of some plans."""
        return cls(sorted({word for plan in plans for word in _words(plan.flags)}))

    def row(self, flags: Mapping[str, object]) -> int:
        """Returns the number of a set's row."""
        return self._rows.setdefault(frozenset(_words(flags)), len(self._rows))

    def table(self) -> Tensor:
        """Returns the rows so far, float32 ``[F, len(columns)]``."""
        rows = [[float(word in row) for word in self.columns] for row in self._rows]
        return torch.tensor(rows, dtype=torch.float32).reshape(len(rows), len(self.columns))


def _words(flags: Mapping[str, object]) -> list[str]:
    return [f"{name}={json.dumps(value)}" for name, value in flags.items()]


@dataclass
class Kernels:
    """Graphs and numbers of distinct kernels.

    Attributes:
        states: The graphs, by number.
        numbers: float32 ``[K, len(NUMBERS)]``.
    """

    states: RefinedGraphs
    numbers: Tensor

    @classmethod
    def of(cls, texts: Iterable[str], states: RefinedGraphs) -> "Kernels":
        """Returns kernels by their texts, whose graphs are added to an empty store."""
        inputs: list[KernelInputs] = [kernel_inputs(text) for text in texts]
        states.add(inputs)
        return cls(states, torch.from_numpy(np.stack([kernel.numbers for kernel in inputs])))


class Rows(NamedTuple):
    """Kernels of a program with flags, and their times.

    Attributes:
        log_seconds: float32 ``[R]``, logarithm of the median seconds of a call, without the drift
            of the machine; NaN where no time is known.
        weight: float32 ``[R]``, mean share of a plan's time.
    """

    log_seconds: Tensor
    weight: Tensor


@dataclass(frozen=True)
class ProgramExamples:
    """Plans of one program.

    Attributes:
        name: Name of the program.
        batch: The plans.
        rows: The rows of the batch.
        log_ratios: float32 ``[num_plans]``, logarithm of the median ratio default / plan.
        plans: The plans themselves.
    """

    name: str
    batch: PlanBatch
    rows: Rows
    log_ratios: Tensor
    plans: Sequence[PlanTime]

    @cached_property
    def log_seconds(self) -> Tensor:
        """Logarithm of the seconds of the plans, without the drift of the machine."""
        default = median(plan.default_seconds for plan in self.plans)
        return float(np.log(default)) - self.log_ratios


def examples(times: PlanTimes, flags: FlagTable) -> list[ProgramExamples]:
    """Returns the examples of each program, and enters their flags in a table."""
    return [_program(name, plans, flags) for name, plans in times.by_program().items()]


def _program(name: str, plans: Sequence[PlanTime], flags: FlagTable) -> ProgramExamples:
    usual = median(plan.default_seconds for plan in plans)
    rows: dict[tuple[int, int], int] = {}
    seconds: list[list[float]] = []
    shares: list[list[float]] = []
    summands: list[tuple[int, int, float]] = []
    for number, plan in enumerate(plans):
        drift, flag_row = plan.default_seconds / usual, flags.row(plan.flags)
        for kernel in plan.kernels:
            row = rows.setdefault((kernel.number, flag_row), len(rows))
            if row == len(seconds):
                seconds.append([])
                shares.append([])
            summands.append((number, row, kernel.calls))
            if kernel.seconds is not None:
                seconds[row].append(kernel.seconds / kernel.calls / drift)
                shares[row].append(kernel.seconds / plan.seconds)
    log_seconds = [np.log(max(median(s), _LEAST)) if s else np.nan for s in seconds]
    weights = [float(np.mean(s)) if s else 0.0 for s in shares]
    pairs = torch.tensor(list(rows), dtype=torch.int64).reshape(-1, 2)
    plan_of, row_of, calls = zip(*summands, strict=True)
    batch = PlanBatch(
        kernel=pairs[:, 0].contiguous(),
        flags=pairs[:, 1].contiguous(),
        plan=torch.tensor(plan_of),
        row=torch.tensor(row_of),
        log_calls=torch.tensor(calls, dtype=torch.float32).clamp(min=1e-3).log(),
        num_plans=len(plans),
    )
    return ProgramExamples(
        name,
        batch,
        Rows(torch.tensor(log_seconds, dtype=torch.float32), torch.tensor(weights)),
        torch.tensor([np.log(plan.ratio) for plan in plans], dtype=torch.float32),
        plans,
    )


@dataclass(frozen=True)
class Data:
    """The data set as examples.

    Attributes:
        kernels: Texts of all kernels.
        training: Programs to learn from.
        held_out: Programs to compare models on.
        columns: Columns of the table of flags, those of the programs to learn from.
        flags: The table of flags.
    """

    kernels: Sequence[str]
    training: Sequence[ProgramExamples]
    held_out: Sequence[ProgramExamples]
    columns: tuple[str, ...]
    flags: Tensor


def load_data(
    folder: Path | None = None, learn_from: Sequence[plan_times.Split] = ("train",)
) -> Data:
    """Loads the data set of plan times as examples.

    Args:
        folder: Folder of the data set; None takes the one of the corpus.
        learn_from: Splits to learn from. Those that models are compared on are ``validation`` and
            ``test``.

    Raises:
        HloError: There is no data set.
    """
    learned = plan_times.load(*learn_from, folder=folder)
    others = plan_times.load("validation", "test", folder=folder)
    flags = FlagTable.of(learned.plans)
    training, held_out = (
        [program for program in examples(times, flags) if len(program.plans) >= _LEAST_PLANS]
        for times in (learned, others)
    )
    return Data(learned.kernels, training, held_out, flags.columns, flags.table())
