"""Reports of wrong passes: each comes out as it is recorded, and the comparison sees faults."""

import numpy as np
import pytest

import hlograph
from tests.campaigns.pass_reports import report_text
from tests.campaigns.passes import reported_modules
from tests.campaigns.passes.reported import OWN, REPORTS
from tests.campaigns.passes.reports import Case, outcomes, try_pass

EVERY = (*REPORTS, *OWN)


def test_each_report_comes_out_as_it_is_recorded():
    assert outcomes(EVERY, 2) == [report.outcome for report in EVERY]


def test_reports_are_of_passes_of_the_registry():
    for report in EVERY:
        assert set(report.passes) <= set(hlograph.passes.names)
        assert bool(report.passes) == bool(report.cases)
        assert (report.outcome == "no such pass") == (not report.passes)
    numbers = [report.number for report in REPORTS]
    assert len(set(numbers)) == len(numbers) >= 25


def test_no_exact_pass_is_wrong_by_a_report():
    wrong = [
        name
        for report in EVERY
        for name in report.passes
        if hlograph.passes[name].numerics == "exact"
        and report.outcome in ("rounding", "different", "invalid", "ends the process")
    ]
    assert not wrong


def test_tables_name_each_report():
    text = report_text([r.outcome for r in REPORTS], [r.outcome for r in OWN])
    for report in REPORTS:
        assert f"[{report.number}]({report.url})" in text
    assert "`tree_reduction_rewriter`" in text


NEGATED = Case(
    "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT r = f32[2] negate(x)\n}\n"
)


@pytest.mark.parametrize(
    ("case", "name", "outcome"),
    [
        (Case(NEGATED.text, (np.ones(2, np.float32),)), "dce", "unchanged"),
        (reported_modules.SUM_OF_NORMALS, "tree_reduction_rewriter", "rounding"),
        (reported_modules.SUM_FROM_FIVE, "tree_reduction_rewriter", "different"),
        (reported_modules.IOTA_WITH_NEGATIVE_ZERO, "algsimp", "different"),
        (reported_modules.CALLED_TWICE, "call-inliner", "equal"),
    ],
)
def test_outcomes(case, name, outcome):
    assert try_pass(case, name) == outcome
