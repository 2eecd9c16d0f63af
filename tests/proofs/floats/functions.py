"""Errors of the functions that rules approximate, over all arguments in single precision.

The module after the rule is compiled by jaxlib, and runs on the floats of a range in the order of
their bits, all of them or every ``stride``-th. The reference is numpy's in double precision.

- Sines and cosines: all angles from 0 to 8192, the greatest that the polynomials take; for negative
  angles the results have the other sign or the same, which is checked as well.
- Arc tangents: all quotients from 0 to 1, as points ``(1, y)``; the rule divides, and quotients of
  other points are rounded to one of these. Octants are checked on random points.
- Powers: all numbers from 1 to 16. Products and roots of a number that is 16 times as great are the
  same but for a power of two, unless they overflow or underflow.
- Remainders: subtractions are exact, so numbers and divisors are drawn, of all exponents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.plans import Plan, Program, compile_lowered

Single = NDArray[np.float32]
Double = NDArray[np.float64]

_CHUNK = 1 << 16
# The default, whose libraries take longer, is measured in one chunk of so many.
_DEFAULT_EVERY = 16


@dataclass(frozen=True)
class Approximation:
    """A function that a rule approximates, and what is claimed of its error.

    Attributes:
        rule: Name of the rule.
        name: What is approximated, in words.
        function: The function in JAX.
        reference: The function in double precision.
        arguments: Function that makes the arrays of arguments, for a stride and a chunk's size.
        epsilons: Claimed bound of the error, in epsilons of single precision (2^-23) of the result,
            or of ``floor`` where the result is smaller.
        floor: Least absolute result that the error is relative to.
    """

    rule: str
    name: str
    function: Callable[..., jax.Array]
    reference: Callable[..., Double]
    arguments: Callable[[int, int], Iterator[tuple[Single, ...]]]
    epsilons: float
    floor: float = 0.0


def floats_between(low: float, high: float, stride: int, chunk: int) -> Iterator[tuple[Single]]:
    """Returns non-negative floats in the order of their bits, in chunks of one size.

    Args:
        low: The least.
        high: The greatest.
        stride: 1 for all of them, n for every n-th and the greatest.
        chunk: Number of elements of each array; the last one is filled with the greatest.
    """
    first, last = (int(np.float32(value).view(np.uint32)) for value in (low, high))
    for start in range(first, last + 1, stride * chunk):
        bits = start + stride * np.arange(chunk, dtype=np.uint64)
        yield (np.minimum(bits, last).astype(np.uint32).view(np.float32),)


def _points(stride: int, chunk: int) -> Iterator[tuple[Single, ...]]:
    for (height,) in floats_between(0, 1, stride, chunk):
        yield height, np.ones_like(height)


def _random_points(stride: int, chunk: int) -> Iterator[tuple[Single, ...]]:
    """Returns pairs of numbers of all octants, the exponents of which differ by at most 30."""
    rng = np.random.default_rng(0)
    for _ in range(max(1, (1 << 24) // (stride * chunk))):
        scale = np.exp2(rng.uniform(-60, 60, chunk))
        other = scale * np.exp2(rng.uniform(-30, 30, chunk))
        yield tuple(
            (rng.choice([-1, 1], chunk) * rng.uniform(1, 2, chunk) * size).astype(np.float32)
            for size in (scale, other)
        )


def _divisions(stride: int, chunk: int) -> Iterator[tuple[Single, ...]]:
    """Returns numbers of both signs and divisors of which they are less than four times as great.

    Many are near a multiple of the divisor, where a rounded subtraction would show.
    """
    rng = np.random.default_rng(0)
    for _ in range(max(1, (1 << 24) // (stride * chunk))):
        scale = np.exp2(rng.uniform(-100, 100, chunk))
        divisor = (rng.choice([-1, 1], chunk) * rng.uniform(1, 2, chunk) * scale).astype(np.float32)
        quotient = np.where(
            rng.random(chunk) < 0.5, rng.integers(0, 4, chunk), rng.uniform(0, 3.99, chunk)
        )
        number = (quotient * np.abs(divisor.astype(np.float64))).astype(np.float32)
        steps = rng.integers(-3, 3, chunk)
        for _ in range(3):
            toward = np.where(steps > 0, np.inf, -np.inf).astype(np.float32)
            number = np.where(steps != 0, np.nextafter(number, toward), number)
            steps -= np.sign(steps)
        number = np.where(np.abs(number) < 4 * np.abs(divisor), np.abs(number), 0)
        yield (rng.choice([-1, 1], chunk) * number).astype(np.float32), divisor


# Error in epsilons of XLA:CPU's reciprocal roots, which are a Newton step from an estimate.
_RECIPROCAL_ROOT = 1.5


def _of_power(quarters: int) -> float:
    """Returns the bound on the error of a power by roots, in epsilons: half of one a rounding."""
    whole, rest = divmod(abs(quarters), 4)
    if quarters == -1:  # XLA makes the reciprocal of the outer root a reciprocal root
        return _RECIPROCAL_ROOT + 0.25
    if quarters < 0 and rest == 2:
        factors = 2 * whole + 1
        return factors * _RECIPROCAL_ROOT + (factors - 1) / 2
    factors = [whole > 0, rest >= 2, rest % 2 == 1]
    products = max(0, whole - 1) + sum(factors) - 1
    # The root of a root halves the error of the root.
    roots = (rest >= 2) + 1.5 * (rest % 2)
    # From -1 on the reciprocal comes first, and the power multiplies its error.
    reciprocal = abs(quarters) / 4 if quarters <= -4 else float(quarters < 0)
    return (products + roots + reciprocal) / 2


def _powers() -> Iterator[Approximation]:
    for quarters in (-32, -10, -9, -8, -7, -6, -5, -3, -2, -1, 1, 2, 3, 5, 6, 7, 9, 10, 20, 32):
        exponent = quarters / 4
        yield Approximation(
            "power-as-roots",
            f"x^{exponent:g}",
            lambda x, exponent=exponent: lax.pow(x, jnp.float32(exponent)),
            lambda x, exponent=exponent: x**exponent,
            partial(floats_between, 1, 16),
            epsilons=_of_power(quarters),
        )


APPROXIMATIONS: tuple[Approximation, ...] = (
    Approximation(
        "sine-by-polynomial", "sine", jnp.sin, np.sin, partial(floats_between, 0, 8192), 1.0, 1.0
    ),
    Approximation(
        "sine-by-polynomial", "cosine", jnp.cos, np.cos, partial(floats_between, 0, 8192), 1.0, 1.0
    ),
    Approximation(
        "arctangent-by-polynomial", "angle of (1, y)", jnp.arctan2, np.arctan2, _points, 2.0
    ),
    Approximation(
        "arctangent-by-polynomial",
        "angle of points",
        jnp.arctan2,
        np.arctan2,
        _random_points,
        3.0,
    ),
    Approximation("remainder-by-subtraction", "remainder", lax.rem, np.fmod, _divisions, 0.0),
    *_powers(),
)


@dataclass(frozen=True)
class Measured:
    """The greatest error of a function.

    Attributes:
        epsilons: Error in epsilons, as in ``Approximation``.
        argument: The arguments at which it occurs.
        count: Number of arguments that were tried.
        default: Error of jaxlib's default at some of the arguments, in the same units.
    """

    epsilons: float
    argument: tuple[float, ...]
    count: int
    default: float


Compiled = Callable[..., Any]


def compiled(rule: str, function: Callable[..., jax.Array], *shapes: Any) -> Compiled:
    """Returns a function that jaxlib compiled, with a rule applied wherever it applies.

    Args:
        rule: Name of the rule; empty for the default.
        function: The function.
        shapes: Its arguments.

    Raises:
        HloError: The rule does not apply.
    """
    lowered = jax.jit(function).lower(*shapes)
    if not rule:
        return lowered.compile()
    program = Program.of(lowered)
    module = program.module()
    module.run("call-inliner")
    places = [rewrite.place for rewrite in module.rewrites([rule])]
    if not places:
        raise HloError(f"expected {rule} to apply to {function}")
    plan = Plan(program.name, program.fingerprint, ("call-inliner", *places))
    return compile_lowered(lowered, plan)


def measured(
    approximation: Approximation,
    stride: int = 1,
    *,
    chunk: int = _CHUNK,
    run: Compiled | None = None,
) -> Measured:
    """Measures the greatest error of an approximation.

    Args:
        approximation: The approximation.
        stride: 1 for all arguments, n for every n-th.
        chunk: Number of arguments of each run.
        run: Function to measure instead of what the rule computes.
    """
    shape = jax.ShapeDtypeStruct((chunk,), np.float32)
    count, worst, default, argument = 0, -1.0, 0.0, (0.0,)
    other: Compiled | None = None
    for number, arguments in enumerate(approximation.arguments(stride, chunk)):
        shapes = [shape] * len(arguments)
        if run is None:
            run = compiled(approximation.rule, approximation.function, *shapes)
        exact = approximation.reference(*(each.astype(np.float64) for each in arguments))
        errors = _errors(np.asarray(run(*arguments)), exact, approximation.floor)
        at = int(np.argmax(errors))
        count += len(errors)
        if number % _DEFAULT_EVERY == 0:
            other = other or compiled("", approximation.function, *shapes)
            usual = _errors(np.asarray(other(*arguments)), exact, approximation.floor)
            default = max(default, float(usual.max()))
        if errors[at] > worst:
            worst, argument = float(errors[at]), tuple(float(each[at]) for each in arguments)
    return Measured(worst, argument, count, default)


def _errors(result: Array, exact: Double, floor: float) -> Double:
    """Returns errors in epsilons; infinite where a result is not finite and should be."""
    tiny = float(np.finfo(np.float32).tiny)
    apart, size = np.abs(result - exact), np.abs(exact)
    # Results below the least normal number are zeros in jaxlib.
    np.subtract(apart, tiny, out=apart, where=size < tiny)
    apart /= np.maximum(size, max(floor, tiny))
    apart[np.isnan(apart)] = np.inf
    return apart / np.finfo(np.float32).eps
