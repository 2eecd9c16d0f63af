"""Parts of a module as programs of their own, and names that last."""

import numpy as np
import pytest

from hlograph.comparing.minimising import Minimiser, shortest
from hlograph.comparing.module_cuts import ORIGIN, cut, program_of, text_of, with_origins
from hlograph.execution.runs import Run
from hlograph.plans import Program, compile_program
from hlograph.profiling import OptimizedModule
from hlograph.reading.hlo_editing import ModuleText

TEXT = """HloModule loop, entry_computation_layout={(f32[4]{0}, f32[4]{0})->f32[4]{0}}

body {
  state = (s32[], f32[4]) parameter(0)
  number = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(number, one)
  value = f32[4] get-tuple-element(state), index=1
  wave = f32[4] sine(value)
  ROOT both = (s32[], f32[4]) tuple(next, wave)
}

condition {
  state = (s32[], f32[4]) parameter(0)
  number = s32[] get-tuple-element(state), index=0
  most = s32[] constant(3)
  ROOT less = pred[] compare(number, most), direction=LT
}

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  sum = f32[4] add(x, y), metadata={op_name="jit(f)/add"}
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, sum)
  loop = (s32[], f32[4]) while(start), condition=condition, body=body
  end = f32[4] get-tuple-element(loop), index=1
  ROOT product = f32[4] multiply(end, x)
}
"""
X, Y = np.array([0.1, 0.2, 0.3, 0.4], np.float32), np.array([1, 2, 3, 4], np.float32)


@pytest.fixture(scope="module")
def module() -> ModuleText:
    return ModuleText.parse(TEXT)


def outputs_of(text: ModuleText | None, *inputs: np.ndarray) -> list[np.ndarray]:
    assert text is not None
    return Run(compile_program(program_of(text, "part")), inputs).outputs()


def test_the_text_of_a_program_is_that_program(module: ModuleText) -> None:
    program = program_of(module, "loop")
    again = program_of(text_of(program), "loop")
    assert again.text_fingerprint == program.text_fingerprint


def test_a_part_takes_its_operands_as_parameters(module: ModuleText) -> None:
    part = cut(module, module.entry, ["product"])
    assert set(module.computations) - set(part.computations if part else ()) >= {"body"}
    (product,) = outputs_of(part, X, Y)
    np.testing.assert_array_equal(product, X * Y)


def test_a_part_with_a_loop_has_what_the_loop_needs(module: ModuleText) -> None:
    part = cut(module, module.entry, ["loop"])
    assert part is not None
    assert {"body", "condition"} < set(part.computations)
    number, value = outputs_of(part, X)
    assert number == 3
    np.testing.assert_allclose(value, np.sin(np.sin(np.sin(X))), rtol=1e-6)


def test_a_part_of_the_body_of_a_loop_is_a_program(module: ModuleText) -> None:
    (wave,) = outputs_of(cut(module, module.computations["body"], ["wave"]), X)
    np.testing.assert_allclose(wave, np.sin(X), rtol=1e-6)


def test_results_that_nothing_uses_are_all_returned(module: ModuleText) -> None:
    part = cut(module, module.entry, ["product", "sum"])
    total, product = outputs_of(part, X, Y, Y)  # the last is the end of the loop
    np.testing.assert_array_equal(total, X + Y)
    np.testing.assert_array_equal(product, X * Y)


@pytest.mark.parametrize("names", [[], ["x"], ["zero"]])
def test_what_computes_nothing_is_no_part(module: ModuleText, names: list[str]) -> None:
    assert cut(module, module.entry, names) is None


def test_what_takes_a_tuple_is_no_part(module: ModuleText) -> None:
    assert cut(module, module.entry, ["end"]) is None


def test_the_final_module_names_the_instructions_that_it_comes_from() -> None:
    program = with_origins(program_of(ModuleText.parse(TEXT), "loop"))
    final = OptimizedModule.of(compile_program(program))
    names = {
        each.op_name.rpartition(ORIGIN)[2]
        for each in final.instructions.values()
        if ORIGIN in each.op_name
    }
    opcodes = {each.opcode for each in final.instructions.values()}
    assert {"sine", "multiply"} <= opcodes
    origins = {op.name for _, op in text_of(program).instructions()}
    assert names <= origins
    assert {"sine", "multiply"} <= {
        op.opcode for _, op in text_of(program).instructions() if op.name in names
    }


def _has(opcode: str, program: Program) -> bool:
    return opcode in program.flow.opcodes


@pytest.mark.parametrize("suspects", [[], [frozenset({"sum"}), frozenset({"sum", "loop"})]])
def test_the_smallest_part_is_the_instruction_that_shows_it(
    module: ModuleText, suspects: list[frozenset[str]]
) -> None:
    def shows(program: Program) -> bool:
        return _has("multiply", program)

    part = Minimiser(module, shows, 60).smallest(suspects)
    assert part is not None
    opcodes = [op.opcode for op in part.text.entry.instructions]
    assert opcodes == ["parameter", "parameter", "multiply"]
    assert part.num_instructions == 3


def test_a_part_without_its_context_is_not_taken(module: ModuleText) -> None:
    def shows(program: Program) -> bool:
        return _has("sine", program) and _has("while", program)

    part = Minimiser(module, shows, 60).smallest([frozenset({"wave", "product"})])
    assert part is not None
    assert "while" in {op.opcode for op in part.text.entry.instructions}
    assert "multiply" not in {op.opcode for op in part.text.entry.instructions}


def test_nothing_shows_what_no_part_has(module: ModuleText) -> None:
    minimiser = Minimiser(module, lambda program: _has("dot", program), 60)
    assert minimiser.smallest([]) is None
    assert minimiser.tried > 0
    assert Minimiser(module, lambda program: True, 0).smallest([]) is None


def test_the_shortest_list_has_what_is_needed_alone() -> None:
    assert shortest(list(range(20)), lambda some: {3, 17} <= set(some)) == [3, 17]
    assert shortest([1, 2, 3], lambda some: True) == []
