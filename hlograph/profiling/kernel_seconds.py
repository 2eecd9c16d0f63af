"""Predicted times of plans, as sums over their kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from hlograph._native import native
from hlograph.execution.rates import Rates, default_rates
from hlograph.module import Module
from hlograph.plans.flags import FlagValue
from hlograph.profiling.kernel_modules import KernelModule, is_kernel_text

LEAST_SECONDS = 1e-7
"""Least predicted seconds of a kernel: what it takes to begin it."""

OUTSIDE_SECONDS = 1e-5
"""Seconds of a run outside of its kernels, where nothing has measured them."""


class PredictedTime(NamedTuple):
    """Predicted time of a run.

    Attributes:
        seconds: Seconds of the run.
        kernels: Seconds of all calls of each kernel.
    """

    seconds: float
    kernels: tuple[float, ...]


class PredictTime(Protocol):
    """Function that predicts the time of a plan."""

    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """Returns the predicted time.

        Args:
            kernels: The kernels of the plan.
            flags: Flags of its compilation.

        Raises:
            HloParseError: A text is no kernel.
        """
        ...


class RatedKernels:
    """Predicts each kernel by its amounts of work, times rates; knows nothing of flags.

    Args:
        rates: The rates; None takes those that come with hlograph, so that predictions are the same
            on all machines.
        alone: True leaves out of each kernel what the call of a program takes, and counts it once
            for a run. False is what the policies that come with the project have learned with.
    """

    def __init__(self, rates: Rates | None = None, *, alone: bool = False) -> None:
        self._rates = rates or default_rates()
        self._outside = self._rates.call if alone else OUTSIDE_SECONDS
        self._rated = rated_alone if alone else rated_seconds
        self._known: dict[str, float] = {}

    def __call__(
        self, kernels: Sequence[KernelModule], flags: Mapping[str, FlagValue]
    ) -> PredictedTime:
        """See ``PredictTime``."""
        del flags
        seconds = tuple(kernel.calls * self._seconds(kernel.text) for kernel in kernels)
        return PredictedTime(self._outside + sum(seconds), seconds)

    def _seconds(self, text: str) -> float:
        if text not in self._known:
            # A loop or branch whose bodies have kernels of their own is an opcode alone.
            self._known[text] = (
                self._rated(Module.from_text(text), self._rates)
                if is_kernel_text(text)
                else LEAST_SECONDS
            )
        return self._known[text]


def rated_seconds(kernel: Module, rates: Rates) -> float:
    """Returns the seconds of a program of one kernel by rates, at least ``LEAST_SECONDS``."""
    seconds = rates.predict_module(kernel._native)  # pyright: ignore[reportPrivateUsage]
    return max(seconds, LEAST_SECONDS)


def work_of(kernel: Module) -> dict[int, float]:
    """Returns the amounts of a kernel's work by the numbers of their features."""
    work: dict[int, float] = {}
    for feature, amount in native().work(kernel._native):  # pyright: ignore[reportPrivateUsage]
        work[feature] = work.get(feature, 0.0) + amount
    return work


def rated_alone(kernel: Module, rates: Rates) -> float:
    """Returns the seconds of a kernel itself by rates, without those of a program's call."""
    return max(rated_seconds(kernel, rates) - rates.call, LEAST_SECONDS)
