"""Training of the cost model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import smooth_l1_loss
from tqdm import tqdm

from experiments.cost_model.examples import (
    Alone,
    Data,
    Kernels,
    ProgramExamples,
    Rows,
    TableColumns,
    schema,
)
from experiments.cost_model.settings import TrainingConfig
from hlograph.profiling.kernel_inputs import NUMBERS, number_names
from models.config import CostModelConfig
from models.cost_model import CostModel, PlanBatch

_PRIOR = "log_alone"


class Batch(NamedTuple):
    """Plans of several programs, all of whole programs or all of kernels alone.

    Attributes:
        plans: The plans.
        rows: The rows of the kernels.
        program: int64 ``[num_plans]``, ascending: number of the program.
        first: int64 ``[num_plans]``, number of the first plan of the program, which is the default
            of a kernel alone.
        log_seconds: float32 ``[num_plans]``.
        log_ratios: float32 ``[num_plans]``.
        alone: Of kernels alone; None for whole programs.
    """

    plans: PlanBatch
    rows: Rows
    program: Tensor
    first: Tensor
    log_seconds: Tensor
    log_ratios: Tensor
    alone: Alone | None

    @property
    def decided(self) -> Tensor:
        """Boolean ``[num_plans]``: False for the default of each kernel alone."""
        return self.first != torch.arange(len(self.first))

    @classmethod
    def of(cls, programs: Sequence[ProgramExamples]) -> Batch:
        """Returns the plans of programs, one behind the other."""
        counts = torch.tensor([program.batch.num_plans for program in programs])
        plans = counts.cumsum(0) - counts
        rows = torch.tensor([len(program.batch.kernel) for program in programs])
        first_rows = rows.cumsum(0) - rows
        batches = [program.batch for program in programs]
        alone = [program.alone for program in programs if program.alone is not None]
        return cls(
            PlanBatch(
                torch.cat([batch.kernel for batch in batches]),
                torch.cat([batch.flags for batch in batches]),
                torch.cat([b.plan + first for b, first in zip(batches, plans, strict=True)]),
                torch.cat([b.row + first for b, first in zip(batches, first_rows, strict=True)]),
                torch.cat([batch.log_calls for batch in batches]),
                int(counts.sum()),
            ),
            Rows(*map(torch.cat, zip(*(program.rows for program in programs), strict=True))),
            torch.arange(len(programs)).repeat_interleave(counts),
            plans.repeat_interleave(counts),
            torch.cat([program.log_seconds for program in programs]),
            torch.cat([program.log_ratios for program in programs]),
            Alone(*map(torch.cat, zip(*alone, strict=True))) if alone else None,
        )


def new_model(columns: TableColumns, config: CostModelConfig) -> CostModel:
    """Returns a network with random parameters, for kernels as ``kernel_inputs`` makes them.

    Args:
        columns: Columns of its tables.
        config: Its shape.
    """
    return CostModel(
        schema(),
        len(number_names()),
        len(columns.flags),
        NUMBERS.index(_PRIOR),
        config,
        len(columns.decisions),
    )


def train(
    model: CostModel, kernels: Kernels, data: Data, config: TrainingConfig, seed: int
) -> None:
    """Trains a model.

    Args:
        model: The model.
        kernels: All kernels of the data set.
        data: The data set.
        config: Settings.
        seed: Seed of the order of the programs.
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), config.learning_rate, weight_decay=config.weight_decay
    )
    steps = config.epochs * sum(-(-len(part) // size) for part, size in _parts(data, config))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, config.learning_rate, steps, pct_start=0.1
    )
    model.train()
    bar = tqdm(_groups(data, config, generator), total=steps, unit="step", disable=None)
    for programs in bar:
        loss = _loss(model, kernels, data, Batch.of(programs), config)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix_str(f"loss {loss.item():.3f}", refresh=False)
    model.eval()


def _parts(data: Data, config: TrainingConfig) -> list[tuple[list[ProgramExamples], int]]:
    """Returns whole programs and kernels alone, each with the number of a step."""
    return [(data.whole, config.programs), (data.alone, config.alone)]


def _groups(
    data: Data, config: TrainingConfig, generator: torch.Generator
) -> Iterator[list[ProgramExamples]]:
    """Yields the programs of each step, those of an epoch in random order."""
    for _ in range(config.epochs):
        groups = []
        for part, size in _parts(data, config):
            order = torch.randperm(len(part), generator=generator).tolist()
            groups += [
                [part[number] for number in order[first : first + size]]
                for first in range(0, len(part), size)
            ]
        for number in torch.randperm(len(groups), generator=generator).tolist():
            yield groups[number]


def _loss(
    model: CostModel, kernels: Kernels, data: Data, batch: Batch, config: TrainingConfig
) -> Tensor:
    predicted, vectors = model.of_batch(kernels.states, kernels.numbers, data.flags, batch.plans)
    condition = "alone" if batch.alone else "within"
    column = predicted[:, model.conditions.index(condition)]
    rows, timed = batch.rows, batch.rows.log_seconds.isfinite()
    errors = smooth_l1_loss(column[timed], rows.log_seconds[timed], reduction="none")
    # A kernel of no time should not be wrong by orders of magnitude either.
    weights = rows.weight[timed].sqrt() + 0.01
    loss = config.kernels * (errors * weights).sum() / weights.sum()
    plans = model.plans(predicted, batch.plans, condition)
    loss = loss + config.listwise * listwise(
        plans, batch.log_seconds, config.temperature, batch.program
    )
    if batch.alone:
        loss = loss + smooth_l1_loss(plans, batch.log_seconds)
        if "cold" in model.conditions:
            cold = model.plans(predicted, batch.plans, "cold")
            loss = loss + config.cold * smooth_l1_loss(cold, batch.alone.log_cold)
        if model.decisions is not None:
            decisions = data.decisions[batch.alone.decisions]
            gains = log_gains(model, vectors, decisions, batch)
            loss = loss + config.gains * smooth_l1_loss(gains, batch.log_ratios)
    return loss


def log_gains(model: CostModel, vectors: Tensor, decisions: Tensor, batch: Batch) -> Tensor:
    """Predicts what the decision of each plan brings, from its default's kernels alone.

    Args:
        model: The model.
        vectors: float32 ``[R, config.hidden]``, the second result of ``CostModel.of_batch``.
        decisions: float32 ``[num_plans, D]``, the decisions of each plan.
        batch: The plans.
    """
    of_plans = vectors.new_zeros(batch.plans.num_plans, vectors.shape[1])
    of_plans = of_plans.index_add(0, batch.plans.plan, vectors[batch.plans.row])
    return model.log_gains(of_plans[batch.first], decisions)


def listwise(predicted: Tensor, measured: Tensor, temperature: float, program: Tensor) -> Tensor:
    """Returns the loss of rankings: the mean divergence of softmax distributions over plans.

    Fast plans are probable. This is the loss of ListNet (Cao et al. 2007, "Learning to rank: from
    pairwise approach to listwise approach") for the first place.

    Args:
        predicted: float32 ``[N]``, logarithm of seconds.
        measured: float32 ``[N]``, the same.
        temperature: Scale of both.
        program: int64 ``[N]``, number of the program of each plan, from 0.
    """
    programs = int(program.max()) + 1
    log_target = _log_softmax(-measured / temperature, program, programs)
    log_share = _log_softmax(-predicted / temperature, program, programs)
    return (log_target.exp() * (log_target - log_share)).sum() / programs


def _log_softmax(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """Returns logarithms of the softmax within each group."""
    most = values.detach().new_full((groups,), -torch.inf)
    most = most.scatter_reduce(0, group, values.detach(), "amax")
    shifted = values - most[group]
    total = values.new_zeros(groups).index_add(0, group, shifted.exp())
    return shifted - total.log()[group]
