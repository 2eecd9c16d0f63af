"""Tests of reading optimized modules."""

import jax
import pytest

from hlograph.errors import HloError
from hlograph.profiling.optimized_module import OptimizedModule
from tests.hlograph.profiling.programs import LOOP, multiply, normal, scan


def test_text_is_read():
    program = OptimizedModule.from_text(LOOP)
    assert (program.name, program.entry, program.parameters) == ("loop", "main", ("y",))
    assert list(program.computations) == ["fused", "body", "condition", "main"]
    twice = program.instructions["twice"]
    assert (twice.computation, twice.opcode, twice.shape) == ("body", "fusion", "f32[8,16]{1,0}")
    assert twice.operands == ("x", "x")
    assert twice.calls == ("fused",)
    assert twice.op_name == 'jit(f)/body, calls=%x/"add"'
    assert twice.attributes == "kind=kLoop, calls=%fused"
    loop = program.instructions["loop"]
    assert loop.shape == "(s32[], /*index=1*/f32[8,16]{1,0})"
    assert loop.calls == ("condition", "body")
    assert program.instructions["table"].opcode == "constant"
    assert program.instructions["last"].operands == ("result",)


def test_only_loops_branches_and_calls_are_callers():
    callers = OptimizedModule.from_text(LOOP).callers()
    assert callers == {"condition": ("loop",), "body": ("loop",)}


@pytest.mark.parametrize(("function", "shapes"), [(multiply, [(8, 8)] * 2), (scan, [(8, 8)] * 2)])
def test_every_instruction_of_a_real_module_is_read(function, shapes):
    inputs = [normal(*shape) for shape in shapes]
    executable = jax.jit(function).lower(*inputs).compile().runtime_executable()
    program = OptimizedModule.of(executable)
    (module,) = executable.hlo_modules()
    assert program.name == module.name
    for computation in module.computations():
        expected = {instruction.name for instruction in computation.instructions()}
        assert {i.name for i in program.computations[computation.name]} == expected
    assert len(program.parameters) == len(inputs)


def test_other_objects_and_texts_are_rejected():
    with pytest.raises(HloError, match=r"expected an executable of jaxlib.*got Compiled"):
        OptimizedModule.of(jax.jit(multiply).lower(normal(2, 2), normal(2, 2)).compile())
    with pytest.raises(HloError, match="expected the text of an HLO module"):
        OptimizedModule.from_text("ENTRY nothing")
