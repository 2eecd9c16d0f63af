"""Effects of Enzyme-JAX's patterns: from outcomes, and in tables."""

from dataclasses import replace

import pytest

from benchmarks.peers.pattern_effects import effects_of, findings, tables
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.plans import Measured, Plan

MADE = {"time": "now", "commit": "0" * 40, "cpus": 2, "processor": "x", "versions": {"jaxlib": "1"}}


def outcome(step, ratio=None, low=None, high=None, **fields):
    """Returns the outcome of a plan with one step, timed or not."""
    measured = ratio and Measured(1.0, 1.0, ratio, low or ratio, high or ratio, 1.0, 5)
    return replace(PlanMeasurement(Plan(steps=(step,))), measured=measured, **fields)


def effect_of(*outcomes):
    return effects_of("p", outcomes)[-1]


def test_a_pipeline_is_beside_the_default():
    effect = effect_of(outcome("enzyme(full)", 2.0, 1.5, 2.5))
    assert (effect.kind, effect.name, effect.ratio) == ("pipelines", "`full`", (2.0, 1.5, 2.5))
    assert effect.pays
    assert not effect.hurts


def test_what_is_left_out_is_beside_its_pipeline():
    effect = effect_of(
        outcome("enzyme(full)", 2.0, 1.0, 3.0), outcome("enzyme(full without cse*)", 4.0, 2.0, 5.0)
    )
    assert (effect.kind, effect.name) == ("left out", "`cse*`")
    assert effect.ratio == pytest.approx((0.5, 0.2, 1.5))
    assert not effect.hurts


@pytest.mark.parametrize(
    ("globs", "name"),
    [
        ("dot* *_dot_general*", "`dot* *_dot_general*`"),
        ("dot* *_dot_general* cse*", "several groups"),
        ("noop_slice rotate_rotate", "patterns of no group"),
        ("noop_slice", "`noop_slice`"),
    ],
)
def test_groups_have_names(globs, name):
    assert effect_of(outcome(f"enzyme(one-round only {globs})", 1.0)).name == name


_NO_PATTERNS = outcome("enzyme(one-round without *)", 0.8)


def test_patterns_that_slow_the_program_down_hurt():
    effect = effect_of(_NO_PATTERNS, outcome("enzyme(one-round only dot*)", 0.4, 0.3, 0.5))
    assert effect.hurts
    assert effect.kind == "alone"
    assert effect.ratio == pytest.approx((0.5, 0.375, 0.625))


def test_no_patterns_stand_beside_the_pipelines():
    effect = effect_of(_NO_PATTERNS)
    assert (effect.kind, effect.name) == ("pipelines", "no patterns")
    assert effect.ratio == (0.8, 0.8, 0.8)
    assert effect_of(outcome("enzyme(one-round only dot*)", 1.0)).ratio is None


def test_what_changes_nothing_is_neither_refused_nor_of_effect():
    effect = effect_of(outcome("enzyme(full)", error=UNCHANGED))
    assert (effect.ratio, effect.refused) == ((1.0, 1.0, 1.0), False)


def test_what_fails_is_refused():
    effect = effect_of(outcome("enzyme(full)", error="outputs differ"))
    assert (effect.ratio, effect.refused) == (None, True)
    without = effect_of(outcome("enzyme(full)", error="x"), outcome("enzyme(full without x)", 1.0))
    assert (without.ratio, without.refused) == (None, False)


def test_the_newest_outcome_counts_and_accidents_do_not():
    steps = [outcome("enzyme(full)", 1.0), outcome("enzyme(full)", 3.0)]
    assert effect_of(*steps, outcome("enzyme(full)", error="late", accident=True)).ratio == (
        3,
        3,
        3,
    )


def test_other_plans_are_left_out():
    assert effects_of("p", [outcome("xla-simplify", 2.0), PlanMeasurement(Plan())]) == []


def test_the_tables_name_what_pays_and_what_hurts():
    effects = [
        *effects_of("p", [outcome("enzyme(full)", 2.0), outcome("enzyme(full without cse*)", 4.0)]),
        *effects_of("q", [outcome("enzyme(full)", 0.5)]),
        *effects_of("q", [_NO_PATTERNS, outcome("enzyme(one-round only c)", 0.88)]),
        *effects_of("q", [_NO_PATTERNS, outcome("enzyme(one-round only d)", 0.8)]),
    ]
    text = tables(effects, {"r": "no module"}, MADE, 60)
    assert "| `full` | 2 | 1.00 | 1 | 1 | 0 | 2.00 on p |" in text
    assert "Left out of the best pipeline, groups:" in text
    assert "| `cse*` | 1 | 0.50 | 0 | 1 | 0 | 0.50 on p |" in text
    assert "| `c` | 1 | 1.10 | 1 | 0 | 0 | 1.10 on q |" in text
    assert "\n1 patterns neither pay nor hurt on a program." in text
    assert "- r: no module" in text
    assert findings(effects) == [
        "full: 1.000 times as fast as jaxlib's default in the geometric mean of 2 programs; pays "
        "on 1, hurts on 1"
    ]
