"""Runs of jaxlib's executables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Copies of donated arguments that exist at once, in bytes.
_MOST_COPIED = 1 << 30


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
        for prepared in arguments:
            self._call(prepared)
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
        order = [int(axis) for axis in str(layout).strip("{}").split(":")[0].split(",") if axis]
        if order != sorted(order, reverse=True):
            device = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
            formats[number] = Format(Layout(tuple(reversed(order))), device)
    return formats


def _in_formats(arguments: Sequence[Any], formats: Mapping[int, Any]) -> list[Any]:
    import jax

    with jax.enable_x64(True):
        return [
            jax.device_put(argument, formats[number]) if number in formats else argument
            for number, argument in enumerate(arguments)
        ]
