"""Times of the kernels of a program that jaxlib compiled."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from hlograph.errors import HloError
from hlograph.execution.turns import in_turns
from hlograph.profiling.attribution import Consumers, Times, attribute, clipped, without_overhead
from hlograph.profiling.kernel_categories import OUTSIDE, kind_of, library_of
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.trace import RecordedRun, Run, record

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable

# XLA collects and Python reads recorded steps, some 10 µs each. A program of more steps in one run
# is recorded once.
_MOST_RECORDED_STEPS = 100_000

# A short program is run more often, for a better median.
_LEAST_SECONDS = 0.05
_MOST_RUNS = 1000

# Turns of runs without and under the profiler.
_TURNS = 4


@dataclass(frozen=True, slots=True)
class Kernel:
    """Time of one instruction of the optimized module.

    Attributes:
        name: Name of the instruction; ``outside kernels`` for the rest of the run's time.
        computation: Name of its computation, such as the body of a loop.
        opcode: XLA's name of its opcode.
        kind: Kind of kernel, one of ``hlograph.profiling.KINDS``.
        calls: Number of times that it runs in a run. Sorts count twice, as XLA copies first.
        seconds: Seconds per run in all calls, without the instructions that it calls. Where
            several run at the same time, each has its share of that time.
        shape: Shape of its result.
        library: ``ynn``, ``onednn``, ``eigen`` or ``none``.
        op_name: Name of the operation in the source; may be empty.
    """

    name: str
    computation: str
    opcode: str
    kind: str
    calls: float
    seconds: float
    shape: str
    library: str
    op_name: str

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Measurement:
    """Times of a program's runs.

    Attributes:
        program: The module that ran.
        seconds: Median wall seconds of a run, without the profiler.
        recorded_seconds: The same under the profiler.
        accounted: Sum of the kernels' times, after the profiler's own time was removed, over the
            time of a run without it, both of the fastest quarter of the runs. The kernels' times
            are then scaled so that they sum to ``seconds``. On a quiet machine it is within 0.1 of
            1. Farther away they are rough: the machine was busy, and the runs under the profiler
            were others than those without it.
        kernels: The kernels, slowest first, with the row ``outside kernels``.
        fastest: The fastest run under the profiler, with all of its steps.
        quiet_seconds: Mean wall seconds of the fastest quarter of the runs without the profiler,
            which other programs of the machine disturbed least.
    """

    program: OptimizedModule
    seconds: float
    recorded_seconds: float
    accounted: float
    kernels: tuple[Kernel, ...]
    fastest: RecordedRun
    quiet_seconds: float


def kernel_times(
    executable: LoadedExecutable,
    run: Run,
    *,
    runs: int = 20,
    max_seconds: float = 20.0,
    before: Run | None = None,
) -> tuple[Kernel, ...]:
    """Returns where a run of a program spends its time, slowest first; see ``measure``."""
    return measure(executable, run, runs=runs, max_seconds=max_seconds, before=before).kernels


def measure(
    executable: LoadedExecutable,
    run: Run,
    *,
    runs: int = 20,
    max_seconds: float = 20.0,
    before: Run | None = None,
) -> Measurement:
    """Measures the run time of a program, and of each instruction of its optimized module.

    The program runs in turn without and under XLA's profiler. The times sum to the median run
    without it: see ``Measurement.accounted``.

    Args:
        executable: The program, compiled by jaxlib, such as ``Compiled.runtime_executable()``.
        run: Runs it once, returns when the results are there, and runs no other program.
        runs: Number of runs of either sort. Short programs run more often without the profiler,
            and programs of many steps less often under it.
        max_seconds: Seconds for all runs, which lowers their number, but not below 1 of each sort.
        before: Called before each run, outside of its time, for example to copy donated inputs.

    Raises:
        HloError: The executable is none of one module, ``run`` does not run it, or another profile
            is being recorded.
        ValueError: The number of runs is not positive.
    """
    if runs < 1:
        raise ValueError(f"expected at least 1 run, got {runs}")
    program = OptimizedModule.of(executable)
    plain, recorded = _runs(run, runs, max_seconds, program, before)
    usual = _fastest_mean(plain)
    added = _fastest_mean([r.seconds for r in recorded]) - usual
    fastest = _fastest(recorded)
    times = without_overhead(attribute(fastest, program), program, added)
    seconds = median(plain)
    return Measurement(
        program=program,
        seconds=seconds,
        recorded_seconds=median(r.seconds for r in recorded),
        accounted=times.seconds / usual,
        kernels=_kernels(times, program, seconds / times.seconds),
        fastest=clipped(fastest[0], Consumers(program)),
        quiet_seconds=usual,
    )


def _runs(
    run: Run, runs: int, max_seconds: float, program: OptimizedModule, before: Run | None
) -> tuple[list[float], list[RecordedRun]]:
    """Returns the seconds of runs without the profiler, and runs under it, in turns."""
    first = record(run, 1, program.instructions, before)
    if not first or not first[0].spans:
        raise HloError(
            f"XLA's profiler recorded no step of {program.name}: expected a function `run` that "
            "runs the executable and waits for its results, on the CPU"
        )
    plain: list[float] = []
    runs = max(1, min(runs, int(max_seconds / (2 * first[0].seconds))))
    most = min(runs, _MOST_RECORDED_STEPS // len(first[0].spans))
    if most == 0:
        return _plain_times(run, runs, _LEAST_SECONDS, before), first
    turns = min(_TURNS, most)
    recorded: list[RecordedRun] = []

    def timed(calls: int) -> float:
        plain.extend(_plain_times(run, calls, _LEAST_SECONDS / turns, before))
        return plain[-1]

    def under_profiler(calls: int) -> float:
        recorded.extend(record(run, calls, program.instructions, before))
        return recorded[-1].seconds if recorded else 0.0

    calls = [-(-runs // turns), -(-most // turns)]
    in_turns([timed, under_profiler], turns=turns, least=turns, calls=calls)
    return plain, recorded


def _plain_times(run: Run, runs: int, least: float, before: Run | None) -> list[float]:
    """Returns the seconds of runs without the profiler, for at least that many seconds."""
    times: list[float] = []
    while len(times) < runs or (sum(times) < least and len(times) < _MOST_RUNS):
        if before:
            before()
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return times


def _fastest(runs: list[RecordedRun]) -> list[RecordedRun]:
    """Returns the quarter of the runs that other programs of the machine disturbed least."""
    return sorted(runs, key=lambda run: run.seconds)[: -(-len(runs) // 4)]


def _fastest_mean(times: list[float]) -> float:
    return fmean(sorted(times)[: -(-len(times) // 4)])


def _kernels(times: Times, program: OptimizedModule, scale: float) -> tuple[Kernel, ...]:
    kernels = [Kernel(OUTSIDE, "", "", OUTSIDE, 1, times.outside * scale, "", "none", "")]
    for name, calls in times.calls.items():
        instruction = program.instructions[name]
        kernels.append(
            Kernel(
                name,
                instruction.computation,
                instruction.opcode,
                kind_of(instruction, program),
                calls,
                times.own[name] * scale,
                instruction.shape,
                library_of(instruction),
                instruction.op_name,
            )
        )
    return tuple(sorted(kernels, key=lambda kernel: (-kernel.seconds, kernel.name)))
