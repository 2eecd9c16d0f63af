"""Modules after XLA's optimizations, taken apart: they compute what they did."""

import numpy as np
import pytest

from hlograph import Module
from hlograph.errors import HloWarning
from hlograph.execution.runs import Run
from hlograph.plans import Program, compile_program
from hlograph.reading.optimized_text import LeftOut, is_optimized, without_optimizations

HEAD = "HloModule after, is_scheduled=true\n\n"
FUSED = (
    HEAD
    + """%scaled (p: f32[2,3]) -> f32[2,3] {
  %p = f32[2,3]{1,0} parameter(0)
  ROOT %sum = f32[2,3]{1,0} add(%p, %p)
}

ENTRY %main (x: f32[2,3]) -> f32[3,2] {
  %x = f32[2,3]{1,0} parameter(0)
  %twice = f32[2,3]{1,0} fusion(%x), kind=kLoop, calls=%scaled, backend_config={"parts":["2"]}
  %same = f32[2,3]{1,0} copy(%twice), control-predecessors={%twice}
  ROOT %turned = f32[3,2]{0,1} bitcast(%same)
}
"""
)


def _outputs(program: Program, *inputs):
    (output,) = Run(compile_program(program), inputs).outputs()
    return output


def test_a_scheduled_module_is_compiled_again():
    with pytest.warns(HloWarning, match="its schedule, 1 fusion, 1 bitcast and 1 configuration"):
        program = Program.of(FUSED)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(_outputs(program, x), 2 * x.T)


BITCASTS = [
    ("f32[2,3]{1,0}", "f32[6]{0}", lambda x: x.reshape(6)),
    ("f32[2,3]{1,0}", "f32[3,2]{0,1}", lambda x: x.T),
    ("f32[2,3]{1,0}", "f32[2,3]{1,0}", lambda x: x),
    ("f32[2,3,4]{2,1,0}", "f32[4,2,3]{0,2,1}", lambda x: x.transpose(2, 0, 1)),
    ("f32[2,3]{1,0}", "s32[6,1]{1,0}", lambda x: x.view(np.int32).reshape(6, 1)),
    ("f32[2,3]{1,0}", "u16[4,3]{1,0}", lambda x: x.view(np.uint16).reshape(4, 3)),
    ("u16[2,4]{1,0}", "u32[4]{0}", lambda x: x.reshape(8).view(np.uint32)),
]


@pytest.mark.parametrize(("before", "after", "expected"), BITCASTS)
def test_bitcasts_keep_the_bits(before, after, expected):
    text = f"HloModule m\n\nENTRY e {{\n  p = {before} parameter(0)\n"
    text += f"  ROOT r = {after} bitcast(p)\n}}\n"
    with pytest.warns(HloWarning, match="1 bitcast"):
        program = Program.of(text)
    (spec,) = program.signature.parameters
    dtype = np.dtype(np.float32 if spec.element_type == "f32" else np.uint16)
    x = np.arange(np.prod(spec.dims), dtype=dtype).reshape(spec.dims)
    assert np.array_equal(_outputs(program, x), expected(x))


def test_layouts_of_operands_count():
    """A bitcast of a column-major array reads it in the order of memory."""
    text = """HloModule m

ENTRY e {
  p = f32[2,3]{1,0} parameter(0)
  c = f32[2,3]{0,1} copy(p)
  ROOT r = f32[6]{0} bitcast(c)
}
"""
    plain, left_out = without_optimizations(Module.from_text(text).to_text())
    assert left_out == LeftOut(False, 0, 1, 0)
    module = Module.from_text(plain)
    assert not is_optimized(module.to_proto(), module.opcodes())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(_outputs(Program.of(module), x), x.T.reshape(6))


def test_asynchronous_copies_are_copies():
    text = """HloModule m, is_scheduled=true

ENTRY e {
  p = f32[2]{0:S(1)} parameter(0)
  s = (f32[2]{0}, f32[2]{0}, u32[]) copy-start(p)
  ROOT d = f32[2]{0} copy-done(s)
}
"""
    plain, left_out = without_optimizations(text)
    assert str(left_out) == "its schedule"
    assert Module.from_text(plain).opcodes() == ["copy", "parameter"]


def test_a_module_before_optimizations_is_left_as_it_is():
    module = Module.from_text("HloModule m\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n")
    assert not is_optimized(module.to_proto(), module.opcodes())
