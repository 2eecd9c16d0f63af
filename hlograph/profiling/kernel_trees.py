"""Predicted times of plans by gradient-boosted trees that learned from times of kernels.

    predict = KernelTrees.load()
    kernels = kernel_modules(OptimizedModule.of(compiled.runtime_executable()))
    predict(kernels, {}).seconds

``python -m experiments.cost_model train --bank FOLDER`` grows such trees with LightGBM, which
predictions do not need (docs/cost-model.md).
"""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs
from hlograph.errors import DamagedFileError
from hlograph.graph.vocabulary import OPCODES
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_inputs import NUMBERS, inputs_of_kernels, number_names
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import PredictedTime
from hlograph.profiling.plan_words import decision_words, flag_words
from hlograph.storage.checked_file import read_checked, write_checked
from hlograph.storage.machine import Machine

Floats = NDArray[np.float64]

_DEFAULT = Path(__file__).with_name("kernel_trees.npz")
_KIND, _VERSION = "kernel-trees", 1
_HEADER = "header"
_DAMAGE = (LookupError, TypeError, ValueError, zipfile.BadZipFile)

_PRIOR = NUMBERS.index("log_alone")
_OPCODES = (*OPCODES, "computation")


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
    return (*number_names(), *_OPCODES)


def features_of(texts: Sequence[str]) -> Floats:
    """Returns the features of kernels, float64 ``[len(texts), len(feature_names())]``.

    Counts of opcodes are log(1 + x).

    Args:
        texts: Texts of the kernels (``hlograph.profiling.kernel_modules``).

    Raises:
        HloParseError: A text is no kernel.
    """
    batch = inputs_of_kernels(texts)
    counts = np.zeros((len(texts), len(_OPCODES)))
    kernel = np.repeat(np.arange(len(texts)), np.diff(batch.offsets))
    np.add.at(counts, (kernel, batch.nodes[:, 1].astype(np.int64)), 1.0)
    return np.concatenate((batch.numbers.astype(np.float64), np.log1p(counts)), axis=1)


def log_rated(features: Floats) -> Floats:
    """Returns the logarithms of the seconds of kernels by rates of work, float64 ``[K]``."""
    return features[:, _PRIOR]


def of_seconds(features: Floats, flags: Floats, alone: bool) -> Floats:
    """Returns the features of kernels with flags, of which the factor of their seconds is learned.

    Args:
        features: float64 ``[N, len(feature_names())]``.
        flags: float64 ``[N, F]``, ones of the flags that each is compiled with.
        alone: True for a kernel timed alone, False within a program.
    """
    return np.concatenate((features, flags, np.full((len(features), 1), float(alone))), axis=1)


def of_gains(features: Floats, log_seconds: Floats, kernels: Floats, decisions: Floats) -> Floats:
    """Returns the features of decisions about kernels, of which the gain is learned.

    Args:
        features: float64 ``[N, len(feature_names())]``, of the kernel that takes longest by rates
            of what jaxlib makes of a kernel by default.
        log_seconds: float64 ``[N]``, logarithm of the seconds of all of it by rates.
        kernels: float64 ``[N]``, number of the kernels that it is.
        decisions: float64 ``[N, D]``, ones of the words of each decision.
    """
    return np.concatenate((features, np.column_stack((log_seconds, kernels)), decisions), axis=1)


