"""Outcomes of plans that nobody has measured."""

from dataclasses import replace

from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.plans import Measured


def made_outcome(
    plan,
    ratio=1.2,
    low=1.1,
    control=1.0,
    thorough=True,
    seconds=1.0,
    load=0.0,
    memory=(0, 0),
    resident=(0, 0),
):
    """Returns an outcome; memory and what was resident are those of the default and the plan."""
    measured = Measured(ratio * seconds, seconds, ratio, low, ratio + 0.1, control, 60, load)
    measured = replace(
        measured,
        default_memory=memory[0],
        memory=memory[1],
        default_resident=resident[0],
        resident=resident[1],
    )
    return PlanMeasurement(plan, thorough, measured, Checks(True, "equal", "same", ("given",)))


def asked(method):
    """Returns the next plan of a method; None if it has none."""
    return next(iter(method.ask()), None)
