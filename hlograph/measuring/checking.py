"""Compares what a file expects of a program with what jaxlib computes."""

from __future__ import annotations

import re
from typing import NamedTuple

import ml_dtypes
import numpy as np

from hlograph.errors import HloError, ProgramError
from hlograph.execution.equivalence.arrays import Array, dtype_of, is_integral
from hlograph.execution.equivalence.engines import Runner
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.runs import Run
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.plans import Program, compile_program, mlir_modules
from hlograph.reading.stablehlo_checks import Expectation, check_devices, without_checks

_SECONDS = 300.0
_MOST_ULPS = 2**64 - 1

_OTHER_RUNS = {
    "as expected with the smallest normal numbers: XLA:CPU takes subnormal ones as 0": {
        "barriers": True,
        "normal": True,
    },
    "as expected where XLA folds constants: the code that XLA:CPU compiles differs": {
        "barriers": False
    },
}
_SUBNORMAL_RESULTS = "as expected with 0 for subnormal results: XLA:CPU makes them 0"
_PREDICATES = "XLA's pred takes a byte, and StableHLO's i1 a bit"
_COMPLEX_ORDER = (
    "the real parts are as expected: XLA's maximum and minimum of complex numbers do not compare "
    "imaginary parts, and StableHLO's do"
)


class _Pair(NamedTuple):
    actual: Array
    expected: Array
    expectation: Expectation


class CheckResult(NamedTuple):
    """An expected value beside that of jaxlib.

    Attributes:
        expectation: What is expected.
        difference: Why the values do not meet it; empty if they do.
        reason: What of XLA explains the difference; empty if that is not known.
    """

    expectation: Expectation
    difference: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.difference} ({self.reason})" if self.reason else self.difference


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
                pairs = self._pairs(stablehlo, barriers=True)
            except HloError:
                pairs = self._pairs(stablehlo, barriers=False)
            results = [CheckResult(pair.expectation, difference(*pair)) for pair in pairs]
            if not any(result.difference for result in results):
                return results
            reasons = self._reasons(stablehlo, pairs)
        return [
            result._replace(reason=reason) if result.difference else result
            for result, reason in zip(results, reasons, strict=True)
        ]

    def check_snapshot(
        self, program: Program, inputs: list[Array], results: list[Array]
    ) -> list[CheckResult]:
        """Runs the program of a snapshot on its inputs, and compares with its stored results.

        Results may differ as much as rounding explains, which is measured by moved inputs.

        Args:
            program: The program.
            inputs: The inputs in the snapshot, one array for each leaf of the parameters.
            results: The results in it, one array for each leaf.

        Raises:
            HloError: jaxlib does not compile or run it, or the arrays do not fit it.
        """
        specs = program.signature
        for arrays, leaves, part in ((inputs, specs[0], "inputs"), (results, specs[1], "results")):
            expected = [(leaf.dims, dtype_of(leaf.element_type)) for leaf in leaves]
            if [(array.shape, array.dtype) for array in arrays] != expected:
                raise ProgramError(
                    f"expected {part} {[str(leaf) for leaf in leaves]}, "
                    f"got {[_type(array) for array in arrays]}"
                )
        expectation = Expectation("stored")
        with self._recorder.noted(b"check", _SECONDS):
            run = _runner(program)
            error = rounding_count(program.flow).bound()
            judged = Outputs(specs, [inputs], run).judge(0, results, error)
        worse = {one.output: one.reason for one in judged if one.verdict != "close"}
        return [CheckResult(expectation, worse.get(n, "")) for n in range(len(results))]

    def _reasons(self, stablehlo: bytes, pairs: list[_Pair]) -> list[str]:
        """Returns what of XLA explains each difference, as far as another run shows it."""
        orders = re.search(rb"\bstablehlo\.(?:maximum|minimum)\b", stablehlo) is not None
        reasons = [_reason_in_values(pair, orders=orders) for pair in pairs]
        for reason, options in _OTHER_RUNS.items():
            try:
                others = self._pairs(stablehlo, **options)
            except HloError:
                continue
            for number, pair in enumerate(others):
                if not reasons[number] and not difference(*pair):
                    reasons[number] = reason
        return reasons

    def _pairs(self, stablehlo: bytes, **options: bool) -> list[_Pair]:
        try:
            data, expectations = without_checks(stablehlo, pairs=True, **options)
        except Exception as error:  # of classes that jaxlib does not export
            raise ProgramError(f"jaxlib does not read it: {str(error).splitlines()[0]}") from error
        if not expectations:
            raise ProgramError("it has no expectations (check.expect_*)")
        module = mlir_modules.parse(data)
        if count := len(mlir_modules.main_of(module).arguments):
            raise ProgramError(f"expected a function without arguments, got one with {count}")
        program = Program(mlir_modules.name_of(module) or "check", "stablehlo", data)
        outputs = _runner(program)([])
        values = outputs[len(outputs) - 2 * len(expectations) :]
        return list(map(_Pair, values[::2], values[1::2], expectations))


