"""Tests the figures of tables and pictures against numbers worked out by hand."""

import math

import pytest

from experiments.paper.report.comparison import (
    BEST_KNOWN,
    BETTER,
    Comparison,
    median_calls,
    median_milliseconds,
)
from experiments.paper.report.document import (
    TO,
    Number,
    mean_over_seeds,
    over_seeds,
    share_over_seeds,
)
from experiments.paper.report.methods import notes
from tests.experiments.paper.report.known_study import GROUP, known_study


@pytest.fixture
def comparison():
    return Comparison(known_study(), GROUP)


def test_count_ratios(comparison):
    gnn, other = comparison.study.of("GNN", GROUP)
    assert comparison.count_ratio("xla-cpu")(gnn) == pytest.approx(math.sqrt(80 / 40 * 150 / 100))
    assert comparison.count_ratio(BETTER)(gnn) == pytest.approx(math.sqrt(50 / 40 * 150 / 100))
    assert comparison.worst(BETTER)(other) == pytest.approx(50 / 80)
    assert comparison.share_at_least("xla-cpu")(other) == 1.0
    assert comparison.distance(gnn) == pytest.approx(1.0)  # of the one benchmark that has it
    assert comparison.within(0.01)(other) == 0.0
    assert comparison.calls_share("xla-simplify")(gnn) == pytest.approx(math.sqrt(5 / 50 * 5 / 20))
    assert median_calls(gnn) == 5
    assert median_milliseconds(gnn) == pytest.approx(20.0)
    assert math.isnan(median_milliseconds(other))


def test_a_result_that_failed_its_check_counts_as_no_passes(comparison):
    (trial,) = comparison.study.of("op counts", GROUP)
    assert comparison.ratios(trial, "xla-cpu")["d/e/f"] == pytest.approx(150 / 200)
    assert comparison.reduction_ratio("xla-cpu")(trial) == 0.0


def test_a_reference_that_some_benchmarks_lack(comparison):
    assert comparison.against() == ["xla-cpu", "xla-cpu-unexpanded", "xla-simplify", BETTER]
    assert comparison.reference("d/e/f", "xla-cpu-unexpanded") is None
    assert comparison.reference("d/e/f", BEST_KNOWN) is None
    assert "xla-cpu-unexpanded is known for 1 of 2 benchmarks." in notes(comparison)
    assert "best known is known for 1 of 2 benchmarks." in notes(comparison)


def test_seeds_without_a_value_are_left_out_of_the_mean():
    assert over_seeds([math.nan, 2.0]) == Number(2.0, "2.000")
    assert over_seeds([math.nan]) is None
    assert over_seeds([1.0, 2.0, math.nan], decimals=1).text == f"1.5 (1.0{TO}2.0)"
    assert share_over_seeds([0.5, 0.75]).text == f"62 (50{TO}75) %"
    assert mean_over_seeds([1000.0, 2000.0, math.nan]).text == "1,500"
