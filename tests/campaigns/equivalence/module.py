"""One task of the sweep: a module, and every pass on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hlograph
from hlograph import HloError, Module, corpus
from hlograph.execution.equivalence import EngineName, Equivalence, Limits, Reference
from hlograph.isolation import FlightRecorder

PIPELINES = ("xla-cpu", "xla-simplify")

SetResult = dict[str, Any]
"""One pass on one module, as a line of the results holds it."""


@dataclass(frozen=True)
class ModuleTask:
    """What a worker is asked for.

    Attributes:
        benchmark: Name of the module in the corpus.
        passes: Passes to run on it, each alone, and pipelines (``pipeline:NAME``).
        compile_ops: Modules of at most so many instructions are compiled after pipelines, too.
        samples: Random inputs.
        seed: Seed of the inputs.
        seconds: Longest time of one pass or one comparison.
        prepare: Passes to run before, on the module that is the original then.
    """

    benchmark: str
    passes: tuple[str, ...]
    compile_ops: int
    samples: int
    seed: int
    seconds: float
    prepare: tuple[str, ...] = ()


def make_worker(recorder: FlightRecorder) -> Callable[[ModuleTask], list[SetResult]]:
    """Returns what a worker process does with a task (``hlograph.isolation``)."""
    return lambda task: ModuleSweep(task, recorder).run()


class ModuleSweep:
    """Runs every pass of a task on its module and compares what comes of it.

    Results that passes have in common are compared once. The reference evaluator runs all; what
    it cannot run, and what pipelines make, is compiled.

    Args:
        task: The task.
        recorder: Told of each pass and comparison, for they may end the process.
    """

    def __init__(self, task: ModuleTask, recorder: FlightRecorder) -> None:
        self._task = task
        self._recorder = recorder
        self._module = corpus.benchmark(task.benchmark).load().clone()
        for name in task.prepare:
            self._recorded(name, lambda name=name: self._module.run(name))
        limits = Limits(
            compiled_ops=max(2 * task.compile_ops, 1), evaluator_seconds=task.seconds / 4
        )
        self._references: dict[EngineName, Reference] = {
            engine: Reference(
                self._module,
                samples=task.samples,
                seed=task.seed,
                engines=(engine,),
                limits=limits,
            )
            for engine in ("evaluator", "compiled")
        }
        self._compared: dict[tuple[str, EngineName], Equivalence] = {}

    def run(self) -> list[SetResult]:
        """Returns one result for each pass."""
        return [self._one(name) for name in self._task.passes]

    def _one(self, name: str) -> SetResult:
        result: SetResult = {"pass": name, "changed": False, "verdict": "equal"}
        module = self._module.clone()
        pipeline = name.startswith("pipeline:")
        entry = hlograph.pipelines[name.partition(":")[2]] if pipeline else name
        try:
            self._recorded(name, lambda: module.run(entry))
        except hlograph.PassError as error:
            return result | {"verdict": "failed", "reason": str(error)}
        if module.fingerprint() == self._module.fingerprint():
            return result
        result |= {"changed": True, "fingerprint": module.fingerprint()}
        result |= self._compare(name, module, "evaluator")
        compiles = self._module.op_count <= self._task.compile_ops
        if compiles and (pipeline or result["verdict"] == "not comparable"):
            compiled = self._compare(name, module, "compiled")
            if result["verdict"] == "not comparable" and "engine" in compiled:
                result |= compiled
            else:
                result["compiled"] = compiled
        return result

    def _compare(self, name: str, module: Module, engine: EngineName) -> SetResult:
        key = module.fingerprint(), engine
        begun = time.perf_counter()
        if key not in self._compared:
            self._compared[key] = self._recorded(
                f"{name} {engine}", lambda: self._references[engine].compare(module)
            )
        found = self._compared[key]
        result: SetResult = {
            "verdict": found.verdict,
            "reason": found.reason,
            "seconds": round(time.perf_counter() - begun, 3),
        }
        for finding in found.findings:
            result |= {"engine": engine, "ulp": finding.ulp, "relative": finding.relative}
        return result

    def _recorded(self, note: str, work: Callable[[], Any]) -> Any:
        self._recorder.begin(note.encode(), self._task.seconds)
        try:
            return work()
        finally:
            self._recorder.end()


def check_names(passes: tuple[str, ...]) -> None:
    """Raises UnknownNameError for a name that is neither a pass nor a pipeline."""
    for name in passes:
        if name.startswith("pipeline:"):
            hlograph.pipelines[name.partition(":")[2]]
        else:
            hlograph.passes[name]


def failure(name: str, error: HloError, verdict: str) -> SetResult:
    """Returns the result of a pass that ended its worker."""
    return {"pass": name, "changed": True, "verdict": verdict, "reason": str(error)}
