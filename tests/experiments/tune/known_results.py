"""Results of two competitors on three programs, with known means."""

import math
from dataclasses import replace

from experiments.speed.results import CurvePoint
from experiments.tune.results import TuneResult
from hlograph.plans import Placement, Plan
from tests.experiments.speed.known_results import FAST

CURVE = (CurvePoint(5.0, 1, 1.0, 1.0), CurvePoint(15.0, 2, 2.0, 1.0), CurvePoint(25.0, 3, 2.5, 2.4))
SPEED = replace(FAST, plans=3, curve=CURVE)
KEPT = replace(SPEED, method="", decisions=(), ratio=1.0, low=1.0, high=1.0, curve=CURVE[:1])
PLAN = Plan(
    steps=("call-inliner", "dot-merger(%a)", "dot-merger(%b)"),
    layouts={"argument:0": "{0,1}", "dot.1": "{0,1}", "dot.2": "{0,1}"},
    flags={"xla_cpu_prefer_vector_width": 512, "xla_cpu_optimize_for_size": True},
    placements=(
        Placement("fusion.1", "fuse", "fusion.2"),
        Placement("dot.1", "library", "none"),
        Placement("fusion.3", "partitions", "2,2"),
    ),
    placed="1",
)


def result(competitor, program, ratio, seed=0, **more):
    """Returns a result with a ratio; 1 keeps the default."""
    found = {"ratio": ratio, "low": 0.95 * ratio, "high": 1.05 * ratio}
    speed = (
        replace(KEPT, program=program) if ratio == 1 else replace(SPEED, program=program, **found)
    )
    plan = None if ratio == 1 else PLAN
    return TuneResult(competitor, seed, replace(speed, **more), plan)


RESULTS = [
    result("joint", "a", 4.0),
    result("joint", "a", 1.0, seed=1),
    result("joint", "b", 1.15),
    result("joint", "b", 1.15, seed=1),
    result("joint", "c", 1.0),
    result("joint", "c", 0.9, seed=1),
    result("flags,greedy", "a", 1.0),
    result("flags,greedy", "a", 1.0, seed=1),
    result("flags,greedy", "b", 1.0),
    result("flags,greedy", "b", 1.0, seed=1),
    result("flags,greedy", "c", 1.0, default_ms=math.nan),
    result("flags,greedy", "c", 1.0, seed=1),
]
