"""Comparison of the results of all passes on one module with the module."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import hlograph
from hlograph import Module
from hlograph.execution.equivalence import EngineName, Equivalence, Limits, OriginalModule
from hlograph.isolation import FlightRecorder
from tests.campaigns.framework.module_sets import load
from tests.campaigns.framework.sweep import Result, SweepConfig, SweepTask
from tests.campaigns.framework.tasks import noted

PIPELINES = ("xla-cpu", "xla-simplify")


@dataclass(frozen=True)
class EquivalenceConfig(SweepConfig):
    """Settings of the sweep."""

    out: Path = Path("runs/equivalence")
    """Folder of the results; a sweep found in it is continued."""
    passes: tuple[str, ...] = ()
    """Passes and pipelines (pipeline:NAME); none is every pass and both reference pipelines."""
    compile_ops: int = 200
    """Modules of at most so many instructions are also compiled: after pipelines, and where the
    reference evaluator cannot run them."""
    samples: int = 1
    """Random inputs for each module."""
    seed: int = 0
    """Seed of the inputs."""

    def names(self) -> tuple[str, ...]:
        """Returns the names of the passes and pipelines.

        Raises:
            UnknownNameError: A name is neither a pass nor a pipeline.
        """
        if not self.passes:
            return (*hlograph.passes.names, *(f"pipeline:{name}" for name in PIPELINES))
        for name in self.passes:
            _entry(name)
        return self.passes


def make_worker(
    config: EquivalenceConfig, recorder: FlightRecorder
) -> Callable[[SweepTask], list[Result]]:
    """Returns the function that does a task in a worker process (`hlograph.isolation`)."""

    def work(task: SweepTask) -> list[Result]:
        comparison = PassComparison(load(task.benchmark), config, recorder)
        return [comparison.result(name) for name in task.names]

    return work


class PassComparison:
    """Runs passes on a module, each alone, and compares the results with the module.

    The reference evaluator runs all results. Results of pipelines, and those that it cannot run,
    are compiled. A result that several passes have in common is compared once.

    Args:
        module: The module, which is changed by the passes that prepare it.
        config: Settings of the sweep.
        recorder: Where each pass and each comparison is noted.
    """

    def __init__(self, module: Module, config: EquivalenceConfig, recorder: FlightRecorder) -> None:
        self._module, self._config = module, config
        self._noted = partial(noted, recorder, seconds=config.max_seconds)
        for name in config.prepare:
            with self._noted(name):
                module.run(name)
        limits = Limits(
            compiled_ops=max(2 * config.compile_ops, 1), evaluator_seconds=config.max_seconds / 4
        )
        self._references: dict[EngineName, OriginalModule] = {
            engine: OriginalModule(
                module, samples=config.samples, seed=config.seed, engines=(engine,), limits=limits
            )
            for engine in ("evaluator", "compiled")
        }
        self._compared: dict[tuple[str, EngineName], Equivalence] = {}

    def result(self, name: str) -> Result:
        """Returns the result of one pass or pipeline.

        It has `name`, `changed`, `verdict` and `reason`; for a change also `fingerprint`, `seconds`
        and, as far as there are any, `engine`, `ulp`, `relative` and `compiled`.
        """
        result: Result = {"name": name, "changed": False, "verdict": "equal"}
        module = self._module.clone()
        try:
            with self._noted(name):
                module.run(_entry(name))
        except hlograph.PassError as error:
            return result | {"verdict": "failed", "reason": str(error)}
        if module.fingerprint() == self._module.fingerprint():
            return result
        result |= {"changed": True, "fingerprint": module.fingerprint()}
        result |= self._compare(name, module, "evaluator")
        not_comparable = result["verdict"] == "not comparable"
        compiles = self._module.op_count <= self._config.compile_ops
        if compiles and (name.startswith("pipeline:") or not_comparable):
            compiled = self._compare(name, module, "compiled")
            if not_comparable and "engine" in compiled:
                result |= compiled
            else:
                result["compiled"] = compiled
        return result

    def _compare(self, name: str, module: Module, engine: EngineName) -> Result:
        key = module.fingerprint(), engine
        begin = time.perf_counter()
        if key not in self._compared:
            with self._noted(f"{name} {engine}"):
                self._compared[key] = self._references[engine].compare(module)
        found = self._compared[key]
        result: Result = {
            "verdict": found.verdict,
            "reason": found.reason,
            "seconds": round(time.perf_counter() - begin, 3),
        }
        for finding in found.findings:
            result |= {"engine": engine, "ulp": finding.ulp, "relative": finding.relative}
        return result


def _entry(name: str) -> hlograph.Pass | hlograph.Pipeline:
    kind, _, rest = name.partition(":")
    return hlograph.pipelines[rest] if kind == "pipeline" else hlograph.passes[name]
