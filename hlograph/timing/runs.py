"""Runs of jaxlib's executables, and their times in turns."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hlograph.execution.equivalence.arrays import Array

# Copies of donated arguments that exist at once, in bytes.
_MOST_COPIED = 1 << 30

# A run that takes longer than this is warm after one call.
_SLOW = 0.1  # seconds

# A plan that is this slow beside the default in each of the first turns is hopeless, and so is one
# that is this slow beside the fastest plan.
_SLOW_PLAN, _BEHIND = 0.8, 0.9


class Run:
    """An executable of jaxlib with arguments on the CPU device.

    Donated arguments are used up by a run, so each run gets copies of them, made before its time
    is taken. An argument that the executable takes in another layout than jax's default is copied
    to that in each run, as in a call of the compiled function, and its time has the copy.

    Args:
        executable: A ``jaxlib._jax.LoadedExecutable``.
        inputs: One array for each parameter.
        donated: Numbers of the donated parameters.
    """

    def __init__(
        self, executable: Any, inputs: Sequence[Array], donated: Sequence[int] = ()
    ) -> None:
        self._executable = executable
        self._arguments = on_device(inputs)
        self._formats = _formats(executable)
        self._donated = tuple(donated)
        copied = sum(inputs[number].nbytes for number in donated)
        self._most = max(1, _MOST_COPIED // copied) if copied else 1 << 30

    def outputs(self) -> list[Array]:
        """Runs the executable once and returns its outputs."""
        return [np.asarray(array) for array in self._call(self._fresh())]

    def seconds(self, calls: int = 1) -> float:
        """Returns the mean wall time of several calls, each waited for, in seconds."""
        calls = min(calls, self._most)
        arguments = [self._fresh() for _ in range(calls)]
        begun = time.perf_counter()
        for one in arguments:
            self._call(one)
        return (time.perf_counter() - begun) / calls

    def _fresh(self) -> list[Any]:
        arguments = list(self._arguments)
        for number in self._donated:
            arguments[number] = arguments[number].copy().block_until_ready()
        return arguments

    def _call(self, arguments: list[Any]) -> list[Any]:
        if self._formats:
            arguments = _in_formats(arguments, self._formats)
        results = self._executable.execute_sharded(arguments)
        arrays = [shards[0] for shards in results.disassemble_into_single_device_arrays()]
        for array in arrays:
            array.block_until_ready()
        return arrays


def on_device(inputs: Sequence[Array]) -> list[Any]:
    """Returns arrays in the memory of jax's CPU device, with their types unchanged."""
    import jax

    with jax.enable_x64(True):
        arrays = [jax.device_put(array, jax.devices("cpu")[0]) for array in inputs]
    return [array.block_until_ready() for array in arrays]


def _formats(executable: Any) -> dict[int, Any]:
    """Returns the formats of the parameters that have another layout than the default."""
    import jax
    from jax.experimental.layout import Format, Layout

    formats = {}
    for number, layout in enumerate(executable.get_parameter_layouts()):
        # Text such as {0,1}, the minor dimension first; tiles and sizes of elements would follow
        # a colon.
        order = [int(one) for one in str(layout).strip("{}").split(":")[0].split(",") if one]
        if order != sorted(order, reverse=True):
            device = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
            formats[number] = Format(Layout(tuple(reversed(order))), device)
    return formats


def _in_formats(arguments: Sequence[Any], formats: Mapping[int, Any]) -> list[Any]:
    import jax

    with jax.enable_x64(True):
        return [
            jax.device_put(one, formats[number]) if number in formats else one
            for number, one in enumerate(arguments)
        ]


def seconds_in_turns(
    runs: Sequence[Run],
    *,
    pairs: int,
    block_seconds: float,
    max_seconds: float,
    least: int = 3,
    stop: Callable[[NDArray[np.float64]], bool] = lambda times: False,
) -> NDArray[np.float64]:
    """Times runs in turns, after untimed calls of each.

    Each turn begins with another run, so that none always follows the same one. A block of calls
    is as long as ``block_seconds``, and all blocks of a run have the same number of calls.

    Args:
        runs: The runs.
        pairs: Largest number of turns.
        block_seconds: Least duration of a block, in seconds.
        max_seconds: Time after which no turn begins, in seconds.
        least: Number of turns that are made in any case.
        stop: Function that is passed the result after ``least`` turns, and returns True to end.

    Returns:
        float64 ``[T, len(runs)]``: seconds of one call, for each of T turns.
    """
    begun = time.perf_counter()
    calls = [_calls(run, block_seconds) for run in runs]
    rows: list[list[float]] = []
    with without_collector():
        for turn in range(max(pairs, least)):
            if turn >= least and time.perf_counter() - begun > max_seconds:
                break
            if turn == least and stop(np.array(rows, np.float64)):
                break
            row = [0.0] * len(runs)
            for offset in range(len(runs)):
                number = (turn + offset) % len(runs)
                row[number] = runs[number].seconds(calls[number])
            rows.append(row)
    return np.array(rows, np.float64)


def hopeless(times: NDArray[np.float64], best: float = 0.0) -> bool:
    """Returns True if a plan is so slow in each of its turns that it needs no more of them.

    Args:
        times: Result of ``seconds_in_turns`` for the default and the plan.
        best: Ratio default / plan of the fastest plan so far; 0 if not known.
    """
    return bool(np.max(times[:, 0] / times[:, 1]) < max(_SLOW_PLAN, _BEHIND * best))


def _calls(run: Run, block_seconds: float) -> int:
    """Warms a run, and returns the number of its calls in a block."""
    once = run.seconds()
    if once < _SLOW:
        once = run.seconds()
    return max(1, math.ceil(block_seconds / max(once, 1e-7)))


@contextmanager
def without_collector() -> Iterator[None]:
    """Collects garbage now and not within the block: what others left is not charged to it."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
