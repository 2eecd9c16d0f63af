"""The first use of a stored or given plan on a host: one trial in a worker, before it runs here.

A plan comes from a search on a machine of the same identity, but perhaps not on this one: from a
store that machines share, from a file that was shipped, or from before an update of the system. The
trial compiles it, compares its outputs, and times it briefly. Its outcome is kept with the
measurements, so that it costs once on a host.
"""

from __future__ import annotations

from dataclasses import replace

from hlograph.errors import HloError, NotExecutableError
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import SCREEN, Job, MeasurementRequest, PlanMeasurement
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.objectives import within_memory
from hlograph.plans import Measured, Plan

# A plan is slower here if its whole interval is below this ratio.
_SLOWER = 0.95

_PATIENCE = 120.0  # seconds that the default may take to compile, or to run, beside the plan


def refusal_here(job: Job, plan: Plan) -> str:
    """Returns why a plan must not be used on this host; empty if it may.

    The plan is tried in a worker, unless that was done here before. One that was written by hand,
    and never measured, is its author's decision, and is not tried.

    Args:
        job: The job.
        plan: The plan, of this program and machine.
    """
    if plan.is_empty or not (plan.measured or plan.default_fault):
        return ""
    measurements = _measurements(job, plan)
    outcome = measurements.last_here(plan)
    if outcome is None or outcome.accident:
        try:
            outcome = _tried(job, plan)
        except HloError as error:
            return f"it cannot be tried on this machine: {error}"
        measurements.add(outcome)
    return _refusal(job, outcome)


def note_judged(job: Job, plan: Plan) -> None:
    """Notes that a search on this host has chosen a plan in the place of a bad default."""
    if plan.default_fault and not plan.is_empty:
        _measurements(job, plan).add(PlanMeasurement(plan))


def _measurements(job: Job, plan: Plan) -> Measurements:
    """Returns where outcomes of a plan are kept; one for a bad default is not timed beside it."""
    measurements = Measurements(CacheKey.of(job), given=job.given)
    return measurements.beside(plan) if plan.default_fault else measurements


def _tried(job: Job, plan: Plan) -> PlanMeasurement:
    """Returns the outcome of a plan beside jaxlib's default.

    A default that is wrong, or does not live, says nothing. The plan runs beside itself then.

    Raises:
        HloError: The program cannot be measured.
    """
    if not plan.default_fault:
        try:
            return _measured(replace(job, patience=_PATIENCE), plan)
        except NotExecutableError:
            pass
    try:
        return _measured(replace(job, reference=plan, patience=_PATIENCE), plan)
    except NotExecutableError as error:
        return PlanMeasurement(plan, error=str(error))


def _measured(job: Job, plan: Plan) -> PlanMeasurement:
    effort = replace(SCREEN, thorough=not job.reference.is_empty)  # equal code is timed, too
    with Measurer(job, workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, effort)])
    return outcome


def _refusal(job: Job, outcome: PlanMeasurement) -> str:
    outcome = within_memory(outcome, job)
    if outcome.measured is None:
        return outcome.error
    if job.objective == "time" and _is_slower(outcome.measured):
        return f"it is slower on this machine: {outcome.measured}"
    return ""


def _is_slower(measured: Measured) -> bool:
    """Returns True if a plan is slower than the default without doubt.

    A trial is brief, and a busy machine favours the default or the plan.
    """
    return not measured.busy and measured.high < _SLOWER
