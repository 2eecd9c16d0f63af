"""Predicted times of plans by gradient-boosted trees that learned from times of kernels.

    predict = KernelTrees.load()
    kernels = kernel_modules(OptimizedModule.of(compiled.runtime_executable()))
    predict(kernels, {}).seconds

``python -m experiments.cost_model train --bank FOLDER`` grows such trees with LightGBM, which
predictions do not need (docs/cost-model.md).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs
from hlograph.errors import DamagedFileError
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_inputs import NODE_OPCODES, NUMBERS, inputs_of_kernels, number_names
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.profiling.plan_words import decision_words, flag_words, word_table
from hlograph.storage.array_file import read_arrays, write_arrays
from hlograph.storage.machine import Machine

Floats, Words = NDArray[np.float64], NDArray[np.float32]

SHIPPED = Path(__file__).with_name("kernel_trees.weights")
"""The file of the trees that come with hlograph."""

_KIND, _VERSION = "kernel-trees", 4

_PRIOR = NUMBERS.index("log_alone")


class Trees(NamedTuple):
    """Decision trees whose leaves are added up; B branches, L leaves, T trees.

    Attributes:
        feature: int32 ``[B]``, number of the feature that a branch looks at.
        threshold: float64 ``[B]``; the first child is taken where the feature is at most this.
        children: int32 ``[B, 2]``, numbers of branches, or ``~n`` of the leaf n.
        leaves: float64 ``[L]``.
        roots: int32 ``[T]``, as children.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    children: NDArray[np.int32]
    leaves: Floats
    roots: NDArray[np.int32]


NO_TREES = Trees(
    np.zeros(0, np.int32),
    np.zeros(0),
    np.zeros((0, 2), np.int32),
    np.zeros(0),
    np.zeros(0, np.int32),
)
"""Trees whose sum is 0."""


class TreeSum:
    """The sum of the leaves of trees.

    Args:
        trees: The trees.
        features: Number of features.

    Raises:
        ValueError: The arrays are no trees over so many features.
    """

    def __init__(self, trees: Trees, features: int) -> None:
        self._trees = graphs().Trees(*trees, features)

    def __call__(self, rows: Floats) -> Floats:
        """Returns the sums, float64 ``[N]``.

        Args:
            rows: float64 ``[N, features]``.

        Raises:
            ValueError: The rows have another width.
        """
        out = np.empty(len(rows))
        self._trees.sum(np.ascontiguousarray(rows), out)
        return out


def feature_names() -> tuple[str, ...]:
    """Returns the names of the features of a kernel: its numbers, and how often it has opcodes."""
    return (*number_names(), *NODE_OPCODES)


def features_of(texts: Sequence[str]) -> Floats:
    """Returns the features of kernels, float64 ``[len(texts), len(feature_names())]``.

    Counts of opcodes are log(1 + x).

    Args:
        texts: Texts of the kernels (``hlograph.profiling.kernel_modules``).

    Raises:
        HloParseError: A text is no kernel.
    """
    batch = inputs_of_kernels(texts)
    counts = np.zeros((len(texts), len(NODE_OPCODES)))
    kernel = np.repeat(np.arange(len(texts)), np.diff(batch.offsets))
    np.add.at(counts, (kernel, batch.nodes[:, 1].astype(np.int64)), 1.0)
    return np.concatenate((batch.numbers.astype(np.float64), np.log1p(counts)), axis=1)


def log_rated(features: Floats) -> Floats:
    """Returns the logarithms of the seconds of kernels by rates of work, float64 ``[K]``."""
    return features[:, _PRIOR]


def of_seconds(features: Floats, flags: Words, alone: bool) -> Floats:
    """Returns the features of kernels with flags, of which the factor of their seconds is learned.

    Args:
        features: float64 ``[N, len(feature_names())]``.
        flags: float32 ``[N, F]``, ones of the flags that each is compiled with.
        alone: True for a kernel timed alone, False within a program.
    """
    return np.concatenate((features, flags, np.full((len(features), 1), float(alone))), axis=1)


class Context(NamedTuple):
    """The place of a decision within a program; the defaults are those of a kernel alone.

    Attributes:
        share: Share of the program's time by rates that the kernels take which it is about.
        log_places: log2(1 + x) / 4 of the number of places that it changes together.
        saved: Logarithm of the ratio that rates predict of rules; 0 for others.
        within: 1 within a program.
        log_calls: Logarithm of the number of times that these kernels run together.
        log_decided: log(1 + x) of the number of rules and values that are decided before.
    """

    share: float = 1.0
    log_places: float = 0.0
    saved: float = 0.0
    within: float = 0.0
    log_calls: float = 0.0
    log_decided: float = 0.0


def of_gains(
    features: Floats,
    log_seconds: Floats,
    kernels: Floats,
    decisions: Words,
    contexts: Sequence[Context] | None = None,
) -> Floats:
    """Returns the features of decisions about kernels, of which the gain is learned.

    Args:
        features: float64 ``[N, len(feature_names())]``, of the kernel that takes longest by rates,
            of those that a decision is about, as jaxlib makes them by default.
        log_seconds: float64 ``[N]``, logarithm of the seconds of all of them by rates.
        kernels: float64 ``[N]``, number of the kernels.
        decisions: float32 ``[N, D]``, ones of the words of each decision.
        contexts: Context of each decision; None for kernels alone.
    """
    known = np.array(contexts or [Context()] * len(features)).reshape(-1, len(Context._fields))
    of_call = log_seconds - known[:, Context._fields.index("log_calls")]
    more = np.column_stack((log_seconds, of_call, kernels, known, decisions))
    return np.concatenate((features, more), axis=1, dtype=np.float64)


