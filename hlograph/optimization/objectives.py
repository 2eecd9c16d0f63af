"""Chooses plans by time within a limit of memory, or by memory within a limit of time."""

from __future__ import annotations

from dataclasses import replace

from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.plans import Measured

SLOWEST = 1.1
"""Times the default's time that a plan may take if memory is made small."""

# Less than this is no reason to refuse a plan: a process that has imported jax has ten times that.
_SLACK = 16 << 20

_LIMIT = "max_memory_ratio"


def excess_of(measured: Measured | None, max_memory_ratio: float) -> str:
    """Returns why a plan needs too much memory; empty if it does not, or if that is not known.

    Args:
        measured: Its speed and memory.
        max_memory_ratio: The most that it may need, as a multiple of the default's.
    """
    if measured is None or not (measured.memory and measured.default_memory):
        return ""
    default = max(measured.default_memory, measured.default_resident)
    needed = max(measured.memory, measured.resident)
    if needed - default <= _SLACK or needed <= max_memory_ratio * default:
        return ""
    return (
        f"needs {needed / 1e6:.0f} MB, {needed / default:.2f} times the default's "
        f"{default / 1e6:.0f} MB ({_LIMIT} {max_memory_ratio:g})"
    )


def within_memory(outcome: PlanMeasurement, job: Job) -> PlanMeasurement:
    """Returns an outcome, refused if its plan needs more memory than the job allows."""
    excess = excess_of(outcome.measured, job.max_memory_ratio)
    if outcome.measured is None or not excess:
        return outcome
    error = f"is {outcome.ratio:.3f} times as fast, but {excess}"
    return replace(outcome, measured=None, error=error)


def is_too_large(outcome: PlanMeasurement) -> bool:
    """Returns True if ``within_memory`` has refused a plan."""
    return outcome.measured is None and f"({_LIMIT} " in outcome.error


def by_objective(outcome: PlanMeasurement, job: Job) -> PlanMeasurement:
    """Returns an outcome as methods and finals compare it: by time, or by memory.

    By memory, its amounts are bytes in place of seconds, which are the same in each run. A plan
    that takes more than ``SLOWEST`` times the default's time has none.
    """
    measured = outcome.measured
    if job.objective == "time" or measured is None:
        return outcome
    if not (measured.memory and measured.default_memory):
        return replace(outcome, measured=None, error="its memory is not known")
    if measured.ratio * SLOWEST < 1:
        error = f"takes {1 / measured.ratio:.2f} times the default's time"
        return replace(outcome, measured=None, error=error)
    default, needed = float(measured.default_memory), float(measured.memory)
    ratio = default / needed
    in_bytes = Measured(default, needed, ratio, ratio, ratio, 1.0, measured.pairs)
    return replace(outcome, measured=in_bytes)
