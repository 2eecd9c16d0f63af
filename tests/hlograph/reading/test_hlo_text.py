"""Tests of the model of HLO text, compared with what XLA says of the same modules."""

import re

import jax
import jax.numpy as jnp
import pytest

from hlograph import EDGE_TYPES, Module, corpus
from hlograph.errors import HloError
from hlograph.reading.hlo_editing import Instruction, ModuleText
from hlograph.reading.hlo_text import (
    ArrayShape,
    array_shape,
    read_instruction,
    read_instructions,
    read_module,
    with_renamed_calls,
    without_metadata,
)
from tests.hlograph import samples

SIGNATURE = re.compile(r"^((?:ENTRY )?%\S+) \(.*\) -> .* \{$", re.M)


@pytest.fixture(scope="module")
def modules(small_benchmarks: list[corpus.Benchmark]) -> list[Module]:
    own = [Module.from_text(text) for text in samples.ALL.values()]
    return own + [benchmark.load() for benchmark in small_benchmarks]


def test_modules_are_printed_byte_for_byte(modules: list[Module]) -> None:
    for module in modules:
        for metadata in (False, True):
            text = module.to_text(metadata=metadata)
            assert str(ModuleText.parse(text)) == text


def test_optimized_modules_are_printed_byte_for_byte_without_signatures() -> None:
    def step(x: jax.Array, w: jax.Array) -> tuple[jax.Array, ...]:
        state = jax.lax.fori_loop(0, 5, lambda _, x: jnp.tanh(x @ w), x)
        return jnp.sort(state), jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, state), *state[:6]

    executable = jax.jit(step).lower(jnp.ones((32, 32)), jnp.ones((32, 32))).compile()
    runtime = executable.runtime_executable()
    assert runtime is not None
    text = runtime.hlo_modules()[0].to_string()
    assert str(ModuleText.parse(text)) == SIGNATURE.sub(r"\1 {", text)
    assert without_metadata(text).count("metadata=") == 0
    assert any(instruction.op_name for instruction in read_instructions(text))


def test_the_model_is_what_the_graph_says(modules: list[Module]) -> None:
    for module in modules:
        graph = module.graph()
        names = graph.names()
        computations = graph.computation + graph.num_nodes - graph.num_computations
        texts = {
            (text.computation, text.name): text for text in read_instructions(module.to_text())
        }
        assert len(texts) == module.op_count
        operands: dict[int, list[tuple[int, str]]] = {}
        calls: dict[int, list[str]] = {}
        for source, target, edge, position in zip(
            *graph.edge_index.tolist(), graph.edge_type, graph.edge_position.tolist(), strict=True
        ):
            if EDGE_TYPES[edge] == "data":
                operands.setdefault(target, []).append((position, names[source]))
            elif EDGE_TYPES[edge] == "call":
                calls.setdefault(source, []).append(names[target])
        for node in range(module.op_count):
            text = texts[names[computations[node]], names[node]]
            assert text.opcode == graph.opcode_name(node)
            assert text.operands == tuple(name for _, name in sorted(operands.get(node, [])))
            assert set(text.calls) == set(calls.get(node, []))


@pytest.mark.parametrize("line", ["  %a", "nonsense", "  %a = f32[2] add(%b", " %a = (f32[2] b(c)"])
def test_text_of_an_unknown_form_is_refused(line: str) -> None:
    with pytest.raises(HloError, match="expected"):
        ModuleText.parse(f"HloModule m\n\n%c {{\n{line}\n}}\n")
    with pytest.raises(HloError, match="expected the text of an HLO module"):
        read_module(line)


@pytest.mark.parametrize(
    "line",
    [
        r'%a-b.1 = (f32[2]{0}, /*index=1*/s8[]) custom-call(), custom_call_target="x\"}{,"',
        "ROOT %c = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, nan } })",
        "c = c64[2]{0} constant({(1, 2), (-3, 4)})",
        "%d = f32[] add(%e, %f), control-predecessors={%g, %h}, frontend_attributes={k={}}",
        "w = ((f32[8]{0:T(8,128)}, s32[]), f32[]) while(s), condition=c, body=b",
        "t = (f32[], f32[]) tuple(a, b, c, d, e, f)",
        "%t = (f32[], f32[]) tuple(%a, %b, %c, %d, %e, /*index=5*/%f)",
        'r = f32[] copy(p), metadata={op_name="j{}\\"" source_line=3}, backend_config={"k":"v"}',
    ],
)
def test_a_line_is_read_and_printed_unchanged(line: str) -> None:
    read = read_instruction(f"  {line}")
    assert str(read) == line
    assert str(Instruction.of(read)) == line


def test_parts_of_a_line() -> None:
    read = read_instruction(
        r"  ROOT %loop = (s32[], /*index=1*/f32[8]{0}) while((s32[], f32[8]{0}) %start), "
        r'condition=%c, body=%b, metadata={op_name="x[\'a\']/body=%no" source_line=3}, '
        r'backend_config={"known_trip_count":{"n":"3"}}'
    )
    assert (read.name, read.opcode, read.operands) == ("loop", "while", ("start",))
    assert read.shape == "(s32[], /*index=1*/f32[8]{0})"
    assert (read.is_root, read.sign, read.calls) == (True, "%", ("c", "b"))
    assert read.op_name == "x['a']/body=%no"
    assert read.attribute("backend_config") == '{"known_trip_count":{"n":"3"}}'
    assert read.attribute("kind") == ""
    assert read.attributes.startswith("condition=%c, body=%b, backend_config=")


def test_literals_may_have_several_lines() -> None:
    _, (computation,) = read_module("ENTRY e {\n  c = s32[2] constant({\n  1,\n  2\n  })\n}\n")
    assert computation.instructions[0].argument == "{\n  1,\n  2\n  }"


def test_calls_get_other_names() -> None:
    text = "branch_computations={%a, %b}, to_apply=a, window={size=a}"
    renamed = "branch_computations={%c, %b}, to_apply=c, window={size=a}"
    assert with_renamed_calls(text, {"a": "c"}) == renamed


def test_shapes() -> None:
    shape = array_shape("f32[2,3]{0,1}")
    assert shape == ArrayShape("f32", (2, 3), (0, 1))
    assert shape is not None
    assert (shape.elements, shape.is_row_major, shape.outer_sizes) == (6, False, (3, 2))
    assert array_shape("s8[4]") == ArrayShape.row_major("s8", (4,))
    assert str(shape) == "f32[2,3]"
    for text in ("(f32[2]{0}, f32[])", "token[]{:T(8)}", "f32[8]{0:T(8,128)}"):
        assert array_shape(text) is None
