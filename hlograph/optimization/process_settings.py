"""Settings of the process that runs a function: what is done for it, and what its user is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import ArraySpec, dtype_of
from hlograph.execution.load import cpu_quota
from hlograph.measuring.kept_memory import (
    KeptMemoryComparison,
    compared,
    may_pay,
    seconds_of_faults,
)
from hlograph.measuring.trial import FINAL, Job
from hlograph.optimization.leading import LEAST_GAIN, LEAST_LEAD
from hlograph.optimization.race import plan_of
from hlograph.optimization.report import Report
from hlograph.plans import Measured
from hlograph.storage.machine import usable_cores

ENVIRONMENT = (
    "MALLOC_ARENA_MAX=1 MALLOC_TOP_PAD_=67108864 MALLOC_TRIM_THRESHOLD_=9223372036854775807 "
    "MALLOC_MMAP_THRESHOLD_=1073741824"
)
"""Environment in which glibc keeps blocks of any thread, up to 1 GiB, in one heap."""

_HUGE_PAGES = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"
_PAGE = 4096  # bytes

# Heaps of glibc for threads other than the main one have this size at most.
_LARGEST_HEAP = 64 << 20

# Share of the budget that the timing of kept memory takes at most.
_TIMING = 0.1

# An argument of less bytes is not worth a word about its donation.
_LEAST_DONATED = 1 << 20


def with_kept_memory(job: Job, report: Report, budget: float, *, keeps: bool) -> Report:
    """Returns a report whose plan also holds in a process that keeps freed memory.

    Two processes are compared, unless calls can have too few page faults: a plan that is ahead by
    those of the default alone is slower in a process whose past keeps its memory. If the plan is
    slower than jaxlib's default where memory is kept, the faster of both is chosen. Ctrl-C ends
    the comparison, and keeps the plan; the report is then one of an interrupted search.

    Args:
        job: The program and the conditions.
        report: Report of a search; one that was interrupted stays as it is.
        budget: Seconds of the search, of which the timing takes a tenth at most.
        keeps: True if a process may be made to keep freed memory: the plan says what that brings.
    """
    timed = [o.measured for o in report.outcomes if o.measured and o.measured.memory]
    measured = report.plan.measured or (timed[-1] if timed else None)
    if measured is None:
        return report
    if report.plan.default_fault:  # it cannot stand beside the plan
        return report
    if report.interrupted or (report.plan.is_empty and not keeps):
        return report
    faults = _Faults.of(job, measured)
    planned = not report.plan.is_empty
    ahead = planned and faults.plan_is_ahead(measured)
    if not faults.may_pay(measured, default=not ahead, plan=planned and (keeps or not ahead)):
        return report
    effort = replace(FINAL, max_seconds=min(FINAL.max_seconds, _TIMING * budget))
    try:
        comparison = compared(job, report.plan, effort, alone=ahead)
    except (HloError, OSError):  # the plan that was found is worth more
        return report
    except KeyboardInterrupt:
        return replace(report, interrupted=True)
    if comparison is None:
        return report
    if comparison.plan_ratio < 1:
        if not comparison.default_pays:
            return report
        words = f"jaxlib's default is faster than the plan ({measured}) where freed memory is kept"
        report = replace(report, plan=plan_of(job, None), conclusion=words)
        return with_kept_memory(job, report, budget, keeps=keeps)
    if not keeps:
        return report
    about = (*report.advice, *_about_large_blocks(comparison))
    if not _pays(comparison):
        return replace(report, advice=about)
    return replace(
        report,
        plan=replace(report.plan, kept_memory=comparison.kept),
        conclusion=f"{report.conclusion}; {comparison.kept.summary}",
        advice=about,
    )


class _Faults(NamedTuple):
    """The most page faults in a call, by the memory that XLA plans for it.

    Attributes:
        default: Those of the default.
        plan: Those by the plan.
    """

    default: float
    plan: float

    @classmethod
    def of(cls, job: Job, measured: Measured) -> _Faults:
        """Returns those of a plan that was measured beside the default."""
        given = sum(map(_bytes_of, job.program.signature.parameters))
        memory = measured.default_memory, measured.memory
        return cls(*(max(0, each - given) / _PAGE for each in memory))

    def plan_is_ahead(self, measured: Measured) -> bool:
        """Returns True if the plan would be faster than the default without its page faults."""
        least = measured.default_seconds - seconds_of_faults(self.default)
        return measured.seconds <= least

    def may_pay(self, measured: Measured, *, default: bool, plan: bool) -> bool:
        """Returns True if page faults may take a share of a call, of the default or by the plan."""
        by_default = default and may_pay(self.default, measured.default_seconds)
        return by_default or (plan and may_pay(self.plan, measured.seconds))


def _pays(comparison: KeptMemoryComparison) -> bool:
    kept = comparison.kept
    gained = kept.seconds_before - kept.seconds
    return kept.low > 1 and kept.ratio >= LEAST_LEAD and gained >= LEAST_GAIN


def _about_large_blocks(comparison: KeptMemoryComparison) -> Iterator[str]:
    """Yields the advice about page faults that remain where freed memory is kept."""
    kept = comparison.kept
    if may_pay(kept.faults, kept.seconds) and kept.faults * _PAGE >= _LARGEST_HEAP:
        yield (
            f"{kept.faults:,} page faults in a call remain, as XLA's threads return blocks above "
            f"64 MiB: start the process with {ENVIRONMENT} to keep them, or with {_HUGE_PAGES} for "
            "pages of 2 MiB"
        )


def advice(job: Job) -> tuple[str, ...]:
    """Returns what only the user can do for a program: sentences, without a full stop."""
    return (*_about_threads(), *_about_donation(job))


def _about_threads() -> Iterator[str]:
    quota, cores = cpu_quota(), usable_cores()
    if quota is not None and quota < cores:
        yield (
            f"the process's control group has {quota:g} CPUs, and jaxlib starts {cores} threads, "
            f"which the system stops in turns: start the process with taskset -c 0-"
            f"{max(int(quota), 1) - 1}"
        )


def _about_donation(job: Job) -> Iterator[str]:
    """Yields the advice about arguments in whose memory XLA could put a result."""
    donated = set(job.program.donated)
    signature = job.program.signature
    free = Counter(_type_of(spec) for spec in signature.results)
    free.subtract(_type_of(signature.parameters[number]) for number in donated)
    numbers = []
    for number, spec in enumerate(signature.parameters):
        if number not in donated and free[_type_of(spec)] > 0 and _bytes_of(spec) >= _LEAST_DONATED:
            free[_type_of(spec)] -= 1
            numbers.append(number)
    if numbers:
        size = sum(_bytes_of(signature.parameters[number]) for number in numbers)
        names = ", ".join(map(str, numbers[:4])) + (" and more" if len(numbers) > 4 else "")
        yield (
            f"arrays of the arguments have the types of results ({names}, {size / 1e6:.0f} MB): if "
            "they are not needed after a call, donate_argnums of jax.jit lets results take their "
            "memory"
        )


def _type_of(spec: ArraySpec) -> tuple[str, tuple[int, ...]]:
    return spec.element_type, spec.dims


def _bytes_of(spec: ArraySpec) -> int:
    size = dtype_of(spec.element_type).itemsize
    for dim in spec.dims:
        size *= dim
    return size
