"""hlograph check, on tests written as those of StableHLO are."""

import json

import numpy as np
import pytest

from hlograph.measuring.checking import difference
from hlograph.reading.stablehlo_checks import Expectation

TESTS = """// RUN: stablehlo-translate --interpret -split-input-file %s

func.func @add() {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %sum = stablehlo.add %a, %a : tensor<3xi32>
  %probed = interpreter.probe %sum, probe_id = "sum" : tensor<3xi32>
  check.expect_eq_const %probed, dense<[2, 4, LAST]> : tensor<3xi32>
  check.expect_eq %probed, %sum : tensor<3xi32>
  func.return
}

// -----

func.func @cosine() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %y = stablehlo.cosine %x : tensor<2xf32>
  check.expect_almost_eq_const %y, dense<[1.0, 0.54]> : tensor<2xf32> {tolerance = 0.001 : f64}
  func.return
}

// -----

module @jitted {
  func.func public @main() -> (tensor<2xf16> {jax.result_info = ""}) {
    %0 = call @inputs() : () -> tensor<2xf16>
    %1 = stablehlo.negate %0 : tensor<2xf16>
    %2 = call @expected() : () -> tensor<2xf16>
    stablehlo.custom_call @check.expect_close(%1, %2) {has_side_effect = true}
      : (tensor<2xf16>, tensor<2xf16>) -> ()
    return %1 : tensor<2xf16>
  }
  func.func private @inputs() -> tensor<2xf16> {
    %0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf16>
    return %0 : tensor<2xf16>
  }
  func.func private @expected() -> tensor<2xf16> {
    %0 = stablehlo.constant dense<[-1.0, 2.0]> : tensor<2xf16>
    return %0 : tensor<2xf16>
  }
}
"""
OTHERS = """module @parallel {
  func.func @main() {
    %x = stablehlo.constant dense<1> : tensor<i32>
    %y = "interpreter.run_parallel"(%x) {programs = [[@f]]} : (tensor<i32>) -> tensor<i32>
    func.return
  }
}

// -----

func.func @without() {
  func.return
}
"""


def test_tests_that_pass(call, user_folder):
    (user_folder / "t.mlir").write_text(TESTS.replace("LAST", "6"))
    status, out, err = call("check", "t.mlir")
    assert (status, err) == (0, "")
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["add", "2", "as", "expected"],
        ["cosine", "1", "as", "expected"],
        ["jitted", "1", "as", "expected"],
        ["3", "tests", "of", "3", "as", "expected"],
    ]


def test_tests_that_fail(call, user_folder):
    (user_folder / "t.mlir").write_text(TESTS.replace("LAST", "7") + "// -----\n" + OTHERS)
    status, out, _ = call("check", "t.mlir", "--json")
    assert status == 1
    add, cosine, jitted, parallel, without = json.loads(out)["tests"]
    assert add["differences"] == ["1 of 3 elements: at (2,) expected 7, got 6"]
    assert cosine["differences"] == jitted["differences"] == []
    assert "several devices" in parallel["error"]
    assert "no expectations" in without["error"]


def test_a_file_without_tests_is_refused(call):
    status, out, err = call("check", "tiny.hlo")
    assert (status, out) == (1, "")
    assert "expected StableHLO text with expectations, got none in 'tiny.hlo'" in err


NAN = np.nan
NEXT = np.nextafter(np.float32(1), np.float32(2))


@pytest.mark.parametrize(
    ("actual", "expected", "kind", "holds"),
    [
        ([1.0, NAN, np.inf], [1.0, NAN, np.inf], "eq", True),
        ([1.0, 1.0], [1.0, NEXT], "eq", False),
        ([np.inf, 1.0], [np.inf, 1.00001], "almost_eq", True),
        ([np.inf], [-np.inf], "almost_eq", False),
        ([1.0], [1.1], "almost_eq", False),
        ([1.0, -0.0], [NEXT, 0.0], "close", True),
        ([1.0], [1.000001], "close", False),
        ([NAN], [1.0], "close", False),
    ],
)
def test_differences(actual, expected, kind, holds):
    arrays = np.array(actual, np.float32), np.array(expected, np.float32)
    assert (difference(*arrays, Expectation(kind)) == "") == holds


def test_shapes_and_types_are_part_of_a_value():
    zeros = np.zeros(2, np.float32)
    assert "expected float64[2], got float32[2]" in difference(
        zeros, zeros.astype(np.float64), Expectation("eq")
    )
