"""Judges jaxlib's default while plans race beside it, and says what stands for it.

The first plan of a race is the plain reference (``measuring.implementations.plain_plan``), which is
compared with the default as every plan is. If both agree, this is all. If they differ, if the
program may meet a known fault, or if the default does not live, all references are asked. Then the
race goes on beside what is right, and plans are judged by that.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import replace

from hlograph.errors import HloWarning, NotExecutableError, WorkerTimedOutError
from hlograph.measuring.implementations import DEFAULT, death_of, plain_plan
from hlograph.measuring.references import Judgement, judge_default
from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.optimization.report import JudgingTimes, Report
from hlograph.plans.flags import allows_fast_math
from hlograph.plans.known_faults import faults_of

# The default may take this many times the budget in a first try, and not less than some seconds.
_PATIENCE, _LEAST_PATIENCE, _HOUR = 2.0, 120.0, 3600.0


def is_judged_before(job: Job, *, is_checked: bool) -> bool:
    """Returns True if references judge the default of a function before it runs.

    Args:
        job: The program and the conditions.
        is_checked: True asks them about any program; False, about those that may meet a known
            fault.
    """
    return is_checked or bool(faults_of(job.program.flow))


def judged_before(job: Job, report: Report, *, is_checked: bool) -> Report:
    """Returns the report of a function that has not run yet, with what stands for the default.

    Args:
        job: The program and the conditions.
        report: The report, whose plan is empty.
        is_checked: See ``is_judged_before``.
    """
    if not is_judged_before(job, is_checked=is_checked):
        return report
    judgement = judge_default(job)
    if not judgement.is_against_default or judgement.plan is None:
        return replace(report, judgement=judgement)
    program = job.program
    plan = replace(
        judgement.plan,
        program=program.name,
        fingerprint=program.fingerprint,
        text_fingerprint=program.text_fingerprint,
        default_fault=judgement.reason,
    )
    words = f"runs by a plan while a search goes on; {judgement.headline}"
    return replace(report, plan=plan, conclusion=words, judgement=judgement)


def warn_of_default(report: Report, *, stacklevel: int) -> None:
    """Warns if something is known against jaxlib's default of a program.

    Args:
        report: The report of the program.
        stacklevel: See ``warnings.warn``; 2 is the caller.
    """
    if reason := against_default(report):
        runs = "is kept, as nothing right was found" if report.plan.is_empty else "is not used"
        warnings.warn(f"{report.program}: {reason}. It {runs}", HloWarning, stacklevel=stacklevel)


def warn_once(report: Report, before: Report | None = None) -> None:
    """Warns of jaxlib's default, once for a function, which goes on where warnings are errors.

    Args:
        report: The report of the program.
        before: An earlier report, which may have led to the warning; None if there is none.
    """
    if before is None or not against_default(before):
        with contextlib.suppress(UserWarning):
            warn_of_default(report, stacklevel=4)


def against_default(report: Report) -> str:
    """Returns what a report has against jaxlib's default; empty if nothing."""
    if report.judgement is not None and report.judgement.is_against_default:
        return report.judgement.reason
    return report.plan.default_fault


class DefaultOnTrial:
    """Jaxlib's default of one program, and what is known of it so far.

    All references are asked once at most.

    Args:
        job: The program and the conditions; its reference is the default.
        budget: Seconds of the search.

    Attributes:
        job: The job beside what stands for the default.
        plain: The plan of the plain reference.
        judgement: Judgement of the references; None before one has run.
        times: What the references took so far.
    """

    def __init__(self, job: Job, budget: float) -> None:
        patience = max(_LEAST_PATIENCE, _PATIENCE * budget)
        self.job = replace(job, patience=patience, budget=budget)
        self.plain = plain_plan(job.program)
        self.judgement: Judgement | None = None
        self.times = JudgingTimes()
        self._begun, self._asked = time.monotonic(), False
        self._sample: str | None = "" if faults_of(job.program.flow) else None

    @property
    def in_doubt(self) -> bool:
        """True if all references are to be asked before the race goes on."""
        return self._sample is not None and not self._asked

    @property
    def is_hopeless(self) -> bool:
        """True if the default must not stand, and nothing right was found to compare plans with."""
        judgement = self.judgement
        return judgement is not None and judgement.is_against_default and judgement.plan is None

    def take(self, outcome: PlanMeasurement) -> None:
        """Takes note of the comparison of a plan with the default."""
        checks, is_plain = outcome.checks, outcome.plan.digest == self.plain.digest
        if is_plain and not outcome.thorough and self.judgement is None:
            self.times = replace(self.times, plain=outcome.seconds)
        if not self.job.reference.is_empty or self._asked or allows_fast_math(outcome.plan.flags):
            return
        if checks is not None and checks.verdict == "different" and _is_usual(checks):
            self._sample = checks.samples[-1]
        elif is_plain:
            self._judged(self._of_plain(outcome))

    def ask(self, dead: str = "") -> bool:
        """Asks all references.

        Args:
            dead: The reason why the default is known not to live; empty runs it.

        Returns:
            True if something else than before stands for the default: the race begins again.
        """
        if self._asked:
            return False
        self._asked = True
        begun = time.monotonic()
        judgement = judge_default(self.job, in_doubt=True, dead=dead, sample=self._sample or "")
        self._judged(judgement)
        self.times = replace(self.times, asking=round(time.monotonic() - begun, 3))
        if not judgement.is_against_default or judgement.plan is None:
            return False
        self.job = replace(self.job, reference=judgement.plan)
        return True

    def ask_after(self, error: NotExecutableError) -> bool:
        """Asks all references after the default has not compiled or run.

        Returns:
            True if the race begins again: something stands for the default, or the default needs
            more time.
        """
        if isinstance(error.__cause__, WorkerTimedOutError) and self.job.patience < _HOUR:
            changed = self.ask()
            self.job = replace(self.job, patience=_HOUR)
            return changed or (self.judgement is not None and self.judgement.verdict != "dies")
        return self.ask(dead=death_of(error.__cause__ or error))

    def _judged(self, judgement: Judgement) -> None:
        """Takes a judgement, and notes when its verdict came."""
        if self.judgement is None or self.judgement.verdict != judgement.verdict:
            until = round(time.monotonic() - self._begun, 3)
            self.times = replace(self.times, until=until)
        self.judgement = judgement

    def _of_plain(self, outcome: PlanMeasurement) -> Judgement:
        name, checks = self.plain.method, outcome.checks
        if checks is None:
            words = f"no reference: {name} does not run: {outcome.error}"
            return Judgement("no reference", words, implementations={name: outcome.error})
        if checks.verdict in ("equal", "close"):
            words = f"{DEFAULT.name} agrees with {name}"
            return Judgement("agrees", words, implementations={name: checks.verdict})
        words = f"no reference: the outputs depend on rounding: {checks.reason}"
        return Judgement("no reference", words, implementations={name: checks.verdict})


def _is_usual(checks: Checks) -> bool:
    """Returns True if the last sample is the user's or random, and not chosen to break a plan."""
    return bool(checks.samples) and checks.samples[-1].partition(" ")[0] in ("given", "random")
