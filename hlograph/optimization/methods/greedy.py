"""Greedy merging of plans that were faster than the default."""

from __future__ import annotations

from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods.protocol import HELPS, Method
from hlograph.plans import Numerics, Plan, PlanError, Program


class GreedyMerge:
    """Merges the fastest plan with other plans that were faster than the default.

    The partners of the fastest plan are tried from fast to slow; when a merged plan is the
    fastest, its partners are tried.
    """

    def __init__(self) -> None:
        self._helpful: dict[str, PlanMeasurement] = {}
        self._asked: set[str] = set()

    def ask(self) -> Plan | None:
        """Returns the next merged plan that was not measured; None if there is none now."""
        ranked = sorted(self._helpful.values(), key=lambda outcome: -outcome.ratio)
        for other in ranked[1:]:
            merged = _merged(ranked[0].plan, other.plan)
            if merged is not None and merged.digest not in self._asked:
                self._asked.add(merged.digest)
                return merged
        return None

    def tell(self, outcome: PlanMeasurement) -> None:
        """Takes note of a plan's speed."""
        self._asked.add(outcome.plan.digest)
        if outcome.ratio >= HELPS:
            self._helpful[outcome.plan.digest] = outcome
        else:
            self._helpful.pop(outcome.plan.digest, None)  # its lead did not last


def greedy(program: Program, numerics: Numerics) -> Method:
    """Returns the method that merges what helped."""
    del program, numerics
    return GreedyMerge()


def _merged(best: Plan, other: Plan) -> Plan | None:
    """Returns the plans merged, the best one's decisions first; None if they contradict."""
    try:
        return other | best
    except PlanError:
        return None
