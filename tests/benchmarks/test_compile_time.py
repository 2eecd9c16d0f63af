"""Tests what is measured of compilations: the plans of each column, and no duration."""

from benchmarks.compile_time import PLAYED, SIMPLIFIED, STORED, lowered_step, plans_of, subjects
from benchmarks.settings import Settings
from hlograph.plans import Program
from hlograph.plans.transforming import apply_steps


def test_each_column_has_the_plan_that_it_names():
    program = Program.of(lowered_step(6))
    plans = plans_of(program)
    assert plans.keys() == subjects(Settings()).keys() - {"all"}
    for name in (SIMPLIFIED, PLAYED):
        module = program.module()
        before = module.op_count
        apply_steps(module, plans[name].steps)
        assert module.op_count < before
    assert any(step.startswith(f"{STORED}(") for step in plans[STORED].steps)
