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

from models.config import CostModelConfig
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
    """Predicts the logarithm of seconds.

    Args:
        schema: Schema of the kernels' graphs.
        num_numbers: Number of numbers about a kernel; the one at ``prior`` is a prediction of the
            logarithm of its seconds, which the network corrects.
        num_flags: Width of the table of flags.
        prior: Index of that number.
        config: Shape of the network.
    """

    def __init__(
        self,
        schema: GraphSchema,
        num_numbers: int,
        num_flags: int,
        prior: int,
        config: CostModelConfig,
    ) -> None:
        super().__init__()
        self.prior = prior
        self.encoder = GATEncoder(schema, config.gat)
        width = config.hidden
        self.numbers = nn.Linear(num_numbers, width)
        self.vectors = nn.Linear(self.encoder.width, width)
        self.flags = nn.Linear(num_flags, width)
        self.head = nn.Sequential(
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 1),
        )
        self.log_outside = nn.Parameter(torch.tensor(_OUTSIDE).log())

    def kernel_vectors(self, states: RefinedGraphs, numbers: Tensor, which: Tensor) -> Tensor:
        """Encodes kernels, float32 ``[len(which), config.hidden]``.

        Args:
            states: Graphs of the kernels.
            numbers: float32 ``[len(which), num_numbers]``, for these kernels.
            which: int64 ``[D]``, numbers of the graphs.
        """
        return self.vectors(self.encoder(states, which)) + self.numbers(numbers)

    def log_seconds(self, vectors: Tensor, numbers: Tensor, flags: Tensor) -> Tensor:
        """Predicts one call of kernels, float32 ``[R]``.

        Args:
            vectors: Result of ``kernel_vectors``, for each of R kernels.
            numbers: float32 ``[R, num_numbers]``.
            flags: float32 ``[R, num_flags]``, flags that each is compiled with.
        """
        hidden = vectors + self.flags(flags)
        return numbers[:, self.prior] + self.head(hidden).squeeze(1)

    def of_batch(
        self, states: RefinedGraphs, numbers: Tensor, flags: Tensor, batch: PlanBatch
    ) -> Tensor:
        """Predicts one call of each row's kernel, float32 ``[R]``.

        Args:
            states: Graphs of the kernels.
            numbers: float32 ``[K, num_numbers]``, for each kernel.
            flags: float32 ``[F, num_flags]``.
            batch: The rows.
        """
        distinct, place = batch.kernel.unique(return_inverse=True)
        vectors = self.kernel_vectors(states, numbers[distinct], distinct)
        return self.log_seconds(vectors[place], numbers[batch.kernel], flags[batch.flags])

    def plans(self, log_seconds: Tensor, batch: PlanBatch) -> Tensor:
        """Predicts the logarithm of the seconds of plans, float32 ``[num_plans]``.

        Args:
            log_seconds: Result of ``log_seconds``.
            batch: The plans.
        """
        summands = (log_seconds[batch.row] + batch.log_calls).exp()
        outside = self.log_outside.exp().expand(batch.num_plans)
        return outside.index_add(0, batch.plan, summands).log()
