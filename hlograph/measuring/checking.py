"""Compares what a file expects of a program with what jaxlib computes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hlograph.errors import HloError, ProgramError
from hlograph.execution.equivalence.arrays import Array, is_integral
from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.plans import Program, compile_program, mlir_modules
from hlograph.reading.stablehlo_checks import Expectation, check_devices, without_checks

_SECONDS = 300.0


class CheckResult(NamedTuple):
    """An expected value beside that of jaxlib.

    Attributes:
        expectation: What is expected.
        difference: Why the values do not meet it; empty if they do.
    """

    expectation: Expectation
    difference: str


class CheckingWorker:
    """Compiles and runs programs that say what they compute, in its process.

    Args:
        recorder: Records each operation that may end the process.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder

    def check(self, stablehlo: bytes) -> list[CheckResult]:
        """Runs StableHLO with expectations, and compares.

        Constants are kept from being folded, unless jaxlib needs them at compile time.

        Args:
            stablehlo: StableHLO whose expectations are custom calls (``with_custom_calls``).

        Raises:
            HloError: jaxlib does not read, compile or run it, or it takes arguments.
        """
        check_devices(stablehlo.decode("utf-8", "replace"), "the test")
        with self._recorder.noted(b"check", _SECONDS):
            try:
                outputs, expectations = self._outputs(stablehlo, barriers=True)
            except HloError:
                outputs, expectations = self._outputs(stablehlo, barriers=False)
        pairs = outputs[len(outputs) - 2 * len(expectations) :]
        return [
            CheckResult(expectation, difference(actual, expected, expectation))
            for expectation, actual, expected in zip(
                expectations, pairs[::2], pairs[1::2], strict=True
            )
        ]

    def _outputs(
        self, stablehlo: bytes, *, barriers: bool
    ) -> tuple[list[Array], list[Expectation]]:
        try:
            data, expectations = without_checks(stablehlo, pairs=True, barriers=barriers)
        except Exception as error:  # of classes that jaxlib does not export
            raise ProgramError(f"jaxlib does not read it: {str(error).splitlines()[0]}") from error
        if not expectations:
            raise ProgramError("it has no expectations (check.expect_*)")
        module = mlir_modules.parse(data)
        if count := len(mlir_modules.main_of(module).arguments):
            raise ProgramError(f"expected a function without arguments, got one with {count}")
        program = Program(mlir_modules.name_of(module) or "check", "stablehlo", data)
        try:
            return Run(compile_program(program), []).outputs(), expectations
        except RuntimeError as error:  # jax.errors.JaxRuntimeError
            raise ProgramError(f"jaxlib does not run it: {error}") from error


def difference(actual: Array, expected: Array, expectation: Expectation) -> str:
    """Returns why an array does not meet an expectation; empty if it does.

    NaNs are equal to NaNs, and infinities to those of their sign.

    Args:
        actual: The array.
        expected: The expected values, of the same shape and type.
        expectation: How equal they have to be.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"expected {_type(expected)}, got {_type(actual)}"
    if expectation.kind in ("eq", "") or is_integral(actual):
        wrong = ~_equal(actual, expected)
    elif expectation.kind == "almost_eq":
        wide = actual.astype(_wide(actual)), expected.astype(_wide(actual))
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(wide[0] - wide[1]) <= expectation.tolerance
        wrong = ~(near | _equal(actual, expected))
    else:
        wrong = ~((_ulps(actual, expected) <= expectation.ulps) | _equal(actual, expected))
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return (
        f"{count} of {actual.size} elements: at {place} expected {expected[place]}, "
        f"got {actual[place]}"
    )


def _equal(actual: Array, expected: Array) -> Array:
    equal = np.asarray(actual == expected)
    if is_integral(actual):
        return equal
    return equal | (np.isnan(actual) & np.isnan(expected))


def _ulps(actual: Array, expected: Array) -> Array:
    """Returns how many values of the type lie between two arrays of floats."""
    bits = np.dtype(f"i{actual.dtype.itemsize}")

    def ordered(array: Array) -> Array:
        numbers = array.view(bits).astype(object)
        lowest = int(np.iinfo(bits).min)
        return np.where(numbers < 0, lowest - numbers, numbers)

    return np.abs(ordered(actual) - ordered(expected))


def _wide(array: Array) -> type:
    return np.complex128 if array.dtype.kind == "c" else np.float64


def _type(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"
