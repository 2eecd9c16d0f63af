"""Programs of lowered functions and of HLO."""

from __future__ import annotations

import pickle
import sys

import jax
import jax.numpy as jnp
import pytest

from hlograph import HloError, Module, parse
from hlograph.plans import Program, compile_program
from hlograph.plans import program as programs
from hlograph.plans.program import ProgramError
from tests.hlograph.plans import functions as f
from tests.tiny_module import TINY


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
        ProgramError, match=r"need jaxlib 0\.10\.2, and .* is installed: pip install"
    ):
        Program.of(lowered)
    with pytest.raises(ProgramError, match="jaxlib"):
        Program.of(Module.from_text(TINY))
    assert parse(lowered).num_nodes > 0
