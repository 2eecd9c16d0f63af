"""Profile of a program: times of its kernels, memory, and a bound on its speed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hlograph.profiling.cost import Cost, cost_of
from hlograph.profiling.kernels import Kernel, measure
from hlograph.profiling.peaks import Peaks
from hlograph.profiling.table import profile_table
from hlograph.profiling.trace import Run

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a program in bytes.

    Attributes:
        arguments: Its arguments.
        outputs: Its results, also those that replace arguments.
        aliased: The part of the results that replaces donated arguments.
        temporaries: Everything else at run time.
        code: Generated code; 0 if XLA does not say.
        peak: The most that is in use at one time; 0 if XLA does not say.
    """

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int
    peak: int

    @classmethod
    def of(cls, executable: LoadedExecutable) -> Memory:
        """Returns the memory of an executable, as XLA planned it."""
        stats = executable.get_compiled_memory_stats()
        return cls(
            arguments=stats.argument_size_in_bytes,
            outputs=stats.output_size_in_bytes,
            aliased=stats.alias_size_in_bytes,
            temporaries=stats.temp_size_in_bytes,
            code=stats.generated_code_size_in_bytes,
            peak=int(getattr(stats, "peak_memory_in_bytes", 0)),
        )


@dataclass(frozen=True)
class Profile:
    """Run time, memory and work of a program that jaxlib compiled.

    Attributes:
        name: Name of the module.
        seconds: Median wall seconds of a run, without the profiler.
        recorded_seconds: The same under the profiler.
        accounted: How well the kernels' times explain a run: near 1 is good. See
            ``kernels.Measurement``.
        kernels: Time of each kernel, slowest first, and of ``outside kernels``; their sum is
            ``seconds``.
        memory: Memory of the program.
        cost: Work of a run.
    """

    name: str
    seconds: float
    recorded_seconds: float
    accounted: float
    kernels: tuple[Kernel, ...]
    memory: Memory
    cost: Cost

    def by_kind(self) -> dict[str, float]:
        """Returns the share of the time of each kind of kernel, largest first; they sum to 1."""
        shares: dict[str, float] = {}
        total = sum(kernel.seconds for kernel in self.kernels)
        for kernel in self.kernels:
            shares[kernel.kind] = shares.get(kernel.kind, 0.0) + kernel.seconds / total
        return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))

    def roofline_seconds(self, peaks: Peaks) -> float:
        """Returns the least seconds that the program's work takes at a machine's peak speeds.

        It is a rough bound. Bytes that stay in a cache count as bytes of memory, so a program can
        be faster; and a program may do work that another one with the same results does not need.
        """
        return max(self.cost.flops / peaks.flops, self.cost.bytes_accessed / peaks.bytes)

    def headroom(self, peaks: Peaks) -> float:
        """Returns how many times as long as the roofline a run takes; inf without any work."""
        roofline = self.roofline_seconds(peaks)
        return self.seconds / roofline if roofline else float("inf")

    def table(self, limit: int = 20, peaks: Peaks | None = None) -> str:
        """Returns the profile as text of several lines.

        Args:
            limit: Largest number of kernels to show.
            peaks: Peak speeds, for the roofline; None leaves it out.
        """
        return profile_table(self, limit, peaks)

    def to_json(self) -> dict[str, Any]:
        """Returns the profile as a JSON object, with the shares by kind."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "recorded_seconds": self.recorded_seconds,
            "accounted": self.accounted,
            "by_kind": self.by_kind(),
            "memory": asdict(self.memory),
            "cost": self.cost.to_json(),
            "kernels": [kernel.to_json() for kernel in self.kernels],
        }


def profile_executable(
    executable: LoadedExecutable,
    run: Run,
    *,
    runs: int = 20,
    max_seconds: float = 20.0,
    before: Run | None = None,
) -> Profile:
    """Returns the profile of a program that jaxlib compiled.

    Args:
        executable: The program, such as ``jax.jit(f).lower(x).compile().runtime_executable()``.
        run: Runs it once, returns when the results are there, and runs no other program.
        runs: Number of runs without and under XLA's profiler.
        max_seconds: Seconds for all runs, which lowers their number.
        before: Called before each run, outside of its time, for example to copy donated inputs.

    Raises:
        HloError: As for ``kernels.measure``.
        ValueError: The number of runs is not positive.
    """
    measured = measure(executable, run, runs=runs, max_seconds=max_seconds, before=before)
    calls = {kernel.name: kernel.calls for kernel in measured.kernels}
    return Profile(
        name=measured.program.name,
        seconds=measured.seconds,
        recorded_seconds=measured.recorded_seconds,
        accounted=measured.accounted,
        kernels=measured.kernels,
        memory=Memory.of(executable),
        cost=cost_of(executable, measured.program, calls),
    )
