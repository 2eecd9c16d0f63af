"""Draws of kernels and programs: changes of sizes, types and layouts, towards a run time."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

from experiments.kernel_bank.sources import Change, changed, resizable, source_of
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import dtype_of
from hlograph.execution.rates import default_rates
from hlograph.module import Module
from hlograph.profiling.kernel_seconds import rated_alone
from hlograph.reading.hlo_editing import ModuleText
from hlograph.reading.hlo_text import array_shape

SHORTEST, LONGEST = 5e-6, 2e-2
"""Seconds between which kernels are to run."""

# Predictions are off by a factor; a kernel that is predicted to run outside of this is left out.
_SLACK = 2.5
_MOST_BYTES = 1 << 28
_MOST_FACTOR, _LARGE_SIZE = 16, 1024  # small sizes grow to 1,024
_TRIES, _STEP = 12, 8.0

# Shares of the changed kernels with an odd size, another element type, and a turned parameter.
_ODD, _TYPE, _TURNED = 0.3, 0.15, 0.15
_TYPES = ("f64", "bf16", "f16")
_LEAST_BYTES = 2  # that an element counts as


class Draw(NamedTuple):
    """A kernel to measure.

    Attributes:
        module: The kernel as a program.
        change: What was changed of it.
    """

    module: Module
    change: Change


def draw(kernel: str, number: int, seed: int) -> Draw:
    """Returns a kernel as it is, or changed at random.

    Args:
        kernel: Text of the kernel in an optimized module.
        number: 0 for the kernel as it is; each other number is another draw.
        seed: Seed of the draws.

    Raises:
        HloError: The kernel runs too briefly or too long, or no change of it fits.
    """
    source = source_of(kernel)
    as_it_is = changed(source, Change())
    seconds = predicted_seconds(as_it_is)
    if number == 0:
        _check(as_it_is, seconds)
        return Draw(as_it_is, Change())
    return _changed(source, seconds, Random(f"{seed} {number} {kernel}"))


def draw_program(program: Module, number: int, seed: int) -> Module:
    """Returns a program that was changed at random, as ``draw`` changes kernels.

    Args:
        program: The program, before XLA's optimizations.
        number: Number of the draw.
        seed: Seed of the draws.

    Raises:
        HloError: No change that was drawn fits the program.
    """
    source = resizable(program)
    return _changed(source, predicted_seconds(program), Random(f"{seed} {number} {source}")).module


def _changed(source: ModuleText, seconds: float, random: Random) -> Draw:
    """Returns a kernel changed towards a run time, which is drawn evenly in its logarithm.

    Args:
        source: The kernel as a program.
        seconds: Its predicted seconds.
        random: Draws the time and the changes.

    Raises:
        HloError: No change that was drawn fits.
    """
    target = math.exp(random.uniform(math.log(SHORTEST), math.log(LONGEST)))
    factor = target / seconds
    for _ in range(_TRIES):
        change = _change(source, random, factor)
        if change == Change():
            continue
        try:
            module = changed(source, change)
        except HloError:
            continue
        seconds = predicted_seconds(module)
        try:
            _check(module, seconds)
        except HloError:
            # A brief kernel does not take as many times as long as it has work.
            factor *= _STEP if seconds < target else 1 / _STEP
            continue
        return Draw(module, change)
    raise HloError("left out: no change that was drawn fits the kernel")


def predicted_seconds(module: Module) -> float:
    """Returns the seconds of a kernel by amounts of work and rates, without those of a call."""
    return rated_alone(module, default_rates())


def _check(module: Module, seconds: float) -> None:
    if not SHORTEST / _SLACK <= seconds <= LONGEST * _SLACK:
        raise HloError("left out: predicted to run too briefly or too long")
    if _bytes_of(module) > _MOST_BYTES:
        raise HloError("left out: its arrays are too large")


def _bytes_of(module: Module) -> int:
    """Returns the bytes of the largest array."""
    shapes = (array_shape(op.shape) for op in _entry(module).entry.instructions)
    return max((s.elements * _bytes_of_element(s.type) for s in shapes if s), default=0)


def _bytes_of_element(element_type: str) -> int:
    return max(dtype_of(element_type).itemsize, _LEAST_BYTES)


def _entry(module: Module) -> ModuleText:
    return ModuleText.parse(module.to_text())


def _change(source: ModuleText, random: Random, factor: float) -> Change:
    """Returns a change that gives a kernel some times as much work.

    Args:
        source: The kernel as a program.
        random: Draws the change.
        factor: How many times as much.

    Raises:
        HloError: The kernel has no sizes to change.
    """
    shapes = [array_shape(op.shape) for op in source.entry.instructions]
    sizes = sorted({size for shape in shapes if shape for size in shape.dimensions if size > 1})
    if not sizes:
        raise HloError("left out: a kernel without arrays")
    types = {shape.type for shape in shapes if shape}
    parameters = [array_shape(op.shape) for op in source.entry.parameters]
    matrices = [n for n, shape in enumerate(parameters) if shape and len(shape.dimensions) > 1]
    chosen = random.sample(sizes, min(len(sizes), random.choice((1, 1, 2, 3))))
    new = {size: _resized(size, factor ** (1 / len(chosen)), random) for size in chosen}
    types_of = {"f32": random.choice(_TYPES)} if "f32" in types else {}
    return Change(
        {str(size): to for size, to in new.items() if to != size},
        types_of if random.random() < _TYPE else {},
        (random.choice(matrices),) if matrices and random.random() < _TURNED else (),
    )


def _resized(size: int, factor: float, random: Random) -> int:
    """Returns a size times about a factor: times a power of two, or an odd size."""
    factor = min(max(factor, 0.5), max(_MOST_FACTOR, _LARGE_SIZE / size))
    if random.random() < _ODD:
        return max(1, round(size * factor * random.uniform(0.7, 1.3))) | 1
    return max(1, round(size * 2.0 ** round(math.log2(factor))))
