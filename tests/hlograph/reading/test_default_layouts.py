"""Modules are the same whether XLA's parser reads default layouts or makes them up."""

import pytest

from hlograph import corpus
from hlograph._native import native
from hlograph.corpus import plan_times
from hlograph.errors import HloParseError
from hlograph.module import Module
from hlograph.reading.parsers import parse_text

LAYOUTS = """\
HloModule m, entry_computation_layout={(f32[8,16]{0,1}, f32[8,16]{1,0})->f32[8,16]{1,0}}

ENTRY %e (a: f32[8,16], b: f32[8,16]) -> f32[8,16] {
  %a = f32[8,16]{0,1} parameter(0), metadata={op_name="a[\\"x\\"]{0} of f32[8,16]{1,0}"}
  %b = f32[8,16]{1,0} parameter(1) /* it's f32[8,16]{1,0} */
  %c = f32[8,16]{1,0} copy(f32[8,16]{0,1} %a), backend_config={"text":"f32[2]{0} // {"}
  %d = f32[8,16]{1,0:T(8,128)} copy(%b)
  %s = f32[] constant(1)
  %i = s32[3]{0} constant({1, 2, 3})
  %t = (f32[8,16]{1,0}, f32[<=8,16]{1,0}) custom-call(%d, %i), custom_call_target="f[1]{0}"
  %r = f32[8,16]{1,0} add(f32[8,16]{1,0} %c, f32[8,16]{1,0} %b)
  ROOT %n = f32[8,16]{1,0} negate(%r), frontend_attributes={k="v[2]{0}"}
}
"""


def assert_same(text: str) -> None:
    data = text.encode()
    whole = native().Module.from_text(data, isolated=True)  # reads the text as it is
    assert whole is not None
    assert parse_text(data).to_text(True) == whole.to_text(True)


def test_layouts_of_all_forms():
    assert_same(LAYOUTS)
    text = Module.from_text(LAYOUTS).to_text(metadata=True)
    assert "f32[8,16]{0,1} parameter(0)" in text
    assert "f32[8,16]{1,0:T(8,128)} copy" in text
    assert 'f32[8,16]{1,0}"' in text
    assert 'custom_call_target="f[1]{0}"' in text
    assert 'k="v[2]{0}"' in text


def test_kernels_of_programs():
    kernels = plan_times.load("validation").kernels
    for text in kernels[:: len(kernels) // 200]:
        # XLA makes up other numbers for {...} each time.
        if text.startswith("HloModule") and "{...}" not in text:
            assert_same(text)


@pytest.mark.parametrize("number", range(0, 60, 6))
def test_modules_of_the_corpus(number):
    assert_same(corpus.load("diverse")[number].load().to_text(metadata=True))


def test_errors_have_their_position_in_the_text():
    line = "  ROOT %r = f32[8,16]{1,0} add(%a, %missing)"
    text = f"HloModule m\n\nENTRY %e {{\n  %a = f32[8,16]{{1,0}} parameter(0)\n{line}\n}}\n"
    with pytest.raises(HloParseError) as caught:
        Module.from_text(text)
    assert caught.value.line == 5
    assert caught.value.column is not None
    assert caught.value.column > line.index("add")
