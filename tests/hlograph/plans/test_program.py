"""Programs of lowered functions and of HLO, and what is refused."""

import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout

import hlograph
from hlograph import HloError, Module, parse
from hlograph.errors import ProgramError
from hlograph.execution.runs import Run
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans import program as programs
from tests.hlograph.plans import functions as f
from tests.tiny_module import TINY

X = f.array(3, 4)
HERE = jax.sharding.SingleDeviceSharding(jax.devices()[0])
COLUMNS, ROWS = Format(Layout((1, 0)), HERE), Format(Layout((0, 1)), HERE)


def _adds(ref, x):
    ref[...] += x
    return ref[...] * 2


def test_compiler_options_of_a_function_are_refused():
    slow = jax.jit(jnp.tanh, compiler_options={"xla_backend_optimization_level": 0})
    with pytest.raises(ProgramError, match=r"xla_backend_optimization_level.*XLA_FLAGS"):
        hlograph.optimize(slow, X, plan=Plan())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_disable_most_optimizations", True),
        ("jax_compiler_enable_remat_pass", False),
        ("jax_exec_time_optimization_effort", 0.5),
        ("jax_memory_fitting_effort", 0.5),
        ("jax_optimization_level", "O1"),
        ("jax_memory_fitting_level", "O1"),
    ],
)
def test_settings_of_jax_that_change_its_default_are_refused(name, value):
    if name.endswith("_effort") and not hasattr(jax.config, name):
        pytest.skip("this jax has no such setting")
    lowered = jax.jit(jnp.tanh).lower(X)
    flag = name == "jax_disable_most_optimizations"
    before = jax.config.read(name) if flag else getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        for source in (lowered, hlograph.Module.from_jax(lowered)):
            with pytest.raises(ProgramError, match=f"expected {name}="):
                Program.of(source)
    finally:
        jax.config.update(name, before)
    Program.of(lowered)


@pytest.mark.parametrize("platforms", [("cuda",), ("cpu", "cuda")])
def test_a_function_that_is_lowered_for_another_platform_is_refused(platforms):
    lowered = jax.jit(jnp.tanh).trace(X).lower(lowering_platforms=platforms)
    with pytest.raises(ProgramError, match=r"for the CPU.*cuda.*JAX_PLATFORMS=cpu"):
        Program.of(lowered)


def test_a_ref_is_refused_unless_it_is_made_within():
    ref = jax.new_ref(X)
    with pytest.raises(ProgramError, match=r"jax\.Ref"):
        hlograph.optimize(_adds, ref, X, plan=Plan())
    with pytest.raises(ProgramError, match=r"jax\.Ref"):
        hlograph.optimize(lambda x: _adds(ref, x), X, plan=Plan())
    within = hlograph.optimize(lambda x: _adds(jax.new_ref(x), x), X, plan=Plan(steps=("dce",)))
    f.assert_same(within(X), X * 4)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (jax.jit(jnp.tanh, in_shardings=COLUMNS), jax.device_put(X, COLUMNS)),
        (jax.jit(jnp.tanh), jax.device_put(X, COLUMNS)),
        (jax.jit(jnp.tanh, in_shardings=Format(Layout.AUTO)), jax.ShapeDtypeStruct((3, 4), "f4")),
    ],
)
def test_arguments_of_another_layout_are_refused(function, given):
    with pytest.raises(ProgramError, match="default layout"):
        Program.of(function.lower(given))


def test_a_result_of_another_layout_is_no_obstacle_if_it_is_given():
    asked = jax.jit(lambda x: x * 2, in_shardings=ROWS, out_shardings=COLUMNS)
    fast = hlograph.optimize(asked, X, plan=Plan(steps=("dce",)))
    assert fast(X).format == asked(X).format == jax.device_put(X, COLUMNS).format
    f.assert_same(fast(X), X * 2)
    left = jax.jit(lambda x: x * 2, out_shardings=Format(Layout.AUTO))
    with pytest.raises(ProgramError, match="result 0"):
        Program.of(left.lower(X))


