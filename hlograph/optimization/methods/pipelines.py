"""Whole pipelines of passes before XLA's own."""

from __future__ import annotations

from hlograph.optimization.methods.protocol import Listed, Method
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program

_STEPS = (("xla-simplify",), ("algsimp", "cse", "dce"), ("while-loop-invariant-code-motion",))


def pipelines(program: Program, numerics: Numerics) -> Method:
    """Returns the method that tries ``xla-simplify`` and a few short pass orders.

    The passes run in the workers alone: in this process one that fails a CHECK would end it.
    """
    name, fingerprint = program.name, program.fingerprint
    plans = [
        Plan(name, fingerprint, steps, numerics=numerics, method=f"passes: {' '.join(steps)}")
        for steps in _STEPS
    ]
    return Listed(iter(plans))