def _runner(program: Program) -> Runner:
    executable = compile_program(program)

    def run(inputs: list[Array]) -> list[Array]:
        try:
            return Run(executable, inputs, program.donated).outputs()
        except RuntimeError as error:  # jax.errors.JaxRuntimeError
            raise ProgramError(f"jaxlib does not run it: {error}") from error

    return run


def _reason_in_values(pair: _Pair, *, orders: bool) -> str:
    """Returns what of XLA explains a difference, as the types and values show it.

    Args:
        pair: The values.
        orders: True if the program has a maximum or minimum.
    """
    actual, expected, expectation = pair
    if actual.dtype == expected.dtype == np.bool_ and actual.size * 8 == expected.size:
        return _PREDICATES
    if actual.shape != expected.shape or is_integral(actual):
        return ""
    if not difference(_flushed(actual), _flushed(expected), expectation):
        return _SUBNORMAL_RESULTS
    if not orders or actual.dtype.kind != "c":
        return ""
    return "" if difference(np.real(actual), np.real(expected), expectation) else _COMPLEX_ORDER


def _flushed(array: Array) -> Array:
    """Returns an array of floats with 0 for subnormal numbers."""
    if array.dtype.kind == "c":
        parts = np.stack([_flushed(np.real(array)), _flushed(np.imag(array))], -1)
        return parts.view(array.dtype)[..., 0]
    limit = ml_dtypes.finfo(array.dtype).smallest_normal
    return np.where(np.abs(array) < limit, np.zeros_like(array), array)


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
    wrong = ~_meets(actual, expected, expectation)
    count = int(np.count_nonzero(wrong))
    if not count:
        return ""
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return (
        f"{count} of {actual.size} elements: at {place} expected {expected[place]}, "
        f"got {actual[place]}"
    )


def _meets(actual: Array, expected: Array, expectation: Expectation) -> Array:
    if actual.dtype.kind == "c":
        parts = [(np.real(actual), np.real(expected)), (np.imag(actual), np.imag(expected))]
        return np.logical_and(*(_meets(*part, expectation) for part in parts))
    if is_integral(actual):
        return np.asarray(actual == expected)
    equal = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if expectation.kind == "almost_eq":
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        return equal | (apart <= expectation.tolerance)
    if expectation.kind == "close":
        apart = np.where(equal, 0, _ulps(actual, expected))
        return (apart >= expectation.least_ulps) & (apart <= expectation.ulps)
    return equal


def _ulps(actual: Array, expected: Array) -> Array:
    """Returns how many values of the type lie between two arrays of floats.

    It is the largest number of 64 bits where only one of them is finite.
    """
    bits = np.dtype(f"i{actual.dtype.itemsize}")

    def ordered(array: Array) -> Array:
        numbers = np.ascontiguousarray(array).view(bits).astype(object).reshape(array.shape)
        lowest = int(np.iinfo(bits).min)
        return np.where(numbers < 0, lowest - numbers, numbers)

    finite = np.isfinite(actual) & np.isfinite(expected)
    return np.where(finite, np.abs(ordered(actual) - ordered(expected)), _MOST_ULPS)


def _type(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"