def test_a_lowered_function_is_a_program() -> None:
    program = Program.of(jax.jit(f.step, donate_argnums=0).lower(*f.step_arguments()))
    assert program.name == "jit_step"
    assert program.form == "stablehlo"
    assert program.donated == (0, 1, 2)
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    assert copy.fingerprint == program.fingerprint


def test_a_lowered_function_and_its_copies_are_converted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Program.of(jax.jit(f.step, donate_argnums=0).lower(*f.step_arguments()))
    of_bytecode = Program(program.name, program.form, program.data)
    expected = of_bytecode.module()

    def convert(data: bytes, name: str) -> None:
        raise AssertionError(f"{name} is converted again")

    monkeypatch.setattr(programs, "from_stablehlo", convert)
    for original in (program, of_bytecode):
        original.module()
        for converted in (original, pickle.loads(pickle.dumps(original))):
            assert converted.module().to_text() == expected.to_text()
            assert converted.fingerprint == expected.fingerprint()
    with pytest.raises(AssertionError, match="jit_step"):
        Program(program.name, program.form, program.data).module()


def test_hlo_is_a_program_that_jaxlib_compiles() -> None:
    program = Program.of(Module.from_text(TINY))
    assert program.form == "hlo"
    assert program.donated == ()
    compile_program(program)


ALIASES = """HloModule update, input_output_alias={%s}

ENTRY main {
  pair = (f32[8]{0}, f32[8]{0}) parameter(0)
  single = f32[8]{0} parameter(1)
  first = f32[8]{0} get-tuple-element(pair), index=0
  second = f32[8]{0} get-tuple-element(pair), index=1
  product = f32[8]{0} multiply(first, second)
  sum = f32[8]{0} add(single, product)
  inner = (f32[8]{0}) tuple(product)
  ROOT both = (f32[8]{0}, (f32[8]{0})) tuple(sum, inner)
}
"""


@pytest.mark.parametrize(
    ("aliases", "donated"),
    [
        ("{0}: (1, {}, may-alias)", (2,)),
        ("{0}: (0, {1}, must-alias), {1,0}: (1, {}, may-alias)", (1, 2)),
    ],
)
def test_hlo_that_donates_runs_again_and_again(aliases, donated):
    program = Program.of(ALIASES % aliases)
    assert program.donated == donated
    inputs = [np.full(8, value, np.float32) for value in (2, 3, 4)]
    run = Run(compile_program(program), inputs, program.donated)
    for _ in range(2):
        total, product = run.outputs()
        assert total.tolist() == [10] * 8
        assert product.tolist() == [6] * 8


def test_the_fingerprint_is_that_of_the_function() -> None:
    def fingerprint(rows: int) -> str:
        return Program.of(jax.jit(f.waves).lower(f.array(rows, rows))).fingerprint

    assert fingerprint(8) == fingerprint(8) != fingerprint(9)


def test_a_function_that_calls_back_is_refused() -> None:
    def function(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x[0], ordered=True)
        return jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct((3,), jnp.float32), x)

    with pytest.raises(HloError, match="callbacks"):
        Program.of(jax.jit(function).lower(jnp.ones(3)))


def test_an_older_jaxlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = jax.jit(f.step).lower(*f.step_arguments())
    monkeypatch.setitem(sys.modules, "jaxlib._hlo", None)  # importing it raises ImportError
    with pytest.raises(
        ProgramError, match=r"need jaxlib 0\.10\.2 or newer, and .* is installed: pip install"
    ):
        Program.of(lowered)
    with pytest.raises(ProgramError, match="jaxlib"):
        Program.of(Module.from_text(TINY))
    assert parse(lowered).num_nodes > 0


@pytest.mark.parametrize(("function", "calls"), [(jnp.linalg.inv, True), (jnp.tanh, False)])
def test_calls_of_lapack_are_those_of_instructions(function, calls):
    def lapack_like(x):  # its name is part of the module, as metadata
        return function(x)

    assert Program.of(jax.jit(lapack_like).lower(np.eye(3))).calls_lapack is calls
