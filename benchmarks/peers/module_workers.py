"""Peers that compile StableHLO: jaxlib by plans, jaxlib after Enzyme-JAX, and IREE."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.worker import CallWorker, PeerWorker

INPUTS, MODULE, PROGRAM = "inputs.pickle", "module.mlir", "program.pickle"


class JaxlibModuleWorker(PeerWorker):
    """A program as jaxlib compiles it.

    Args:
        folder: The prepared program.
        plan: File of a plan; empty takes jaxlib's default.
        module: File in the folder with another text of the program, such as Enzyme-JAX's.
    """

    def __init__(self, folder: str, plan: str = "", module: str = "") -> None:
        super().__init__()
        from hlograph.plans import Program, mlir_modules

        self._folder, self._plan = Path(folder), plan
        self._inputs = _inputs(self._folder)
        self._program = pickle.loads((self._folder / PROGRAM).read_bytes())
        if module:
            parsed = mlir_modules.parse((self._folder / module).read_bytes())
            data = mlir_modules.to_bytecode(parsed)
            self._program = Program(self._program.name, "stablehlo", data)

    def compile(self) -> float:
        """Compiles the program, and returns the seconds that takes."""
        from hlograph.execution.runs import Run
        from hlograph.plans import Plan, compile_program

        plan = Plan.load(self._plan) if self._plan else None
        begun = time.perf_counter()
        executable = compile_program(self._program, plan)
        seconds = time.perf_counter() - begun
        self._run = Run(executable, self._inputs, self._program.donated)
        return seconds

    def outputs(self) -> list[Any]:
        """Runs the program once, and returns its outputs."""
        return self._run.outputs()

    def timed(self, calls: int) -> float:
        """See ``PeerWorker.timed``; donated arguments are copied outside of the clock."""
        return self._run.seconds(calls)


class SearchWorker:
    """Searches for plans.

    Args:
        folder: The prepared program.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def search(self, budget: float, plan: str) -> str:
        """Searches as ``hlograph.optimize`` does, and writes the plan to a file.

        Args:
            budget: Seconds of the search.
            plan: The file.

        Returns:
            The plan in words; empty for jaxlib's default.
        """
        from hlograph.measuring.trial import Job
        from hlograph.optimization.cache import Store
        from hlograph.optimization.optimizing import optimize_program
        from hlograph.optimization.search_settings import SearchSettings

        program = pickle.loads((self._folder / PROGRAM).read_bytes())
        settings = SearchSettings(budget, store=Store(f"{plan}.store"), progress=False)
        found = optimize_program(Job(program, _inputs(self._folder)), settings).plan
        found.save(plan)
        return "; ".join(found.summary())


class EnzymeWorker:
    """Rewrites a program by the patterns of Enzyme-JAX.

    Args:
        folder: The prepared program.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def rewrite(self, pipeline: str, file: str) -> float:
        """Writes the rewritten program to a file of the folder, and returns the seconds it takes.

        Args:
            pipeline: Name of a pipeline of ``hlograph.plans.enzyme``.
            file: Name of the file.
        """
        from hlograph.plans.enzyme import rewritten_text

        text = (self._folder / MODULE).read_text(encoding="utf-8")
        begun = time.perf_counter()
        rewritten = rewritten_text(text, f"enzyme({pipeline})")
        seconds = time.perf_counter() - begun
        (self._folder / file).write_text(rewritten, encoding="utf-8")
        return seconds


class IreeWorker(CallWorker):
    """A program as IREE compiles it for this processor.

    Args:
        folder: The prepared program.
        threads: Threads of its tasks.
    """

    def __init__(self, folder: str, threads: int) -> None:
        super().__init__()
        import iree.runtime  # pyright: ignore[reportMissingImports]

        iree.runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        self._folder = Path(folder)

    def compile(self) -> float:
        """Compiles the program, and returns the seconds that takes."""
        import iree.compiler  # pyright: ignore[reportMissingImports]
        import iree.runtime  # pyright: ignore[reportMissingImports]

        begun = time.perf_counter()
        code = iree.compiler.compile_str(
            (self._folder / MODULE).read_text(encoding="utf-8"),
            input_type="stablehlo",
            target_backends=["llvm-cpu"],
            extra_args=[
                "--iree-llvmcpu-target-cpu=host",
                "--iree-opt-level=O3",
                # IREE computes 64-bit floats in 32 bits otherwise.
                "--iree-input-demote-f64-to-f32=false",
            ],
        )
        seconds = time.perf_counter() - begun
        config = iree.runtime.Config("local-task")
        context = iree.runtime.SystemContext(config=config)
        module = iree.runtime.VmModule.copy_buffer(context.instance, code)
        context.add_vm_module(module)
        self._function = context.modules[module.name]["main"]
        self._arguments = [
            iree.runtime.asdevicearray(config.device, array) for array in _inputs(self._folder)
        ]
        return seconds

    def prepared(self) -> list[Any]:
        """Returns the arguments, which lie in IREE's memory."""
        return self._arguments

    def run(self, prepared: list[Any]) -> Any:
        """Calls the program and waits for its results."""
        return self._function(*prepared)

    def outputs(self) -> list[Any]:
        """Runs the program once, and returns its outputs."""
        results = self.run(self.prepared())
        results = results if isinstance(results, tuple | list) else (results,)
        return [np.array(result.to_host()) for result in results]


def _inputs(folder: Path) -> list[Any]:
    return pickle.loads((folder / INPUTS).read_bytes())
