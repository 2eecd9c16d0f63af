"""Programs of a checkout of NPBench, which run in the processes of numpy, jaxlib and numba.

Inputs, programs and the check of the outputs are NPBench's own (https://github.com/spcl/npbench).
Its package ``npbench.infrastructure`` imports all of its frameworks, so two of its modules are
loaded from their files.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.worker import CallWorker
from hlograph.errors import HloError

NUMBA_VARIANTS = {
    "nopython-mode": "numba_n",
    "nopython-mode-parallel": "numba_np",
    "nopython-mode-parallel-range": "numba_npr",
    "object-mode": "numba_o",
    "object-mode-parallel": "numba_op",
    "object-mode-parallel-range": "numba_opr",
}
"""Ends of the names of numba's modules, by NPBench's names of the variants."""

_LEAST_CALLS, _MOST_CALLS, _SCREENED = 3, 10, 2.0  # calls and seconds outside of the turns


@dataclass(frozen=True)
class NPBenchProgram:
    """A program of NPBench.

    Attributes:
        checkout: Folder of the checkout.
        name: Name of its file in ``bench_info``.
        preset: Size of its inputs, such as ``S``.
    """

    checkout: str
    name: str
    preset: str

    @cached_property
    def info(self) -> dict[str, Any]:
        """Returns what ``bench_info`` says of it."""
        path = Path(self.checkout, "bench_info", f"{self.name}.json")
        return json.loads(path.read_text(encoding="utf-8"))["benchmark"]

    def data(self) -> dict[str, Any]:
        """Returns its parameters and inputs, by name, as NPBench makes them."""
        self._make_importable()
        return self.own_module("benchmark").Benchmark(self.name).get_data(self.preset)

    def has(self, postfix: str) -> bool:
        """Returns True if there is a version of it, such as ``jax`` or ``numba_n``."""
        return Path(self.checkout, *self._module(postfix).split(".")).with_suffix(".py").is_file()

    def function(self, postfix: str) -> Callable[..., Any]:
        """Imports one version of it."""
        self._make_importable()
        module = importlib.import_module(self._module(postfix))
        return getattr(module, self.info["func_name"])

    def check(self, expected: Sequence[Any], outputs: Sequence[Any]) -> str:
        """Compares outputs with those of the version in numpy, by NPBench's own check.

        Returns:
            Why they do not agree; empty if they do.
        """
        tolerances = {
            name: self.info.get(name, default)
            for name, default in (("rtol", 1e-5), ("atol", 1e-8), ("norm_error", 1e-5))
        }
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            valid = self.own_module("utilities").validate(
                list(expected), [np.asarray(value) for value in outputs], "it", **tolerances
            )
        return "" if valid else "NPBench's check: " + told.getvalue().splitlines()[0].lower()

    def own_module(self, name: str) -> Any:
        """Loads a module of ``npbench.infrastructure`` from its file."""
        path = Path(self.checkout, "npbench", "infrastructure", f"{name}.py")
        spec = importlib.util.spec_from_file_location(f"npbench_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _module(self, postfix: str) -> str:
        folder = self.info["relative_path"].replace("/", ".")
        return f"npbench.benchmarks.{folder}.{self.info['module_name']}_{postfix}"

    def _make_importable(self) -> None:
        if self.checkout not in sys.path:
            sys.path.insert(0, self.checkout)


def programs_of_checkout(checkout: Path, preset: str) -> list[NPBenchProgram]:
    """Returns the programs of a checkout that have a version in JAX, by name.

    Raises:
        HloError: The folder is no checkout of NPBench.
    """
    files = sorted(Path(checkout, "bench_info").glob("*.json"))
    if not files:
        raise HloError(
            f"expected a checkout of https://github.com/spcl/npbench at {checkout}, found no "
            "bench_info/*.json there"
        )
    programs = [NPBenchProgram(str(checkout.resolve()), file.stem, preset) for file in files]
    return [program for program in programs if program.has("jax")]


def results_of(returned: Any) -> list[Any]:
    """Returns the results of a call as a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple | list) else [returned]


class NPBenchWorker(CallWorker):
    """A version of a program, with its inputs.

    Args:
        program: The program.
    """

    def __init__(self, program: NPBenchProgram) -> None:
        super().__init__()
        self.program = program
        self._data = program.data()
        self._function: Callable[..., Any] | None = None

    def prepared(self) -> list[Any]:
        """Returns the arguments of one call; arrays are copied, as the program may set them."""
        arrays = set(self.program.info["array_args"])
        names = self.program.info["input_args"]
        return [np.copy(self._data[n]) if n in arrays else self._data[n] for n in names]

    def run(self, prepared: list[Any]) -> Any:
        """Calls the version that was chosen."""
        assert self._function is not None
        return self._function(*prepared)

    def check(self, reference: str) -> str:
        """Runs the program once, and compares its outputs.

        Args:
            reference: File of numpy's outputs, and of the arguments that it has changed. Results in
                another order than that of NPBench agree if each of these is among them.

        Returns:
            Why they do not agree; empty if they do.
        """
        with Path(reference).open("rb") as file:
            expected, changed = pickle.load(file)
        outputs = self.outputs()
        reason = self.program.check(expected, outputs)
        # Some versions return what NPBench's check has in another order, or does not have.
        if not reason or not changed:
            return reason
        agrees = (any(self._are_equal(a, output) for output in outputs) for a in changed)
        return "" if all(agrees) else reason

    def _are_equal(self, expected: Any, output: Any) -> bool:
        same_shape = np.shape(expected) == np.shape(output)
        return same_shape and not self.program.check([expected], [output])

    def outputs(self) -> list[Any]:
        """Runs the program once, and returns what NPBench compares."""
        return self.outputs_of(self.prepared())

    def outputs_of(self, prepared: list[Any]) -> list[Any]:
        """Runs the program on arguments, and returns its results and arguments that it may set."""
        by_name = dict(zip(self.program.info["input_args"], prepared, strict=False))
        results = results_of(self.run(prepared))
        return results + [by_name[name] for name in self.program.info.get("output_args", ())]

    def screened(self) -> list[float]:
        """Returns seconds of some calls outside of the turns."""
        seconds = [self.timed_call() for _ in range(_LEAST_CALLS)]
        while len(seconds) < _MOST_CALLS and sum(seconds) < _SCREENED:
            seconds.append(self.timed_call())
        return seconds


