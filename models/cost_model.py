"""A learned cost model: predicts the seconds of kernels, and of plans that are made of them.

The seconds of a program on a CPU are nearly the sum of those of its kernels, which run one after
the other. So the network encodes kernels, each distinct one once, and a plan's time is the sum of
its kernels' (Kaufman et al. 2021, "A learned performance model for tensor processing units",
arXiv:2008.01040). It is trained on the times of kernels, and to rank the plans of a program.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.config import Condition, CostModelConfig
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from models.refined_graphs import RefinedGraphs

_OUTSIDE = 1e-5
"""Seconds of a run outside of kernels, before training."""


class PlanBatch(NamedTuple):
    """Plans as sums over kernels.

    Attributes:
        kernel: int64 ``[R]``, number of the kernel of each row in the store and in ``numbers``.
        flags: int64 ``[R]``, row of the table of flags.
        plan: int64 ``[S]``, ascending: plan of each summand.
        row: int64 ``[S]``, row whose seconds are the summand.
        log_calls: float32 ``[S]``, logarithm of the number of its calls.
        num_plans: Number of plans.
    """

    kernel: Tensor
    flags: Tensor
    plan: Tensor
    row: Tensor
    log_calls: Tensor
    num_plans: int


class CostModel(nn.Module):
    """Predicts the logarithm of seconds, and what decisions about a kernel bring.

    Args:
        schema: Schema of the kernels' graphs.
        num_numbers: Number of numbers about a kernel. The one at ``prior`` is a prediction of the
            logarithm of its seconds, which the network corrects.
        num_flags: Width of the table of flags.
        prior: Index of that number.
        config: Shape of the network.
        num_decisions: Width of the table of decisions; 0 predicts nothing of them.
    """

    def __init__(
        self,
        schema: GraphSchema,
        num_numbers: int,
        num_flags: int,
        prior: int,
        config: CostModelConfig,
        num_decisions: int = 0,
    ) -> None:
        super().__init__()
        self.prior = prior
        self.conditions = config.conditions
        self.encoder = GATEncoder(schema, config.gat)
        width = config.hidden
        self.numbers = nn.Linear(num_numbers, width)
        self.vectors = nn.Linear(self.encoder.width, width)
        self.flags = nn.Linear(num_flags, width)
        self.head = _head(config, len(config.conditions))
        self.decisions = self.gain = None
        if num_decisions:
            self.decisions = nn.Linear(num_decisions, width)
            self.gain = _head(config, 1)
        self.log_outside = nn.Parameter(torch.tensor(_OUTSIDE).log())

    def kernel_vectors(self, states: RefinedGraphs, numbers: Tensor, which: Tensor) -> Tensor:
        """Encodes kernels, float32 ``[len(which), config.hidden]``.

        Args:
            states: Graphs of the kernels.
            numbers: float32 ``[len(which), N]``, for these kernels.
            which: int64 ``[D]``, numbers of the graphs.
        """
        return self.vectors(self.encoder(states, which)) + self.numbers(numbers)

    def log_seconds(self, vectors: Tensor, numbers: Tensor, flags: Tensor) -> Tensor:
        """Predicts one call of kernels, float32 ``[R, len(conditions)]``.

        Args:
            vectors: Result of ``kernel_vectors``, for each of R kernels.
            numbers: float32 ``[R, N]``.
            flags: float32 ``[R, num_flags]``, flags that each is compiled with.
        """
        return numbers[:, self.prior, None] + self.head(vectors + self.flags(flags))

    def log_gains(self, vectors: Tensor, decisions: Tensor) -> Tensor:
        """Predicts the logarithms of the ratios default / decision, float32 ``[G]``.

        Args:
            vectors: float32 ``[G, config.hidden]``, of the kernels as they are by default.
            decisions: float32 ``[G, num_decisions]``.
        """
        assert self.decisions is not None
        assert self.gain is not None
        return self.gain(vectors + self.decisions(decisions)).squeeze(1)

    def of_batch(
        self, states: RefinedGraphs, numbers: Tensor, flags: Tensor, batch: PlanBatch
    ) -> tuple[Tensor, Tensor]:
        """Predicts one call of each row's kernel.

        Args:
            states: Graphs of the kernels.
            numbers: float32 ``[K, N]``, for each kernel.
            flags: float32 ``[F, num_flags]``.
            batch: The rows.

        Returns:
            float32 ``[R, len(conditions)]``, and the vectors, float32 ``[R, config.hidden]``.
        """
        distinct, place = batch.kernel.unique(return_inverse=True)
        vectors = self.kernel_vectors(states, numbers[distinct], distinct)[place]
        return self.log_seconds(vectors, numbers[batch.kernel], flags[batch.flags]), vectors

    def plans(self, log_seconds: Tensor, batch: PlanBatch, condition: Condition) -> Tensor:
        """Predicts the logarithm of the seconds of plans, float32 ``[num_plans]``.

        Args:
            log_seconds: The first result of ``of_batch``.
            batch: The plans.
            condition: Condition of the run; within programs, there are seconds outside of kernels.
        """
        column = log_seconds[:, self.conditions.index(condition)]
        summands = (column[batch.row] + batch.log_calls).exp()
        outside = self.log_outside.exp() if condition == "within" else summands.new_zeros(())
        return outside.expand(batch.num_plans).index_add(0, batch.plan, summands).log()


def _head(config: CostModelConfig, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ReLU(),
        nn.Dropout(config.dropout),
        nn.Linear(config.hidden, config.hidden),
        nn.ReLU(),
        nn.Linear(config.hidden, outputs),
    )
