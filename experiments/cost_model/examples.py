"""Examples of the cost model: plans and kernels of the data sets, as tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.cost_model.decided import words_of_decided
from hlograph.corpus import kernel_times, plan_times
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel
from hlograph.corpus.plan_times import PlanTime, PlanTimes, renumbered
from hlograph.profiling.kernel_inputs import LAYOUT_FEATURES, KernelInputs, kernel_inputs
from hlograph.profiling.plan_words import decision_words, flag_words
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


class WordTable:
    """Sets of words as rows of ones and zeros, a column for each word.

    Args:
        columns: The columns; other words have none.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self.columns = tuple(columns)
        self._rows: dict[frozenset[str], int] = {}

    @classmethod
    def of(cls, words: Iterable[Iterable[str]]) -> WordTable:
        """Returns the table with a column for each word of some sets."""
        return cls(sorted({word for of_set in words for word in of_set}))

    def row(self, words: Iterable[str]) -> int:
        """Returns the number of a set's row."""
        return self._rows.setdefault(frozenset(words), len(self._rows))

    def table(self) -> Tensor:
        """Returns the rows so far, float32 ``[F, len(columns)]``."""
        rows = [[float(word in row) for word in self.columns] for row in self._rows]
        return torch.tensor(rows, dtype=torch.float32).reshape(len(rows), len(self.columns))


@dataclass
class Kernels:
    """Graphs and numbers of distinct kernels.

    Attributes:
        states: The graphs, by number.
        numbers: float32 ``[K, len(number_names())]``.
    """

    states: RefinedGraphs
    numbers: Tensor

    @classmethod
    def of(cls, texts: Iterable[str], states: RefinedGraphs) -> Kernels:
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


class Alone(NamedTuple):
    """Variants of a kernel alone, of which the first is jaxlib's default.

    Attributes:
        log_cold: float32 ``[num_plans]``, logarithm of the seconds after the caches were filled
            with other data.
        decisions: int64 ``[num_plans]``, row of the table of decisions.
    """

    log_cold: Tensor
    decisions: Tensor


@dataclass(frozen=True)
class ProgramExamples:
    """Plans of one program.

    Attributes:
        name: Name of the program.
        batch: The plans.
        rows: The rows of the batch.
        log_ratios: float32 ``[num_plans]``, logarithm of the median ratio default / plan.
        plans: The plans themselves.
        alone: What is known of the variants of a kernel alone; None for plans of whole programs.
    """

    name: str
    batch: PlanBatch
    rows: Rows
    log_ratios: Tensor
    plans: Sequence[PlanTime]
    alone: Alone | None = None

    @cached_property
    def log_seconds(self) -> Tensor:
        """Logarithm of the seconds of the plans, without the drift of the machine."""
        default = median(plan.default_seconds for plan in self.plans)
        return float(np.log(default)) - self.log_ratios


class Tables(NamedTuple):
    """Tables of what plans have beside kernels.

    Attributes:
        flags: Their flags.
        decisions: Their decisions.
    """

    flags: WordTable
    decisions: WordTable

    @classmethod
    def of(
        cls,
        plans: Sequence[PlanTime],
        kernels: Sequence[MeasuredKernel] = (),
        decided: Iterable[str] = (),
    ) -> Tables:
        """Returns tables with the columns that some plans, and kernels alone, need.

        Args:
            plans: The plans.
            kernels: The kernels alone.
            decided: More words of decisions.
        """
        variants = [variant for kernel in kernels for variant in kernel.variants]
        words = [decision_words(variant.decisions) for variant in variants]
        return cls(
            WordTable.of(flag_words(each.flags) for each in (*plans, *variants)),
            WordTable.of([*words, decided]),
        )


def examples(times: PlanTimes, tables: Tables) -> list[ProgramExamples]:
    """Returns the examples of each program, and enters their flags in a table."""
    return [_program(name, plans, tables.flags) for name, plans in times.by_program().items()]


def alone_examples(kernels: Sequence[MeasuredKernel], tables: Tables) -> list[ProgramExamples]:
    """Returns the examples of each kernel of the bank, as a program of its own.

    Args:
        kernels: The kernels.
        tables: Tables of flags and decisions; those of the variants are entered.
    """
    found = []
    for number, kernel in enumerate(kernels):
        cold = [math.log(variant.cold_seconds) for variant in kernel.variants]
        rows = [tables.decisions.row(decision_words(v.decisions)) for v in kernel.variants]
        program = _program(f"{number}", alone_plans(kernel, f"{number}"), tables.flags)
        alone = Alone(torch.tensor(cold, dtype=torch.float32), torch.tensor(rows))
        found.append(replace(program, alone=alone))
    return found