class NumpyWorker(NPBenchWorker):
    """The version in numpy, whose outputs the others are compared with."""

    def __init__(self, program: NPBenchProgram) -> None:
        super().__init__(program)
        self._function = program.function("numpy")

    def write_outputs(self, file: str) -> list[float]:
        """Writes the outputs of one call to a file, and returns the seconds of some."""
        prepared = self.prepared()
        by_name = dict(zip(self.program.info["input_args"], prepared, strict=True))
        begun = time.perf_counter()
        outputs = self.outputs_of(prepared)
        first = time.perf_counter() - begun
        changed = [
            by_name[name]
            for name in self.program.info["array_args"]
            if not np.array_equal(by_name[name], self._data[name], equal_nan=True)
        ]
        with Path(file).open("wb") as opened:
            pickle.dump((outputs, changed), opened, protocol=5)
        return [first] if first > _SCREENED else self.screened()


class NumbaWorker(NPBenchWorker):
    """The versions for numba, of which one is chosen."""

    def compile(self, variant: str) -> float:
        """Chooses a variant, and returns the seconds of its first call, which compiles it.

        Args:
            variant: NPBench's name of it.
        """
        begun = time.perf_counter()
        self._function = self.program.function(NUMBA_VARIANTS[variant])
        self.run(self.prepared())
        return time.perf_counter() - begun


class NPBenchJaxWorker(NPBenchWorker):
    """The version in JAX, compiled by jaxlib's default or by a plan.

    A version that is no function of ``jax.jit`` is made one. Arguments lie in jax's memory before
    the clock starts.
    """

    def __init__(self, program: NPBenchProgram) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        super().__init__(program)
        self._jit, self._all = self._jitted()
        from hlograph.optimization.jit_executables import arguments_of

        self._dynamic, _ = arguments_of(self._jit, self._all, {}, static=False)
        self._lowered = self._jit.lower(*self._all)

    def _jitted(self) -> tuple[Any, list[Any]]:
        """Returns the function of ``jax.jit``, and its arguments."""
        import jax
        import jax.numpy as jnp

        arrays = set(self.program.info["array_args"])
        names = self.program.info["input_args"]
        values = {n: jnp.array(self._data[n]) if n in arrays else self._data[n] for n in names}
        function = self.program.function("jax")
        if hasattr(function, "lower"):
            return function, list(values.values())
        numbers = tuple(place for place, name in enumerate(names) if name not in arrays)
        return jax.jit(function, static_argnums=numbers), list(values.values())

    def parts(self) -> tuple[Any, list[Any], Sequence[Any]]:
        """Returns the function of ``jax.jit``, all of its arguments, and those not static."""
        return self._jit, self._all, self._dynamic

    def lowered(self) -> tuple[Any, list[Any]]:
        """Returns the lowered function, and an array for each of its parameters."""
        from hlograph.optimization.of_function import inputs_of

        arrays = inputs_of(self._lowered, self._dynamic, {})
        assert arrays is not None
        return self._lowered, arrays

    def prepared(self) -> list[Any]:
        """Returns the arguments of one call, which no call changes."""
        return self._all if self._function is self._jit else list(self._dynamic)

    def run(self, prepared: list[Any]) -> Any:
        """Calls the function and waits for its results."""
        import jax

        assert self._function is not None
        return jax.block_until_ready(self._function(*prepared))

    def outputs(self) -> list[Any]:
        """Runs the program once, and returns its results: a function of jax sets no argument."""
        return results_of(self.run(self.prepared()))

    def compile(self, plan: str | None = None, process: bool = False) -> float:
        """Compiles the function and returns the seconds that takes.

        Args:
            plan: File of a plan; None takes jaxlib's default.
            process: True lets the process keep freed memory, if the plan says that it pays.
        """
        begun = time.perf_counter()
        if plan is None:
            self._lowered.compile()
            self._function = self._jit
        else:
            from hlograph import optimize

            self._function = optimize(self._lowered, *self._dynamic, plan=plan, process=process)
        return time.perf_counter() - begun

    def search(self, budget: float, plan: str) -> Mapping[str, Any]:
        """Searches for a plan and writes it to a file; see ``hlograph.optimize``.

        Args:
            budget: Seconds of the search.
            plan: The file.

        Returns:
            Plan in words, and whether it is empty and has the process keep freed memory.
        """
        from hlograph import optimize

        begun = time.perf_counter()
        optimized = optimize(
            self._lowered, *self._dynamic, budget=budget, progress=False, store=f"{plan}.store"
        )
        found = optimized.plan
        found.save(plan)
        return {
            "summary": "; ".join(found.summary()),
            "empty": found.is_empty,
            "keeps": found.kept_memory is not None,
            "seconds": time.perf_counter() - begun,
        }
