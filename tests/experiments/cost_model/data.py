"""A small data set of plan times whose order a cost model can learn."""

from collections.abc import Sequence

import numpy as np

from hlograph.corpus.plan_times import PlanTime, PlanTimes, RunKernel

SIZES = (64, 256, 1024, 4096)
OPCODES = {"sine": 8.0, "negate": 1.0, "tanh": 4.0}


def kernel(opcode: str, size: int) -> str:
    """Returns a kernel of one instruction."""
    return (
        f"HloModule kernel\n\nENTRY %n0 {{\n  %n1 = f32[{size},64]{{1,0}} parameter(0)\n"
        f"  ROOT %n2 = f32[{size},64]{{1,0}} {opcode}(%n1)\n}}\n"
    )


KERNELS = [kernel(opcode, size) for opcode in OPCODES for size in SIZES]


def seconds_of(number: int) -> float:
    """Returns the seconds of a call, by opcode and size."""
    opcode, size = list(OPCODES)[number // len(SIZES)], SIZES[number % len(SIZES)]
    return 1e-8 * OPCODES[opcode] * size


def plan(program: str, numbers: Sequence[int], *, wide: bool = False) -> PlanTime:
    """Returns a plan of kernels; one with the flag is twice as fast."""
    times = [seconds_of(number) * (0.5 if wide else 1.0) for number in numbers]
    total = sum(times)
    return PlanTime(
        program=program,
        decisions={"number": str(numbers)},
        flags={"wide": True} if wide else {},
        ratios=(1e-4 / total,) * 4,
        seconds=total,
        default_seconds=1e-4,
        compile_seconds=0.1,
        memory=0,
        accounted=1.0,
        outside_seconds=0.0,
        kernels=tuple(map(RunKernel, numbers, [1.0] * len(numbers), times)),
    )


def times(programs: int, plans: int, seed: int) -> PlanTimes:
    """Returns random plans of some programs."""
    random = np.random.default_rng(seed)
    return PlanTimes(
        KERNELS,
        [
            plan(
                f"program {number}",
                random.integers(len(KERNELS), size=3).tolist(),
                wide=bool(random.integers(2)),
            )
            for number in range(programs)
            for _ in range(plans)
        ],
    )
