"""Outcomes of plans that nobody has measured."""

from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.plans import Measured


def made_outcome(plan, ratio=1.2, low=1.1, control=1.0, thorough=True, seconds=1.0, load=0.0):
    measured = Measured(ratio * seconds, seconds, ratio, low, ratio + 0.1, control, 60, load)
    return PlanMeasurement(plan, thorough, measured, Checks(True, "equal", "same", ("given",)))


def asked(method):
    """Returns the next plan of a method; None if it has none."""
    return next(iter(method.ask()), None)
