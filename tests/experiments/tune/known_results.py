"""Results of two competitors on three programs, with known means."""

import math
from dataclasses import replace

from experiments.tune.results import CurvePoint, RaceResult
from hlograph.plans import Placement, Plan

CURVE = (CurvePoint(5.0, 1, 1.0, 1.0), CurvePoint(15.0, 2, 2.0, 1.0), CurvePoint(25.0, 3, 2.5, 2.4))
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

FAST = RaceResult(
    competitor="joint",
    seed=0,
    program="n-body/forces/n512",
    family="n-body",
    method="flags: no library",
    decisions=("flag xla_cpu_experimental_ynn_fusion_type = ",),
    numerics="close",
    outputs="close",
    default_ms=3.2,
    raced=2.1,
    ratio=2.0,
    low=1.9,
    high=2.1,
    plans=3,
    seconds=20.0,
    curve=CURVE,
    plan=PLAN,
)
KEPT = RaceResult(
    *("joint", 0, "ode/a/b", "ode"), numerics="close", default_ms=3.2, plans=3, curve=CURVE[:1]
)


def result(competitor, program, ratio, seed=0, **more):
    """Returns a result with a ratio; 1 keeps the default."""
    who = {"competitor": competitor, "program": program, "seed": seed}
    speed = {"ratio": ratio, "low": 0.95 * ratio, "high": 1.05 * ratio}
    return replace(KEPT, **who, **more) if ratio == 1 else replace(FAST, **who, **(speed | more))


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
