"""Predicted times of plans by a network that learned from times of kernels; it needs no torch.

    predict = LearnedKernels.load()
    kernels = kernel_modules(OptimizedModule.of(compiled.runtime_executable()))
    predict(kernels, {}).seconds

``experiments.cost_model`` trains such networks with torch (docs/cost-model.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import DamagedFileError, HloError
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
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.profiling.learned_weights import LearnedWeights, TwoLayers
from hlograph.profiling.plan_words import decision_words, flag_words

Floats = NDArray[np.float32]

_DEFAULT = Path(__file__).with_name("learned_kernels.weights")


class _Kernel(NamedTuple):
    """A kernel as the heads see it."""

    vector: Floats
    prior: float


class LearnedKernels:
    """Predicts each kernel by its graph, numbers about it, and flags.

    Each distinct kernel is encoded once, and its vector is kept. A prediction does not depend on
    what was predicted before. Threads may share one; a copy has encoded nothing yet.

    Args:
        weights: The network.

    Raises:
        ValueError: It knows kernels by other names than this hlograph, or its layers do not fit
            each other.
    """

    def __init__(self, weights: LearnedWeights) -> None:
        weights.check()
        self.weights = weights
        self._nodes = [KERNEL_NODE_FEATURES.index(name) for name in weights.nodes]
        self._numbers = [number_names().index(name) for name in weights.numbers]
        self._prior = weights.numbers.index(weights.prior)
        self._within = weights.conditions.index("within")
        labels = len(EDGE_TYPES) * POSITION_BUCKETS
        self._graphs = Refinement(len(weights.encoder.layers), len(self._nodes), labels)
        self._encoder = GraphEncoder(self._graphs, weights.encoder)
        self._layers = {name: Dense(*layer) for name, layer in weights.layers.items()}
        self._heads = {name: _Head(head) for name, head in weights.heads.items()}
        self._known: dict[str, _Kernel] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Reads a network from a file.

        Args:
            path: The file; None takes the one that comes with hlograph.

        Raises:
            DamagedFileError: The file is another one, damaged, or of another version of hlograph,
                such as one with other opcodes.
            OSError: It cannot be read.
        """
        path = path or _DEFAULT
        weights = LearnedWeights.load(path)
        try:
            return cls(weights)
        except ValueError as error:
            raise DamagedFileError(
                f"{path} does not fit this hlograph: {error}. Use the hlograph that wrote it, or "
                "train another: python -m experiments.cost_model train"
            ) from error

    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """See ``PredictTime``."""
        outside = self.weights.outside
        if not kernels:
            return PredictedTime(outside, ())
        known = self._kernels([kernel.text for kernel in kernels])
        flag_row = _table([flag_words(flags)], self.weights.flags)
        vectors = np.array([kernel.vector for kernel in known]) + self._layers["flags"](flag_row)
        off = self._heads["seconds"](vectors)[:, self._within]
        log_seconds = np.array([kernel.prior for kernel in known]) + off
        seconds = np.exp(log_seconds) * [kernel.calls for kernel in kernels]
        return PredictedTime(outside + float(seconds.sum()), tuple(seconds.tolist()))

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
        (known,) = self._kernels([kernel.text])
        table = _table(map(decision_words, decisions), self.weights.decisions)
        log_gains = self._heads["gain"](known.vector + self._layers["decisions"](table))
        return np.exp(log_gains[:, 0].astype(np.float64)).tolist()

    def __reduce__(self) -> tuple[type[Self], tuple[LearnedWeights]]:
        return type(self), (self.weights,)

    def _kernels(self, texts: Sequence[str]) -> list[_Kernel]:
        """Returns kernels by their texts, and encodes those that are new."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                self._known |= zip(new, self._encoded(new), strict=True)
        return [self._known[text] for text in texts]

    def _encoded(self, texts: Sequence[str]) -> list[_Kernel]:
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


def _table(rows: Iterable[Sequence[str]], columns: Sequence[str]) -> Floats:
    """Returns sets of words as rows of ones and zeros; other words have no column."""
    return np.array([[word in words for word in columns] for words in rows], np.float32).reshape(
        -1, len(columns)
    )
