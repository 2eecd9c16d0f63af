"""Search on cuts of the program, whose results the joint search begins with."""

from __future__ import annotations

from hlograph.optimization.methods.joint import JointSearch
from hlograph.optimization.methods.tuned import tuned
from hlograph.tuning.cutting.searcher import CutSearch
from hlograph.tuning.space import ProgramSpace


def _search(space: ProgramSpace, seed: int) -> CutSearch:
    return CutSearch(space, JointSearch(space, seed))


cut = tuned("cut", _search)
"""Makes the method that tunes heavy places by themselves, composes them, and goes on jointly."""
