"""The worker process that draws, compiles and times kernels."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from experiments.kernel_bank.drawing import draw
from experiments.kernel_bank.timing import CacheSweep, Compiled, VariantTimes, run_in_turns
from experiments.kernel_bank.variants import decisions_of
from hlograph.errors import HloError
from hlograph.execution import lock
from hlograph.execution.equivalence.inputs import InputMaker
from hlograph.execution.process_memory import keep_freed_memory
from hlograph.execution.runs import Run, on_device
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.compiled import FinalModule
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.flag_effects import machine_code
from hlograph.plans.knobs import Point
from hlograph.plans.versions import Versions
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.storage.machine import instruction_set, machine

# A kernel that takes longer than this for one run, or to compile, is left out.
_MOST_RUN_SECONDS, _MOST_COMPILE_SECONDS = 0.2, 2.0
# A loop may never end in another size: a worker ends after these seconds.
_LIMIT = 20.0
# CPU seconds of compilations after which no more variants of a kernel are compiled.
_ENOUGH_COMPILED = 0.6


class KernelTask(NamedTuple):
    """A kernel to record.

    Attributes:
        kernel: Its text in an optimized module.
        number: Number of the draw; 0 for the kernel as it is.
        seed: Seed of the draws.
        decisions: Number of decisions beside the default.
    """

    kernel: str
    number: int
    seed: int
    decisions: int


@dataclass(frozen=True)
class Recorded:
    """A kernel that was recorded.

    Attributes:
        change: What was changed of it.
        variants: Decisions, flags, seconds of the compilation, and times of each variant.
        load: Load of the machine while it was timed.
        machine: Key of the machine that timed it.
        isa: Instruction set that it was compiled for.
        seconds: Seconds of the parts of the recording.
    """

    change: dict[str, Any]
    variants: list[tuple[Point, dict[str, Any], float, VariantTimes]]
    load: float
    machine: str
    isa: str
    seconds: dict[str, float] = field(default_factory=dict)


class _CompiledVariant(NamedTuple):
    point: Point
    flags: dict[str, Any]
    compile_seconds: float
    compiled: Compiled


class KernelRecorder:
    """Records kernels, one after the other.

    Nothing else that a worker does runs beside the measurements of another one. Freed memory is
    kept, so that results of a run need no new pages.

    Args:
        recorder: Records each operation that may end the process.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder
        self._sweep = CacheSweep()
        keep_freed_memory()
        gc.disable()  # garbage is collected before each measurement
        self._is_first = True

    def __call__(self, task: KernelTask) -> Recorded | HloError:
        """Returns what was recorded, or why the kernel is left out."""
        try:
            return self._recorded(task)
        except HloError as error:
            return HloError(str(error))
        except (RuntimeError, ValueError, KeyError, IndexError, StopIteration) as error:
            return HloError(f"an unknown form: {error!r}"[:200])
        finally:
            if self._is_first:  # what was imported need not be looked through each time
                gc.collect()
                gc.freeze()
                self._is_first = False

    def _recorded(self, task: KernelTask) -> Recorded:
        note = task.kernel.encode()[:1000]
        begun = time.perf_counter(), time.process_time()
        with lock.compiling():
            with self._recorder.noted(note, _LIMIT):
                drawn = draw(task.kernel, task.number, task.seed)
                program = Program.of(drawn.module)
                # Another seed than that of the draw, so that decisions do not depend on its sizes.
                random = Random(f"decisions {task.seed} {task.number} {task.kernel}")
                versions = Versions(program, "close")
                inputs = on_device(
                    InputMaker(program.flow, program.signature.parameters).make(0, 0)
                )
                points = decisions_of(versions, task.decisions, random)
            prepared = time.perf_counter(), time.process_time()
            variants: dict[object, _CompiledVariant] = {}
            for point in points:
                if time.process_time() - prepared[1] < _ENOUGH_COMPILED:
                    self._add(variants, versions, point, inputs)
            gc.collect()
        compiled = time.perf_counter(), time.process_time()
        with lock.alone(), self._recorder.noted(note, _LIMIT):
            alone = time.perf_counter(), time.process_time()
            run = run_in_turns([variant.compiled for variant in variants.values()], self._sweep)
            timed = time.perf_counter(), time.process_time()
        with lock.compiling():
            times = run.times()
        ended = time.perf_counter(), time.process_time()
        moments = (begun, prepared, compiled, alone, timed, ended)
        return Recorded(
            drawn.change.to_json(),
            [
                (v.point, v.flags, v.compile_seconds, of_variant)
                for v, of_variant in zip(variants.values(), times, strict=True)
            ],
            run.load,
            machine().key,
            instruction_set(),
            _parts(moments),
        )

    def _add(
        self,
        variants: dict[object, _CompiledVariant],
        versions: Versions,
        point: Point,
        inputs: list[Any],
    ) -> None:
        """Compiles and warms a variant, unless its code is that of an earlier one.

        Raises:
            HloError: The default does not compile or run.
        """
        try:
            with self._recorder.noted(point.to_json().encode()[:1000], _LIMIT):
                plan = versions.plan(point)
                begun = time.perf_counter()
                executable = compile_program(versions.program, plan)
                seconds = time.perf_counter() - begun
                code = _code(executable, plan)
                if code in variants:
                    return
                run = Run(executable, inputs, versions.program.donated)
                _check(run.seconds(), seconds)
        except (HloError, RuntimeError):
            if not variants:
                raise
            return
        compiled = Compiled(run, OptimizedModule.of(executable))
        variants[code] = _CompiledVariant(point, dict(plan.flags), seconds, compiled)


def _check(run_seconds: float, compile_seconds: float) -> None:
    if run_seconds > _MOST_RUN_SECONDS or compile_seconds > _MOST_COMPILE_SECONDS:
        raise HloError("left out: takes too long to compile or to run")


def _code(executable: Any, plan: Plan) -> object:
    """Returns what is equal for equal code: the final module, and the machine code."""
    layouts = tuple(sorted(plan.layouts.items()))
    code = frozenset(machine_code(executable).items())
    return FinalModule.of(executable).digest, layouts, code


def _parts(moments: tuple[tuple[float, float], ...]) -> dict[str, float]:
    """Returns wall and CPU seconds between moments."""
    names = ("prepare", "compile", "wait", "run", "read")
    parts = {}
    for name, before, after in zip(names, moments[:-1], moments[1:], strict=True):
        parts[name] = after[0] - before[0]
        parts[f"{name} cpu"] = after[1] - before[1]
    return parts
