"""Measures what it brings that a process keeps freed memory, in processes that take turns.

    python -m benchmarks.kept_memory PROGRAM SETTING

The program answers lines on its input: a number of calls by their mean seconds, ``faults`` by the
page faults in a call, ``resident`` by the bytes that it holds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.timing import tracked
from hlograph.execution import lock
from hlograph.execution.bootstrap import Interval
from hlograph.execution.turns import in_turns

if TYPE_CHECKING:
    from hlograph.measuring.kept_memory import AllocatingWorker

TITLE = "Freed memory that is kept"

RETURNED, KEPT, ONE_HEAP, HUGE = "returned", "kept", "kept in one heap", "huge pages"
_KEEPING = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str((1 << 63) - 1),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
}
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    RETURNED: {},
    KEPT: {},
    ONE_HEAP: _KEEPING,
    HUGE: {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
}
"""The settings, with the environment that a process of each starts with."""

_LEAST = 6  # turns


def measure(settings: Settings) -> Iterator[Figure]:
    """Times each program in a process of each setting, in turns."""
    for name in tracked(list(PROGRAMS)):
        yield from _of_program(name, settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    del settings
    return {
        "all": "jaxlib's default of each program, in a process for each column; float32 unless "
        "said otherwise; the results of four calls are held meanwhile",
        RETURNED: "as glibc does",
        KEPT: "as `hlograph.optimize` does in a process that runs",
        ONE_HEAP: "by the environment: " + " ".join(f"{k}={v}" for k, v in _KEEPING.items()),
        HUGE: "by the environment: GLIBC_TUNABLES=glibc.malloc.hugetlb=1",
    }


def _of_program(name: str, settings: Settings) -> Iterator[Figure]:
    with ExitStack() as stack:
        children = {each: stack.enter_context(_Child(name, each)) for each in ENVIRONMENTS}
        with lock.alone():
            seconds = in_turns(
                [child.seconds for child in children.values()],
                turns=12 * settings.rounds,
                block_seconds=0.02,
                max_seconds=2 * settings.budget,
                least=_LEAST,
            ).seconds
        for number, (setting, child) in enumerate(children.items()):
            times = Interval.quartiles(1e3 * value for value in seconds[:, number].tolist())
            yield Figure.of(name, setting, times, "ms")
            if number:
                ratio = Interval.of_median((seconds[:, 0] / seconds[:, number]).tolist())
                yield Figure.of(f"{name}, {RETURNED} / this", setting, ratio, "x")
            yield Figure.of(f"{name}, page faults in a call", setting, child.ask("faults"), "")
            held = child.ask("resident") / 1e6
            yield Figure.of(f"{name}, the process holds", setting, held, "MB")


class _Child:
    """A process of one program and setting."""

    def __init__(self, program: str, setting: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.kept_memory", program, setting],
            env={**os.environ, **ENVIRONMENTS[setting]},
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: str) -> float:
        """Sends a line, and returns the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def seconds(self, calls: int) -> float:
        """Returns the mean seconds of some calls."""
        return self.ask(str(calls))

    def __enter__(self) -> _Child:
        self.ask("resident")  # it has compiled then
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.communicate()


def _three_results() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax.numpy as jnp

    return lambda x: (jnp.sin(x), x * 2, x + 1), (np.ones(2 << 20, np.float32),)


def _integers() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax.numpy as jnp

    a = np.arange(8_000_000, dtype=np.int32)
    return lambda a, b: jnp.clip(a, 2, 10) * 4 + b * 3 + 9, (a, a[::-1].copy())


def _one_result() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return lambda x: x * 2 + 1, (np.ones(25_000_000, np.float32),)


def _softmax() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax

    x = np.random.default_rng(0).standard_normal((32, 8, 256, 256), np.float32)
    return jax.nn.softmax, (x,)


def _heat() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax
    import jax.numpy as jnp

    def step(_: Any, u: Any) -> Any:
        around = sum(jnp.roll(u, by, axis) for axis in range(3) for by in (-1, 1))
        return u + 0.1 * (around - 6 * u)

    u = np.random.default_rng(0).standard_normal((128, 128, 128), np.float32)
    return lambda u: jax.lax.fori_loop(0, 5, step, u), (u,)


def _distances() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax.numpy as jnp

    def arcs(a: Any, b: Any, c: Any, d: Any) -> Any:
        half = jnp.sin((c - a) / 2) ** 2 + jnp.cos(a) * jnp.cos(c) * jnp.sin((d - b) / 2) ** 2
        return 2 * jnp.arctan2(jnp.sqrt(half), jnp.sqrt(1 - half))

    generator = np.random.default_rng(0)
    return arcs, tuple(generator.random(2_000_000, np.float32) for _ in range(4))


def _product() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    x = np.random.default_rng(0).standard_normal((1000, 1000), np.float32)
    return lambda x: x @ x, (x,)


PROGRAMS: Mapping[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "three results of 8 MB": _three_results,
    "elementwise on integers of 32 MB": _integers,
    "one result of 100 MB": _one_result,
    "softmax of 67 MB": _softmax,
    "five steps on a grid of 8 MB": _heat,
    "distances of 2,000,000 points": _distances,
    "product of 1000 x 1000": _product,
}
"""The programs, with functions that return the function and its arguments."""


def _worker(program: str, keep: bool) -> AllocatingWorker:
    import jax

    from hlograph.isolation.flight_recorder import FlightRecorder
    from hlograph.measuring.kept_memory import AllocatingWorker, StoredArray
    from hlograph.plans import Plan, Program

    function, arguments = PROGRAMS[program]()
    lowered = jax.jit(function).lower(*arguments)
    with tempfile.TemporaryDirectory() as folder:
        files = [
            StoredArray.of(argument, Path(folder) / str(number))
            for number, argument in enumerate(arguments)
        ]
        return AllocatingWorker(Program.of(lowered), files, [Plan()], keep, FlightRecorder())


def main(program: str, setting: str) -> None:
    """Answers the lines of the input."""
    worker = _worker(program, setting == KEPT)
    for line in sys.stdin:
        word = line.strip()
        if word == "faults":
            answer = worker.faults(0)
        elif word == "resident":
            answer = worker.resident()
        else:
            answer = worker.seconds(0, int(word))
        print(answer, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