_GAIN_COLUMNS = 3 + len(Context._fields)  # columns of ``of_gains`` between kernels and decisions


@dataclass(frozen=True, eq=False)
class KernelTreeWeights:
    """Trees that were grown, and what they know."""

    features: tuple[str, ...]
    """Names of the features of kernels."""
    flags: tuple[str, ...]
    """Columns of flags (``hlograph.profiling.plan_words``)."""
    decisions: tuple[str, ...]
    """Columns of decisions."""
    outside: float
    """Seconds of a run outside of its kernels."""
    machine: Machine
    """The machine whose times were learned."""
    seconds: Trees
    """Logarithm of the factor by which seconds by rates are off; see ``of_seconds``."""
    gains: Trees
    """Logarithm of the ratio default / decision; see ``of_gains``."""

    def save(self, path: Path) -> None:
        """Writes the trees to a file.

        Raises:
            OSError: It cannot be written.
        """
        write_arrays(path, _KIND, _VERSION, self)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file that ``save`` wrote.

        Raises:
            DamagedFileError: The file is another one, of another version, or damaged.
            OSError: It cannot be read.
        """
        with read_arrays(path, _KIND, _VERSION) as content:
            return cls(
                tuple(content["features"]),
                tuple(content["flags"]),
                tuple(content["decisions"]),
                float(content["outside"]),
                Machine.from_json(content["machine"]),
                Trees(**content["seconds"]),
                Trees(**content["gains"]),
            )


class KernelTrees:
    """Predicts each kernel by numbers about it, its opcodes, and flags; a plan as their sum.

    Such an object is a ``PredictTime``. It looks at each distinct kernel once, and keeps what it
    has seen. A prediction does not depend on those before it. Threads may share one; a copy has
    seen nothing yet.

    Args:
        weights: The trees.

    Attributes:
        weights: The same.

    Raises:
        ValueError: They know kernels by other names than this hlograph.
    """

    def __init__(self, weights: KernelTreeWeights) -> None:
        if weights.features != feature_names():
            raise ValueError("they know kernels by other features than this hlograph")
        self.weights = weights
        width = len(weights.features)
        self._seconds = TreeSum(weights.seconds, width + len(weights.flags) + 1)
        self._gains = TreeSum(weights.gains, width + _GAIN_COLUMNS + len(weights.decisions))
        self._seen: dict[str, Floats] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Self:
        """Reads trees from a file.

        Args:
            path: The file; by default that of the trees which come with hlograph.

        Raises:
            DamagedFileError: The file is another one, damaged, or of another version of hlograph,
                such as one with other opcodes.
            OSError: It cannot be read.
        """
        weights = KernelTreeWeights.load(path)
        try:
            return cls(weights)
        except ValueError as error:
            raise DamagedFileError(
                f"{path} does not fit this hlograph: {error}. Use the hlograph that wrote it, or "
                "grow others: python -m experiments.cost_model train --bank FOLDER"
            ) from error

    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """See ``PredictTime``."""
        features = self.features(kernels)
        words = word_table([flag_words(flags)] * len(features), self.weights.flags)
        off = self._seconds(of_seconds(features, words, alone=False))
        calls = [kernel.calls for kernel in kernels]
        seconds = np.exp(log_rated(features) + off) * calls
        return PredictedTime(self.weights.outside + float(seconds.sum()), tuple(seconds.tolist()))

    def __reduce__(self) -> tuple[type[Self], tuple[KernelTreeWeights]]:
        return type(self), (self.weights,)

    def gains(self, kernel: KernelModule, decisions: Sequence[Mapping[str, str]]) -> list[float]:
        """Predicts what decisions about a kernel bring, without compiling them.

        Args:
            kernel: The kernel, as it is by default.
            decisions: Values of knobs, as in ``hlograph.corpus.kernel_times``.

        Returns:
            For each of them the ratio default / decision of the seconds: 2 is twice as fast.

        Raises:
            HloParseError: The text is no kernel.
        """
        words = word_table(map(decision_words, decisions), self.weights.decisions)
        features = np.repeat(self.features([kernel]), len(words), axis=0)
        rows = of_gains(features, log_rated(features), np.ones(len(words)), words)
        return np.exp(self.log_gains(rows)).tolist()

    def features(self, kernels: Sequence[KernelModule]) -> Floats:
        """Returns the features of kernels, float64 ``[len(kernels), len(feature_names())]``.

        Raises:
            HloParseError: A text is no kernel.
        """
        texts = [kernel.text for kernel in kernels]
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._seen]
            if new:
                self._seen |= zip(new, features_of(new), strict=True)
        rows = [self._seen[text] for text in texts]
        return np.array(rows).reshape(-1, len(self.weights.features))

    def log_gains(self, rows: Floats) -> Floats:
        """Returns the logarithms of what decisions bring to kernels, float64 ``[N]``.

        Args:
            rows: Their features, of ``of_gains``.
        """
        return self._gains(rows)


@cache
def shipped_trees() -> KernelTrees:
    """Returns the trees that come with hlograph, the same ones for all of a process."""
    return KernelTrees.load()
