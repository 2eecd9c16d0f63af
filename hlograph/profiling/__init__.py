"""Profiles programs that the user's jaxlib compiled for XLA:CPU.

    from hlograph.profiling import measured_peaks, profile_executable

    compiled = jax.jit(step).lower(params, batch).compile()
    profile = profile_executable(
        compiled.runtime_executable(), lambda: jax.block_until_ready(compiled(params, batch))
    )
    print(profile.table(peaks=measured_peaks()))
    profile.by_kind()                       # {"dot": 0.72, "elementwise": 0.11, ...}

``profile_program`` compiles a program itself, also with a plan. jax and jaxlib are imported when a
function needs them.

The times come from XLA's profiler, and what it takes itself is removed: nothing beside steps of
microseconds. Where all steps take some ten nanoseconds, as in a loop over a few numbers, a run
takes ten times as long under the profiler. Then the times are rough, and the time outside of
kernels comes out up to twice as long as it is, at the cost of the loop.
"""

from hlograph.profiling.cost import RunCost
from hlograph.profiling.kernel_categories import KINDS, kind_of
from hlograph.profiling.kernels import Kernel, kernel_times
from hlograph.profiling.of_program import profile_program
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.peaks import Peaks, measured_peaks
from hlograph.profiling.profile import MemoryUsage, Profile, profile_executable

__all__ = [
    "KINDS",
    "Kernel",
    "MemoryUsage",
    "OptimizedModule",
    "Peaks",
    "Profile",
    "RunCost",
    "kernel_times",
    "kind_of",
    "measured_peaks",
    "profile_executable",
    "profile_program",
]