def table(rows: Iterable[Sequence[str]], columns: Sequence[str]) -> Floats:
    """Returns sets of words as rows of ones and zeros; words without a column are left out."""
    ones = [[float(word in row) for word in columns] for row in rows]
    return np.array(ones).reshape(-1, len(columns))


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
        names = ("features", "flags", "decisions", "outside")
        header = {name: getattr(self, name) for name in names} | {"machine": asdict(self.machine)}
        arrays = {_HEADER: np.frombuffer(json.dumps(header).encode(), np.uint8)}
        for name in ("seconds", "gains"):
            of_name: Trees = getattr(self, name)
            arrays |= {f"{name}.{field}": array for field, array in of_name._asdict().items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # pyright: ignore[reportArgumentType]
        write_checked(path, _KIND, _VERSION, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file that ``save`` wrote.

        Raises:
            DamagedFileError: The file is another one, of another version, or damaged.
            OSError: It cannot be read.
        """
        data = read_checked(path, _KIND, _VERSION)
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                header: dict[str, Any] = json.loads(arrays[_HEADER].tobytes())
                seconds, gains = (
                    Trees(*(arrays[f"{name}.{field}"] for field in Trees._fields))
                    for name in ("seconds", "gains")
                )
            return cls(
                tuple(header["features"]),
                tuple(header["flags"]),
                tuple(header["decisions"]),
                float(header["outside"]),
                Machine.from_json(header["machine"]),
                seconds,
                gains,
            )
        except _DAMAGE as error:
            raise DamagedFileError(f"{path} holds no trees of kernels: {error!r}") from error


class KernelTrees:
    """Predicts each kernel by numbers about it, its opcodes, and flags.

    The features of each distinct kernel are kept. A prediction does not depend on what was
    predicted before. Threads may share one; a copy has seen nothing yet.

    Args:
        weights: The trees.

    Raises:
        ValueError: They know kernels by other names than this hlograph.
    """

    def __init__(self, weights: KernelTreeWeights) -> None:
        if weights.features != feature_names():
            raise ValueError("they know kernels by other features than this hlograph")
        self.weights = weights
        width = len(weights.features)
        self._seconds = TreeSum(weights.seconds, width + len(weights.flags) + 1)
        self._gains = TreeSum(weights.gains, width + 2 + len(weights.decisions))
        self._known: dict[str, Floats] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Reads trees from a file.

        Args:
            path: The file; None takes the one that comes with hlograph.

        Raises:
            DamagedFileError: The file is another one, damaged, or of another version of hlograph,
                such as one with other opcodes.
            OSError: It cannot be read.
        """
        path = path or _DEFAULT
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
        outside = self.weights.outside
        if not kernels:
            return PredictedTime(outside, ())
        features = self._features(kernels)
        words = table([flag_words(flags)], self.weights.flags)
        rows = of_seconds(features, np.repeat(words, len(kernels), axis=0), alone=False)
        log_seconds = log_rated(features) + self._seconds(rows)
        seconds = np.exp(log_seconds) * [kernel.calls for kernel in kernels]
        return PredictedTime(outside + float(seconds.sum()), tuple(seconds.tolist()))

    def gains(
        self, kernels: Sequence[KernelModule], decisions: Sequence[Mapping[str, str]]
    ) -> Floats:
        """Predicts what decisions about kernels bring, without compiling them.

        Args:
            kernels: The kernels, as they are by default.
            decisions: Values of knobs, as in ``hlograph.corpus.kernel_times``.

        Returns:
            float64 ``[len(kernels), len(decisions)]``, the ratios default / decision of the
            seconds of each kernel: 2 is twice as fast.

        Raises:
            HloParseError: A text is no kernel.
        """
        shape = (len(kernels), len(decisions))
        if 0 in shape:
            return np.ones(shape)
        features = self._features(kernels)
        words = table(map(decision_words, decisions), self.weights.decisions)
        prior = np.repeat(log_rated(features), len(words))
        rows = of_gains(
            np.repeat(features, len(words), axis=0),
            prior,
            np.ones(len(prior)),
            np.tile(words, (len(kernels), 1)),
        )
        return np.exp(self._gains(rows)).reshape(shape)

    def __reduce__(self) -> tuple[type[Self], tuple[KernelTreeWeights]]:
        return type(self), (self.weights,)

    def _features(self, kernels: Sequence[KernelModule]) -> Floats:
        """Returns the features of kernels, and keeps those of new ones."""
        texts = [kernel.text for kernel in kernels]
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                self._known |= zip(new, features_of(new), strict=True)
        return np.array([self._known[text] for text in texts])
