"""A small bank whose times are known: by opcode, size and decision."""

from random import Random

from hlograph.corpus.kernel_times import KernelTimes, KernelVariant, MeasuredKernel
from hlograph.corpus.plan_times import RunKernel
from tests.experiments.cost_model.data import KERNELS, seconds_of

DECISIONS = {
    "flags wide": ("true", 0.5),
    "fusion a1b2": ("unfuse 2", 3.0),
    "kernel a1b2": ("partitions 2", 0.8),
}
"""Value of each decision, and by which factor it changes the seconds."""


def variant(number: int, factor: float, name: str = "") -> KernelVariant:
    """Returns a variant of a kernel; the flag reaches the compilation, too."""
    seconds = 10 * seconds_of(number) * factor
    return KernelVariant(
        {name: DECISIONS[name][0]} if name else {},
        {"wide": True} if name.startswith("flags") else {},
        (seconds,) * 4,
        (3 * seconds,) * 2,
        0.1,
        (RunKernel(number, 1.0, seconds),),
    )


def bank(kernels: int, seed: int, family: str = "a") -> KernelTimes:
    """Returns random kernels, each with all decisions."""
    random = Random(seed)
    numbers = [random.randrange(len(KERNELS)) for _ in range(kernels)]
    return KernelTimes(
        KERNELS,
        [
            MeasuredKernel(
                f"{number:016}",
                f"{family}{place % 3}",
                {"sizes": {"8": 16}} if place % 2 else {},
                "machine",
                "avx512",
                0.0,
                (
                    variant(number, 1.0),
                    *(variant(number, factor, name) for name, (_, factor) in DECISIONS.items()),
                ),
            )
            for place, number in enumerate(numbers)
        ],
    )
