"""What models of kernels share: what was seen of each, and times of plans as their sums."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hlograph.errors import DamagedFileError
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_modules import KernelModule
from hlograph.profiling.kernel_seconds import PredictedTime


class ModelWeights(Protocol):
    """Numbers of a model that was trained."""

    @property
    def outside(self) -> float:
        """Seconds of a run outside of its kernels."""
        ...


Weights = TypeVar("Weights", bound=ModelWeights)
Seen = TypeVar("Seen")


class KernelPredictor(ABC, Generic[Weights, Seen]):
    """Predicts each kernel by itself, and a plan as their sum: a ``PredictTime``.

    Each distinct kernel is looked at once, and what was seen of it is kept. A prediction does not
    depend on what was predicted before. Threads may share one; a copy has seen nothing yet.

    Args:
        weights: The model.

    Attributes:
        weights: The same.
    """

    shipped: ClassVar[Path]
    """The file that comes with hlograph."""
    advice: ClassVar[str]
    """How to make another file."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._known: dict[str, Seen] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Reads a model from a file.

        Args:
            path: The file; None takes the one that comes with hlograph.

        Raises:
            DamagedFileError: The file is another one, damaged, or of another version of hlograph,
                such as one with other opcodes.
            OSError: It cannot be read.
        """
        path = path or cls.shipped
        weights = cls._read(path)
        try:
            return cls(weights)
        except ValueError as error:
            raise DamagedFileError(
                f"{path} does not fit this hlograph: {error}. Use the hlograph that wrote it, or "
                f"{cls.advice}"
            ) from error

    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """See ``PredictTime``."""
        outside = self.weights.outside
        if not kernels:
            return PredictedTime(outside, ())
        log_seconds = self._log_seconds(self._seen(kernels), flags)
        seconds = np.exp(log_seconds) * [kernel.calls for kernel in kernels]
        return PredictedTime(outside + float(seconds.sum()), tuple(seconds.tolist()))

    def __reduce__(self) -> tuple[type[Self], tuple[Weights]]:
        return type(self), (self.weights,)

    def _seen(self, kernels: Sequence[KernelModule]) -> list[Seen]:
        """Returns what is seen of kernels, and looks at those that are new."""
        texts = [kernel.text for kernel in kernels]
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                self._known |= zip(new, self._look(new), strict=True)
        return [self._known[text] for text in texts]

    @classmethod
    @abstractmethod
    def _read(cls, path: Path) -> Weights:
        """Returns the weights in a file; see ``load`` for what it raises."""

    @abstractmethod
    def _look(self, texts: Sequence[str]) -> Iterable[Seen]:
        """Returns what is seen of kernels that are new.

        Raises:
            HloParseError: A text is no kernel.
        """

    @abstractmethod
    def _log_seconds(
        self, seen: Sequence[Seen], flags: Mapping[str, FlagValue]
    ) -> NDArray[np.float64]:
        """Returns the logarithms of the seconds of a call of each kernel, float64 ``[K]``."""
