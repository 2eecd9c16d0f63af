"""Measurement of a case in jaxlib: default and form in turns, with compared outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from benchmarks.speed_rules.catalogue import Case
from hlograph.measuring.service import Measurer
from hlograph.measuring.trial import FINAL, Effort, Job, MeasurementRequest, PlanMeasurement
from hlograph.plans import Numerics, Plan, Program
from hlograph.transforms.sweeping import PREPARATION, sweep


@dataclass(frozen=True)
class Measurement:
    """Result of a case.

    Attributes:
        case: The case.
        places: Number of places where the rules applied.
        outcome: The answer of the measuring service; None if no rule applied.
    """

    case: Case
    places: int
    outcome: PlanMeasurement | None


def planned(case: Case, numerics: Numerics = "close") -> tuple[Program, Plan]:
    """Returns the program of a case, and the plan that applies the case's rules."""
    program = Program.of(jax.jit(case.function).lower(*case.arguments))
    return program, plan_of_rules(program, case.rules, numerics)


def plan_of_rules(program: Program, rules: Sequence[str], numerics: Numerics = "close") -> Plan:
    """Returns the plan that applies rules at all of their places, one rule after the other."""
    module = program.module()
    fingerprint = module.fingerprint()
    for step in PREPARATION:
        module.run(step)
    places = [place for rule in rules for place in sweep(module, rule)]
    steps = (*PREPARATION, *places) if places else ()
    name = " + ".join(rules)
    return Plan(program.name, fingerprint, steps, numerics=numerics, method=name)


def measured(case: Case, effort: Effort = FINAL, numerics: Numerics = "close") -> Measurement:
    """Measures a case in a worker process."""
    program, plan = planned(case, numerics)
    if not plan.steps:
        return Measurement(case, 0, None)
    given = _given(case.arguments)
    with Measurer(Job(program, given, numerics), workers=1) as measurer:
        (outcome,) = measurer.measure([MeasurementRequest(plan, effort)])
    return Measurement(case, len(plan.steps) - len(PREPARATION), outcome)


def _given(arguments: tuple[Any, ...]) -> list[np.ndarray] | None:
    leaves = jax.tree.leaves(arguments)
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        return None
    return [np.asarray(leaf) for leaf in leaves]
