"""Networks that learn from the bank, and their predictions for the variants of other kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from experiments.cost_model.examples import (
    Data,
    Kernels,
    TableColumns,
    Tables,
    alone_examples,
)
from experiments.cost_model.settings import TrainingConfig
from experiments.cost_model.training import Batch, log_gains, new_model, train
from experiments.cost_model.trees import by_program
from hlograph.corpus.kernel_times import KernelTimes
from hlograph.profiling.kernel_inputs import kernel_inputs
from models.config import CostModelConfig
from models.cost_model import CostModel

Predicted = list[NDArray[np.float64]]
"""A number for each variant of each kernel that grows with its seconds."""

_RIDGE = 3.0
"""Examples without an effect that are added to those of each word."""

# Kernels whose variants are predicted at once.
_AT_ONCE = 256


class Network(NamedTuple):
    """A network that has learned, with all kernels as it sees them."""

    model: CostModel
    kernels: Kernels


def bank_data(learned: KernelTimes, held_out: KernelTimes) -> Data:
    """Returns kernels to learn from, and others to predict, as examples.

    Args:
        learned: Kernels to learn from.
        held_out: Kernels to predict, of the same data set.
    """
    measured = [*learned.measured, *held_out.measured]
    numbers = {k.number for m in measured for v in m.variants for k in v.kernels}
    place = {number: place for place, number in enumerate(sorted(numbers))}
    tables = Tables.of((), learned.measured)
    training, examples = (
        alone_examples([k.renumbered(place.__getitem__) for k in times.measured], tables)
        for times in (learned, held_out)
    )
    return Data(
        [learned.kernels[number] for number in place],
        training,
        examples,
        TableColumns(tables.flags.columns, tables.decisions.columns),
        tables.flags.table(),
        tables.decisions.table(),
    )


class BankLearning:
    """Networks that learn from kernels, and predict others.

    Args:
        data: The kernels as examples.

    Attributes:
        data: The same.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self._inputs = [kernel_inputs(text) for text in data.kernels]

    def trained(
        self,
        config: TrainingConfig,
        shape: CostModelConfig,
        seed: int,
        part: Sequence[int] | None = None,
    ) -> Network:
        """Returns a network that has learned.

        Args:
            config: Settings of its training.
            shape: Its shape.
            seed: Seed of its parameters and of the order of the kernels.
            part: Numbers of the kernels to learn from; None takes all.
        """
        data = self.data
        if part is not None:
            data = replace(data, training=[data.training[number] for number in part])
        torch.manual_seed(seed)
        model = new_model(self.data.columns, shape)
        states = model.encoder.store()
        states.add(self._inputs)
        network = Network(model, Kernels(states, self._numbers))
        train(*network, data, config, seed)
        return network

    def seconds(self, network: Network) -> Predicted:
        """Returns the predicted seconds of the variants, alone with operands in the caches."""

        def of_batch(batch: Batch, predicted: Tensor, _: Tensor) -> Tensor:
            return network.model.plans(predicted, batch.plans, "alone").exp()

        return self._predicted(network, of_batch)

    def gains(self, network: Network) -> Predicted:
        """Returns the predicted seconds of variants in those of the default.

        Of the variants only the decisions are seen, not what jaxlib made of them.
        """

        def of_batch(batch: Batch, _: Tensor, vectors: Tensor) -> Tensor:
            assert batch.alone is not None
            decisions = self.data.decisions[batch.alone.decisions]
            gains = log_gains(network.model, vectors, decisions, batch)
            return torch.where(batch.decided, -gains, 0.0).exp()

        return self._predicted(network, of_batch)

    @cached_property
    def _numbers(self) -> Tensor:
        return torch.from_numpy(np.stack([kernel.numbers for kernel in self._inputs]))

    @torch.inference_mode()
    def _predicted(
        self,
        network: Network,
        of_batch: Callable[[Batch, Tensor, Tensor], Tensor],
    ) -> Predicted:
        (model, kernels), examples = network, self.data.held_out
        predicted: Predicted = []
        for first in range(0, len(examples), _AT_ONCE):
            some = examples[first : first + _AT_ONCE]
            batch = Batch.of(some)
            rows = model.of_batch(kernels.states, kernels.numbers, self.data.flags, batch.plans)
            counts = [len(program.plans) for program in some]
            predicted += [p.double().numpy() for p in of_batch(batch, *rows).split(counts)]
        return predicted


def gains_of_words(data: Data) -> Predicted:
    """Returns the predicted seconds of variants in those of the default, by the decisions alone.

    It is a ridge regression of the logarithms of ratios over the words of decisions: what each word
    brings on average, whatever the kernel.

    Args:
        data: Kernels to learn from, and to predict.
    """
    batch = Batch.of(data.training)
    decided = batch.decided.numpy()
    words = _words(data, batch)[decided]
    regular = words.T @ words + _RIDGE * np.eye(words.shape[1])
    of_words = np.linalg.solve(regular, words.T @ batch.log_ratios.double().numpy()[decided])
    log_gains = _words(data, Batch.of(data.held_out)) @ of_words
    return by_program(np.exp(-log_gains), data.held_out)


def _words(data: Data, batch: Batch) -> NDArray[np.float64]:
    assert batch.alone is not None
    return data.decisions.double().numpy()[batch.alone.decisions.numpy()]