def alone_plans(kernel: MeasuredKernel, name: str) -> list[PlanTime]:
    """Returns the variants of a kernel as plans of a program of that name."""
    default = kernel.variants[0]
    return [
        PlanTime(
            program=name,
            decisions=variant.decisions,
            flags=variant.flags,
            ratios=tuple(a / b for a, b in zip(default.warm, variant.warm, strict=True)),
            seconds=variant.seconds,
            default_seconds=default.seconds,
            compile_seconds=variant.compile_seconds,
            memory=0,
            accounted=1.0,
            outside_seconds=0.0,
            kernels=variant.kernels,
        )
        for variant in kernel.variants
    ]


def _program(name: str, plans: Sequence[PlanTime], flags: WordTable) -> ProgramExamples:
    usual = median(plan.default_seconds for plan in plans)
    rows: dict[tuple[int, int], int] = {}
    seconds: list[list[float]] = []
    shares: list[list[float]] = []
    summands: list[tuple[int, int, float]] = []
    for number, plan in enumerate(plans):
        drift = plan.default_seconds / usual
        flag_row = flags.row(flag_words(plan.flags))
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


class TableColumns(NamedTuple):
    """Columns of the tables that a model was, or is to be, trained on.

    Attributes:
        flags: Columns of the table of flags.
        decisions: Columns of the table of decisions; none if it predicts nothing of them.
    """

    flags: tuple[str, ...]
    decisions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Data:
    """A data set as examples.

    Attributes:
        kernels: Texts of all kernels.
        training: Programs to learn from.
        held_out: Programs to compare models on.
        columns: Columns of the tables, those of the programs to learn from.
        flags: The table of flags.
        decisions: The table of decisions.
        decided: Plans that differ by one decision to learn from, by the names of their programs.
    """

    kernels: Sequence[str]
    training: Sequence[ProgramExamples]
    held_out: Sequence[ProgramExamples]
    columns: TableColumns
    flags: Tensor
    decisions: Tensor
    decided: Mapping[str, Sequence[PlanTime]] = field(default_factory=dict)

    @property
    def whole(self) -> list[ProgramExamples]:
        """Whole programs to learn from."""
        return [program for program in self.training if program.alone is None]

    @property
    def alone(self) -> list[ProgramExamples]:
        """Kernels alone to learn from."""
        return [program for program in self.training if program.alone is not None]


def load_data(
    folder: Path | None = None,
    learn_from: Sequence[plan_times.Split] = ("train",),
    bank: Path | None = None,
    compare_on: Sequence[plan_times.Split] = ("validation", "test"),
    decided: Path | None = None,
    isa: str | None = None,
) -> Data:
    """Loads the data set of plan times as examples.

    Args:
        folder: Folder of the data set; None takes the one of the corpus.
        learn_from: Splits to learn from.
        bank: Folder of a bank of kernels, whose train split is learned from, too.
        compare_on: Splits to compare models on.
        decided: Folder of plans that differ by one decision, whose train split is learned from,
            too.
        isa: Instruction set of the kernels of the bank; None takes that of most.

    Raises:
        HloError: There is no data set, or the bank has no kernels of that instruction set.
    """
    learned = plan_times.load(*learn_from, folder=folder)
    others = plan_times.load(*compare_on, folder=folder)
    alone = KernelTimes((), ())
    if bank:
        alone = kernel_times.load("train", folder=bank)
        alone = alone.timed_on(alone.usual(isa))
    single = plan_times.load("train", folder=decided) if decided else PlanTimes((), ())
    tables = Tables.of(
        (*learned.plans, *single.plans), alone.measured, words_of_decided(single.plans)
    )
    second = len(learned.kernels)
    third = second + len(single.kernels)
    behind = [
        replace(plan, kernels=renumbered(plan.kernels, lambda n: second + n))
        for plan in single.plans
    ]
    training, held_out = (
        [program for program in of_split if len(program.plans) >= _LEAST_PLANS]
        for of_split in (
            examples(learned, tables) + examples(PlanTimes((), behind), tables),
            examples(others, tables),
        )
    )
    training += alone_examples([k.renumbered(lambda n: third + n) for k in alone.measured], tables)
    return Data(
        [*learned.kernels, *single.kernels, *alone.kernels],
        training,
        held_out,
        TableColumns(tables.flags.columns, tables.decisions.columns),
        tables.flags.table(),
        tables.decisions.table(),
        single.by_program(),
    )
