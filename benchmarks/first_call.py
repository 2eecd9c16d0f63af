"""Measures how soon the first call of ``hlograph.optimize`` in a process has measured a plan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from hlograph.errors import HloError
from hlograph.execution.bootstrap import Interval

TITLE = "The first call"

_COLUMN = "a new process"
_AIMS = {"import hlograph": Aim(0.15), "hlograph.optimize to its first measurement": Aim(3.0)}

# A method that proposes nothing is told of the first measurement.
_PROGRAM = """
import json, time
import jax, jax.numpy as jnp

def function(x):
    return (jnp.tanh(x @ x) / (1 + x)).sum(0)

class Clock:
    def ask(self, most=1):
        return ()
    def tell(self, results):
        told.append(time.perf_counter())

x, told = jnp.linspace(0, 1, 16384).reshape(128, 128), []
begun = time.perf_counter()
import hlograph
imported = time.perf_counter()
from hlograph.decisions.searches import register
register("clock", lambda program, numerics: Clock())
hlograph.optimize(function, x, budget=2, progress=False)
print(json.dumps([imported - begun, told[0] - imported]))
"""


def measure(settings: Settings) -> Iterator[Figure]:
    """Runs a process for each repeat, after one that writes bytecode and does not count."""
    repeats = [_seconds() for _ in range(1 + settings.rounds)][1:]
    for (row, aim), seconds in zip(_AIMS.items(), zip(*repeats, strict=True), strict=True):
        yield Figure.of(row, _COLUMN, Interval.quartiles(seconds), "s", aim)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the column."""
    del settings
    return {
        _COLUMN: "that has imported jax, with empty caches of hlograph and with Python's bytecode; "
        "`(jnp.tanh(x @ x) / (1 + x)).sum(0)` of 128 x 128 floats"
    }


def _seconds() -> list[float]:
    """Returns the seconds of one new process, in the order of the rows.

    Raises:
        HloError: The process failed.
    """
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            capture_output=True,
            text=True,
            cwd=root,
            env={**os.environ, "HLOGRAPH_CACHE": cache, "PYTHONDONTWRITEBYTECODE": ""},
        )
    if done.returncode:
        raise HloError(f"a first call of hlograph.optimize failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
