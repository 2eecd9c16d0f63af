"""The speed of a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hlograph.execution.bootstrap import Interval
from hlograph.execution.load import LOADED
from hlograph.execution.turns import Turns

# Memory is said in the sentence about a plan if it differs by this factor, and by so many bytes.
_OTHER, _SOME_BYTES = 1.1, 1 << 20


@dataclass(frozen=True)
class Measured:
    """Speed of a plan, measured in turns with jaxlib's default.

    Attributes:
        default_seconds: Median time of one run of the default.
        seconds: Median time of one run with the plan.
        ratio: Median of the ratios default / plan, pair by pair: above 1, the plan is faster.
        low: Lower end of the 95 % bootstrap interval of that median.
        high: Upper end.
        control: Same ratio of the default and the default compiled again.
        pairs: Number of pairs.
        load: Share that other programs took of the CPU time of the runs
            (``hlograph.execution.load``), the median over the pairs. On a busy machine, times are
            without this share.
        one_cpu: True if both ran on one CPU, as the machine was busy.
        default_memory: Bytes that the default needs at a time, as XLA planned them: arguments,
            results and temporaries; 0 if not known.
        memory: Same with the plan.
        default_resident: Bytes by which the process was seen to grow in a run of the default; 0 if
            it was not looked at.
        resident: Same with the plan.
    """

    default_seconds: float
    seconds: float
    ratio: float
    low: float
    high: float
    control: float
    pairs: int
    load: float = 0.0
    one_cpu: bool = False
    default_memory: int = 0
    memory: int = 0
    default_resident: int = 0
    resident: int = 0

    @classmethod
    def of(cls, turns: Turns, *, one_cpu: bool = False) -> Measured:
        """Returns the speed of the second of two things beside the first.

        Args:
            turns: Their times, and those of the control, if there is one.
            one_cpu: True if they ran on one CPU.
        """
        default, plan, *control = turns.seconds.T
        ratio = Interval.of_median((default / plan).tolist())
        return cls(
            float(np.median(default)),
            float(np.median(plan)),
            *ratio,
            float(np.median(default / control[0])) if control else 1.0,
            len(default),
            round(float(np.median(turns.load.max(axis=1))), 3),
            one_cpu,
        )

    @property
    def busy(self) -> bool:
        """True if the machine was busy."""
        return self.load > LOADED

    def __str__(self) -> str:
        where = ", on one CPU" if self.one_cpu else ""
        where += ", on a busy machine" if self.busy else ""
        speed = f"{self.ratio:.3f} times as fast ({self.low:.3f} to {self.high:.3f}){where}"
        return f"{speed}, {self.memory_text}" if self._is_other_memory else speed

    @property
    def memory_text(self) -> str:
        """The memory of the plan and of the default."""
        return f"with {_megabytes(self.memory)} of memory in place of " + _megabytes(
            self.default_memory
        )

    @property
    def _is_other_memory(self) -> bool:
        """True if the plan needs much more or less memory than the default."""
        pair = sorted((self.memory, self.default_memory))
        return pair[0] > 0 and pair[1] > _OTHER * pair[0] and pair[1] - pair[0] > _SOME_BYTES


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
