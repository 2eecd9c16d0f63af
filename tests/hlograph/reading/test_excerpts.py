"""Modules within texts: several in one, pastes, and texts that are cut off."""

import warnings

import pytest

import hlograph
from hlograph import HloParseError, Module, UnknownNameError
from hlograph.errors import HloWarning

FIRST = """HloModule first, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

%double (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  ROOT %two = f32[4]{0} add(%x, %x), metadata={op_name="f(x) {"}
}

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %c = f32[4]{0} constant({1, 2, 3, 4})
  %m = f32[4]{0} multiply(%p, %c)
  ROOT %r = f32[4]{0} call(%m), to_apply=%double
}
"""
SECOND = FIRST.replace("first", "second").replace("add", "subtract")
STABLEHLO = """module @third {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


@pytest.mark.parametrize("between", ["", "\n", "\n// -----\n\n"])
def test_several_modules_are_named(between, tmp_path):
    path = tmp_path / "both.hlo"
    path.write_text(FIRST + between + SECOND)
    line = FIRST.count("\n") + between.count("\n") + 1
    with pytest.raises(HloParseError, match="2 modules") as raised:
        hlograph.parse(path)
    assert f"0: 'first' in line 1, 1: 'second' in line {line}" in str(raised.value)
    assert hlograph.parse_all(path) == [hlograph.parse(FIRST), hlograph.parse(SECOND)]
    for chosen in ("second", 1, "1"):
        assert Module.read(path, module=chosen).graph() == hlograph.parse(SECOND)
    with pytest.raises(UnknownNameError, match="did you mean 'first'"):
        hlograph.parse(path, module="frist")


def test_modules_of_one_name_are_chosen_by_number():
    with pytest.raises(HloParseError, match="2 modules of the given text are called 'first'"):
        hlograph.parse(FIRST + FIRST, module="first")
    assert hlograph.parse(FIRST + FIRST, module=1) == hlograph.parse(FIRST)


def test_stars_and_escapes_in_strings_stay():
    third = FIRST.replace("f(x) {", "x**2 -&gt; y").replace("first", "third")
    _, module = (Module.read(third + SECOND, module=name) for name in ("second", "third"))
    assert "x**2 -&gt; y" in module.to_text(metadata=True)


def test_one_module_is_all_of_a_text():
    assert hlograph.parse_all(FIRST) == [hlograph.parse(FIRST)]
    assert hlograph.parse_all(Module.from_text(FIRST)) == [hlograph.parse(FIRST)]


def test_several_modules_of_stablehlo():
    text = f"{STABLEHLO}\n// -----\n\n{STABLEHLO.replace('third', 'fourth')}"
    with pytest.raises(HloParseError, match="0: 'third' in line 1, 1: 'fourth' in line 10"):
        hlograph.parse(text)
    assert len(hlograph.parse_all(text)) == 2
    assert Module.read(text, module="fourth").name == "fourth"


PASTES = {
    "a fence": (f"It fails:\n\n```hlo\n{FIRST}```\nThanks!", "2 lines before it, 2 lines after it"),
    "prose": (f"The module is\n\n{FIRST}\nand that is all.", "1 line before it, 1 line after it"),
    "bold": (FIRST.replace("ROOT", "**ROOT**"), "the ** of Markdown"),
    "a quote": ("> " + FIRST.replace("\n", "\n> "), "'>' at the beginning of lines"),
    "a log": (
        "".join(f"I1127 10:00:{n:02} c.cc:{n}] {s}\n" for n, s in enumerate(FIRST.splitlines())),
        "'I1127 10:00:00 c.cc:0]' at the beginning of lines",
    ),
    "a string of C++": (
        f'auto text = R"({FIRST.rstrip()})";\nint x;',
        "1 line after it, 'auto text = R\"(' at the beginning of lines",
    ),
    "escapes": (FIRST.replace("->", "-&gt;"), "the escapes of HTML"),
}


@pytest.mark.parametrize(("text", "left_out"), PASTES.values(), ids=PASTES)
def test_the_module_of_a_paste_is_found(text, left_out):
    with pytest.warns(HloWarning) as warned:
        graph = hlograph.parse(text)
    assert graph == hlograph.parse(FIRST)
    assert str(warned[0].message).endswith(f"left out: {left_out}")


def test_stablehlo_within_prose():
    with pytest.warns(HloWarning, match="'third' in line 4 of the given text; left out: 2 lines"):
        graph = hlograph.parse(f"See\n\n```mlir\n{STABLEHLO}```\n")
    assert graph == hlograph.parse(STABLEHLO)


def test_computations_without_a_header_keep_their_lines():
    body = FIRST.split("\n", 2)[2]
    with pytest.warns(HloWarning, match="left out: 1 line before it"):
        assert hlograph.parse(f"Computations:\n\n{body}").num_nodes == 8
    with (
        pytest.warns(HloWarning, match="1 line before"),
        pytest.raises(HloParseError, match="no-such-op") as raised,
    ):
        hlograph.parse(f"Computations:\n\n{body.replace('multiply', 'no-such-op')}")
    assert raised.value.line == 11


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("{1, 2", "ends in line 10, .*{1, 2', within the computation main"),
        ("(x: f32[4]) -> f32[4] {", "ends in line 3, .* within the computation double"),
        ("{(f32", "ends in line 1, .* within its header"),
        ("->f32[4]{0}}", "ends in line 1, .* before the first computation"),
    ],
)
def test_a_text_that_is_cut_off_says_where(end, told):
    text = FIRST[: FIRST.index(end) + len(end)]
    with pytest.raises(HloParseError, match=told) as raised:
        hlograph.parse(text)
    assert raised.value.line == text.count("\n") + 1


def test_stablehlo_that_is_cut_off_says_where():
    with pytest.raises(HloParseError, match="cut off: the text ends in line 3"):
        hlograph.parse("\n".join(STABLEHLO.splitlines()[:3]))


def test_an_error_within_a_module_stays_that_of_xla():
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(HloParseError, match="was parsing 11") as raised,
    ):
        hlograph.parse(FIRST.replace("multiply", "no-such-op"))
    assert raised.value.line == 11


def test_lines_of_a_later_module_are_those_of_the_text():
    text = FIRST + SECOND.replace("multiply", "no-such-op")
    with pytest.raises(HloParseError) as raised:
        hlograph.parse(text, module="second")
    assert raised.value.line == FIRST.count("\n") + 11


FUNCTIONS = """// CHECK-LABEL: func @double
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @not_an_entry(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
"""


def test_the_only_public_function_of_stablehlo_is_its_entry():
    assert hlograph.parse(FUNCTIONS) == hlograph.parse(FUNCTIONS.replace("double", "main"))


def test_of_several_public_functions_one_is_chosen():
    text = FUNCTIONS + FUNCTIONS.split("func.func private")[0].replace("double", "other")
    with pytest.raises(HloParseError, match="0: 'double' in line 2, 1: 'other' in line 2"):
        hlograph.parse(text)
    assert hlograph.parse(text, module="other").num_nodes == 3
    assert len(hlograph.parse_all(text)) == 2


def test_expectations_are_left_out_of_a_module():
    text = """func.func @f() {
  %x = stablehlo.constant dense<1> : tensor<4xi32>
  %y = stablehlo.iota dim = 0 : tensor<4xi32>
  %z = stablehlo.add %x, %y : tensor<4xi32>
  check.expect_eq_const %z, dense<[1, 2, 3, 4]> : tensor<4xi32>
  func.return
}
"""
    with pytest.warns(HloWarning, match="left out: 1 expectation"):
        module = Module.read(text)
    assert "add" in module.opcodes()
    assert "{1, 2, 3, 4}" not in module.to_text()
