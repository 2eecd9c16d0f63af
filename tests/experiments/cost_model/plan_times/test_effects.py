"""Tests of the effects of single values, from plans that set several."""

import itertools
import math

import pytest

from experiments.cost_model.__main__ import main
from experiments.cost_model.plan_times.effects import effects
from experiments.cost_model.settings import EffectsConfig
from hlograph.corpus.plan_times import PlanTime


def _plan(ratio, flags, decisions):
    return PlanTime("p", decisions, flags, (ratio,), 1.0, ratio, 1.0, 0, 1.0, 0.0, ())


def _plans(fast, kernel):
    """All combinations of two flags and a knob, three times each; gains multiply."""
    for a, b, c in list(itertools.product((False, True), repeat=3)) * 3:
        ratio = math.exp(fast * a - 0.2 * b + kernel * c)
        flags = {name: True for name, on in (("a", a), ("b", b)) if on}
        yield _plan(ratio, flags, {"kernel k": "partitions 2"} if c else {})


def test_effects_of_values_that_were_set_together_are_told_apart():
    plans = {"p": list(_plans(0.4, 0.05)), "q": list(_plans(-0.4, 0.05))}
    found = {one.value: one for one in effects(plans, EffectsConfig(ridge=1e-6))}
    assert list(found) == ["a=True", "kernel partitions", "b=True"]
    assert found["a=True"].programs == 2
    assert found["a=True"].gain == pytest.approx(0.2, abs=1e-4)  # 0.4 in one of two
    assert found["a=True"].mean == pytest.approx(0.0, abs=1e-4)
    assert found["a=True"].clear == 0.5
    assert found["kernel partitions"].gain == pytest.approx(0.05, abs=1e-4)
    assert found["b=True"].gain == 0.0
    assert found["b=True"].mean == pytest.approx(-0.2, abs=1e-4)


def test_programs_with_few_plans_and_values_of_few_plans_are_left_out():
    plans = list(_plans(0.4, 0.05))
    rare = [_plan(2.0, {"rare": True}, {})]
    assert effects({"p": plans[:8]}, EffectsConfig()) == []
    assert "rare=True" not in {one.value for one in effects({"p": plans + rare}, EffectsConfig())}


def test_the_table_of_shipped_plans_begins_with_what_brings_most(capsys):
    assert main(["effects", "--splits", "validation"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["gain", "mean", "clear", "programs", "value"]
    gains = [float(row.split()[0]) for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert len(rows) > 10
