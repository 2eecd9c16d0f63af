"""Predicted times of plans by a network that learned from times of kernels; it needs no torch.

    predict = LearnedKernels.load()
    kernels = kernel_modules(OptimizedModule.of(compiled.runtime_executable()))
    predict(kernels, {}).seconds

``experiments.cost_model`` trains such networks with torch (docs/cost-model.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.graph.dense import Dense
from hlograph.graph.edge_labels import POSITION_BUCKETS, edge_labels
from hlograph.graph.encoding import GraphEncoder
from hlograph.graph.refinement import Refinement
from hlograph.graph.vocabulary import EDGE_TYPES
from hlograph.graph.weighted_sums import WeightedEntries
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_inputs import (
    KERNEL_NODE_FEATURES,
    inputs_of_kernels,
    number_names,
)
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_predictor import KernelPredictor
from hlograph.profiling.learned_weights import LearnedWeights, TwoLayers
from hlograph.profiling.plan_words import decision_words, flag_words, word_table

Floats = NDArray[np.float32]


class _Kernel(NamedTuple):
    """A kernel as the heads see it."""

    vector: Floats
    prior: float


class LearnedKernels(KernelPredictor[LearnedWeights, _Kernel]):
    """Predicts each kernel by its graph, numbers about it, and flags.

    Args:
        weights: The network.

    Raises:
        ValueError: It knows kernels by other names than this hlograph, or its layers do not fit
            each other.
    """

    shipped = Path(__file__).with_name("learned_kernels.weights")
    advice = "train another: python -m experiments.cost_model train"

    def __init__(self, weights: LearnedWeights) -> None:
        weights.check()
        super().__init__(weights)
        self._nodes = [KERNEL_NODE_FEATURES.index(name) for name in weights.nodes]
        self._numbers = [number_names().index(name) for name in weights.numbers]
        self._prior = weights.numbers.index(weights.prior)
        self._within = weights.conditions.index("within")
        labels = len(EDGE_TYPES) * POSITION_BUCKETS
        self._graphs = Refinement(len(weights.encoder.layers), len(self._nodes), labels)
        self._encoder = GraphEncoder(self._graphs, weights.encoder)
        self._layers = {name: Dense(*layer) for name, layer in weights.layers.items()}
        self._heads = {name: _Head(head) for name, head in weights.heads.items()}

    @classmethod
    def _read(cls, path: Path) -> LearnedWeights:
        return LearnedWeights.load(path)

    def _log_seconds(
        self, seen: Sequence[_Kernel], flags: Mapping[str, FlagValue]
    ) -> NDArray[np.float64]:
        words = word_table([flag_words(flags)], self.weights.flags)
        vectors = np.array([kernel.vector for kernel in seen]) + self._layers["flags"](words)
        off = self._heads["seconds"](vectors)[:, self._within]
        return np.array([kernel.prior for kernel in seen], np.float64) + off

    def gains(self, kernel: KernelModule, decisions: Sequence[Mapping[str, str]]) -> list[float]:
        """Predicts what decisions about a kernel bring, without compiling them.

        Args:
            kernel: The kernel, as it is by default.
            decisions: Values of knobs, as in ``hlograph.corpus.kernel_times``.

        Returns:
            For each of them the ratio default / decision of the seconds: 2 is twice as fast.

        Raises:
            HloError: The network has not learned that.
            HloParseError: The text is no kernel.
        """
        if "gain" not in self._heads:
            raise HloError(
                "expected a cost model that predicts gains of decisions; "
                "python -m experiments.cost_model train --bank FOLDER trains one"
            )
        (known,) = self._seen([kernel])
        table = word_table(map(decision_words, decisions), self.weights.decisions)
        log_gains = self._heads["gain"](known.vector + self._layers["decisions"](table))
        return np.exp(log_gains[:, 0].astype(np.float64)).tolist()

    def _look(self, texts: Sequence[str]) -> list[_Kernel]:
        kernels = inputs_of_kernels(texts)
        colours = self._graphs.add(
            kernels.nodes.take(self._nodes, axis=1),
            kernels.edge_links,
            edge_labels(kernels.edges),
        )
        ones = np.ones(len(colours), np.float32)
        graphs = self._encoder.encode(WeightedEntries(kernels.offsets, colours, ones))
        numbers = kernels.numbers.take(self._numbers, axis=1)
        vectors = self._layers["graph"](graphs) + self._layers["numbers"](numbers)
        return list(map(_Kernel, vectors, numbers[:, self._prior].tolist()))


class _Head:
    """Two layers, with a ReLU before each."""

    def __init__(self, weights: TwoLayers) -> None:
        self._hidden, self._output = Dense(*weights.hidden), Dense(*weights.output)

    def __call__(self, vectors: Floats) -> Floats:
        hidden = self._hidden(np.maximum(vectors, 0))
        return self._output(np.maximum(hidden, 0))
