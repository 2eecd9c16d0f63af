import jax
import numpy as np
import pytest

from hlograph.execution.runs import Run
from hlograph.plans import Plan, Program, compile_program

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def _run(function, *inputs, donate=(), plan=None):
    program = Program.of(jax.jit(function, donate_argnums=donate, keep_unused=True).lower(*inputs))
    assert program.donated == donate
    return Run(compile_program(program, plan), inputs, program.donated)


def test_donated_inputs_are_as_they_were_in_each_run():
    run = _run(lambda x, y: (x + 1, y * 2), X, X, donate=(0, 1))
    for _ in range(3):
        run.seconds(4)
        first, second = run.outputs()
        np.testing.assert_array_equal(first, X + 1)
        np.testing.assert_array_equal(second, X * 2)


def test_wide_types_do_not_need_x64():
    (found,) = _run(lambda x: x, X).outputs()
    assert found.dtype == np.float32
    with jax.enable_x64(True):
        run = _run(lambda x: x * 2, X.astype(np.float64))
    (found,) = run.outputs()
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, 2 * X)


@pytest.mark.parametrize("donate", [(), (0,)])
def test_an_argument_of_another_layout_is_copied_in_each_run(donate, monkeypatch):
    plan = Plan(layouts={"argument:0": "{0,1}", "result:1": "{0,1}"})
    wide = X.astype(np.float64)
    with jax.enable_x64(True):
        run = _run(lambda x, y: (x @ y.T, x * 2), wide, wide + 1, donate=donate, plan=plan)
    placed, put = [], jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda x, to: placed.append(to) or put(x, to))
    for _ in range(2):
        first, second = run.outputs()
        np.testing.assert_allclose(first, wide @ (wide + 1).T)
        np.testing.assert_array_equal(second, 2 * wide)
        run.seconds(3)
    assert [one.layout.major_to_minor for one in placed] == [(1, 0)] * 8


def test_a_program_without_outputs_runs():
    run = _run(lambda x: None, X)
    assert run.outputs() == []
    assert run.seconds() > 0
