"""Run times before and after, pair by pair, and their statistics.

The two executables run in turns in one process (`hlograph.execution`). Ratios are before / after:
above 1 the module got faster.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.evaluate.metrics import geometric_mean
from hlograph.execution.bootstrap import bootstrap_interval

CONTROL = "control"
"""Method of pairs that compare a module with itself, compiled twice; they show the noise."""


@dataclass(frozen=True)
class Side:
    """One of the two executables of a pair."""

    op_count: int
    """Number of instructions of the module, before XLA:CPU compiles it."""
    compile_seconds: float
    """Wall time of XLA:CPU's compilation, HLO passes and code generation together: the median over
    several, with the other side compiled in turn."""
    kernels: int
    """Number of steps of the compiled code; see ``hlograph.execution.executable.Executable``."""
    median_seconds: float
    """Wall time of one run, the median over the samples."""


@dataclass(frozen=True)
class TimedPair:
    """Times of a benchmark before and after a method, run in turn."""

    benchmark: str
    method: str
    ratios: Sequence[float]
    """Seconds before / seconds after of each pair of samples."""
    median: float
    """Median of the ratios."""
    low: float
    """Lower end of the 95 % bootstrap interval of the median."""
    high: float
    """Upper end of the interval."""
    before: Side
    after: Side

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "TimedPair":
        """Returns the pair of which ``dataclasses.asdict`` made the content."""
        sides = {side: Side(**content[side]) for side in ("before", "after")}
        return cls(**{**content, **sides})

    @property
    def verdict(self) -> str:
        """``faster`` or ``slower`` where the interval excludes 1, else ``same``."""
        return "faster" if self.low > 1 else "slower" if self.high < 1 else "same"


@dataclass(frozen=True)
class SpeedupSummary:
    """Statistics of one method's median ratios over all its benchmarks."""

    benchmarks: int
    geometric_mean: float
    low: float
    """Lower end of the 95 % bootstrap interval of the geometric mean, over benchmarks."""
    high: float
    """Upper end of the interval."""
    mean: float
    sd: float | None
    """Sample standard deviation over benchmarks (n - 1); None for a single benchmark."""
    max: float
    min: float
    faster: int
    """Number of benchmarks whose interval lies above 1."""
    slower: int
    """Number of benchmarks whose interval lies below 1."""
    kernels: float
    """Geometric mean of kernels before / after."""
    compile: float
    """Geometric mean of compile time before / after."""


def summary(pairs: Sequence[TimedPair]) -> SpeedupSummary:
    """Returns the statistics of one method.

    Args:
        pairs: One pair for each benchmark, at least one.
    """
    medians = [pair.median for pair in pairs]
    verdicts = Counter(pair.verdict for pair in pairs)
    low, high = bootstrap_interval(medians)
    return SpeedupSummary(
        benchmarks=len(pairs),
        geometric_mean=geometric_mean(medians),
        low=low,
        high=high,
        mean=float(np.mean(medians)),
        sd=float(np.std(medians, ddof=1)) if len(medians) > 1 else None,
        max=max(medians),
        min=min(medians),
        faster=verdicts["faster"],
        slower=verdicts["slower"],
        # A module without any step (its result is its parameter) counts as one of one step.
        kernels=geometric_mean([max(p.before.kernels, 1) / max(p.after.kernels, 1) for p in pairs]),
        compile=geometric_mean([p.before.compile_seconds / p.after.compile_seconds for p in pairs]),
    )


def summaries(pairs: Sequence[TimedPair]) -> Mapping[str, SpeedupSummary]:
    """Returns statistics by method, in the order in which methods occur, the control first."""
    methods = sorted(dict.fromkeys(p.method for p in pairs), key=lambda method: method != CONTROL)
    return {method: summary([p for p in pairs if p.method == method]) for method in methods}


def table(by_method: Mapping[str, SpeedupSummary]) -> str:
    """Returns the statistics as lines of text."""
    lines = [
        f"{'time before / after':24}{'n':>4}{'geo mean':>10}{'95 % interval':>17}{'mean':>8}"
        f"{'sd':>8}{'min':>8}{'max':>8}{'faster':>8}{'slower':>8}{'kernels':>9}{'compile':>9}"
    ]
    for method, s in by_method.items():
        interval = f"{s.low:.3f} - {s.high:.3f}"
        sd = "-" if s.sd is None else f"{s.sd:.3f}"
        lines.append(
            f"{method:24}{s.benchmarks:4}{s.geometric_mean:10.3f}{interval:>17}{s.mean:8.3f}"
            f"{sd:>8}{s.min:8.3f}{s.max:8.3f}{s.faster:8}{s.slower:8}{s.kernels:9.3f}"
            f"{s.compile:9.3f}"
        )
    return "\n".join(lines)
