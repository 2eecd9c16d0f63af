"""A result on a program of the speed set."""

from experiments.speed.results import CurvePoint, SpeedResult

FAST = SpeedResult(
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
    control=1.0,
    plans=12,
    seconds=20.0,
    curve=(CurvePoint(1.5, 1, 1.0, 1.0), CurvePoint(2.5, 2, 2.2, 1.0)),
)
