"""Graphs counted by hand: every node, every edge, every position."""

from collections import Counter

import numpy as np
import pytest

import hlograph
from hlograph import NODE_TYPES, OPCODES
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import data_edges, edges, node, shape, types


def test_while_loop():
    graph = hlograph.parse(samples.WHILE)
    assert (graph.num_nodes, graph.num_edges, graph.num_computations) == (19, 20, 3)
    assert edges(graph) == Counter(
        {
            ("call", "loop", "body", 0): 1,
            ("call", "loop", "condition", 1): 1,
            ("member", "body", "out", 0): 1,
            ("member", "condition", "less", 0): 1,
            ("member", "main", "result", 0): 1,
        }
    ) + data_edges(
        i="state",
        x="state",
        next="i step",
        twice="x x",
        out="next twice",
        counter="old",
        less="counter limit",
        init="start p",
        loop="init",
        result="loop",
    )
    assert Counter(types(graph).values()) == {
        "instruction": 10,
        "parameter": 3,
        "constant": 3,
        "computation": 3,
    }


def test_conditional():
    graph = hlograph.parse(samples.CONDITIONAL)
    assert (graph.num_nodes, graph.num_computations) == (10, 3)
    assert edges(graph) == Counter(
        {
            ("call", "chosen", "negate_it", 0): 1,
            ("call", "chosen", "keep_it", 1): 1,
            ("member", "negate_it", "minus", 0): 1,
            ("member", "keep_it", "b", 0): 1,
            ("member", "main", "chosen", 0): 1,
        }
    ) + data_edges(minus="a", chosen="which x y")


def test_fusion():
    graph = hlograph.parse(samples.FUSION)
    assert (graph.num_nodes, graph.num_computations) == (9, 2)
    assert edges(graph) == Counter(
        {
            ("call", "fusion", "fused_computation", 0): 1,
            ("member", "fused_computation", "sum", 0): 1,
            ("member", "main", "fusion", 0): 1,
        }
    ) + data_edges(product="u v", sum="product v", fusion="y x")


def test_reduce_called_twice():
    graph = hlograph.parse(samples.REDUCE)
    assert (graph.num_nodes, graph.num_computations) == (9, 2)
    assert edges(graph) == Counter(
        {
            ("call", "inner", "plus", 0): 1,
            ("call", "outer", "plus", 0): 1,
            ("member", "plus", "total", 0): 1,
            ("member", "main", "outer", 0): 1,
        }
    ) + data_edges(total="l r", inner="x zero", outer="inner zero")


def test_nested_tuples():
    graph = hlograph.parse(samples.NESTED_TUPLES)
    assert (graph.num_nodes, graph.num_computations) == (6, 1)
    expected = Counter({("member", "main", "out", 0): 1})
    assert edges(graph) == expected + data_edges(first="p", x="first", out="empty first x")
    # Sizes are sums over the leaves: f32[2], s32[3] and pred[].
    assert graph.elements[node(graph, "p")] == 2 + 3 + 1
    assert graph.bytes[node(graph, "p")] == 4 * 2 + 4 * 3 + 1
    assert graph.elements[node(graph, "out")] == 2 + 3 + 2
    assert graph.elements[node(graph, "empty")] == 0
    assert shape(graph, "p") == "tuple[]"


def test_control_dependencies():
    graph = hlograph.parse(samples.CONTROL)
    assert (graph.num_nodes, graph.num_computations) == (6, 1)
    assert edges(graph) == Counter(
        {
            ("control", "a", "b", 0): 1,
            ("control", "a", "c", 0): 1,
            ("control", "b", "c", 0): 1,
            ("member", "main", "sum", 0): 1,
        }
    ) + data_edges(a="x", b="x", c="x", sum="b c")


def test_custom_call():
    graph = hlograph.parse(samples.CUSTOM_CALL)
    assert (graph.num_nodes, graph.num_computations) == (6, 1)
    expected = Counter({("member", "main", "out", 0): 1})
    assert edges(graph) == expected + data_edges(call="x x", other="x", out="call")
    assert shape(graph, "order") == "token[]"
    assert graph.bytes[node(graph, "order")] == 0


def test_dynamic_shapes():
    graph = hlograph.parse(samples.DYNAMIC)
    assert (graph.num_nodes, graph.num_computations) == (5, 1)
    expected = Counter({("member", "main", "cut", 0): 1})
    assert edges(graph) == expected + data_edges(size="x", cut="y size")
    dynamic = {}
    for name in ("x", "y", "cut"):
        begin, end = graph.dim_offsets[node(graph, name) :][:2]
        dynamic[name] = graph.dim_is_dynamic[begin:end].tolist()
    assert dynamic == {"x": [True, False], "y": [False, False], "cut": [True, False]}
    assert shape(graph, "cut") == "f32[10,4]"


def test_unbounded_dimension_counts_as_one():
    graph = hlograph.parse(
        "HloModule unbounded\n\nENTRY main {\n  ROOT x = f32[?,4] parameter(0)\n}"
    )
    assert graph.dims(0) == (np.iinfo(np.int64).min, 4)
    assert graph.elements[0] == 4


def test_element_types():
    graph = hlograph.parse(samples.TYPES)
    # The name, then the bytes of 3 x 5 elements.
    sizes = {"a": 30, "b": 15, "c": 15, "d": 120, "e": 240, "f": 15, "to_f8": 15, "to_f32": 60}
    assert {name: int(graph.bytes[node(graph, name)]) for name in sizes} == sizes
    assert [shape(graph, name) for name in sizes] == [
        "bf16[3,5]",
        "f8e4m3fn[3,5]",
        "s4[3,5]",
        "u64[3,5]",
        "c128[3,5]",
        "pred[3,5]",
        "f8e5m2[3,5]",
        "f32[3,5]",
    ]


def test_computations_have_the_shape_of_their_root():
    graph = hlograph.parse(samples.REDUCE)
    plus, main = node(graph, "plus"), node(graph, "main")
    assert (plus, main) == (7, 8)
    assert graph.opcode[plus] == -1
    assert graph.opcode_name(plus) == "computation"
    assert shape(graph, "plus") == shape(graph, "main") == "f32[]"


def test_roots_and_entry():
    graph = hlograph.parse(samples.REDUCE)
    names = [graph.name(i) for i in range(graph.num_nodes)]
    assert {n for n, root in zip(names, graph.is_root, strict=True) if root} == {"total", "outer"}
    in_entry = {n for n, entry in zip(names, graph.is_entry, strict=True) if entry}
    assert in_entry == {"x", "zero", "inner", "outer", "main"}


def test_layout_is_minor_to_major():
    text = "HloModule m\n\nENTRY main {\n  ROOT x = f32[2,3,5]{0,2,1} parameter(0)\n}"
    assert hlograph.parse(text).layout(0) == (0, 2, 1)


@pytest.mark.parametrize("name", samples.ALL)
def test_order_of_nodes(name):
    """Callees before callers, operands before users, computations last."""
    graph = hlograph.parse(samples.ALL[name])
    source, target = graph.edge_index
    is_instruction = graph.node_type != NODE_TYPES.index("computation")
    count = int(is_instruction.sum())
    assert is_instruction[:count].all()
    assert (np.diff(graph.computation[:count]) >= 0).all()
    assert graph.computation[count:].tolist() == list(range(graph.num_computations))
    forward = np.isin(graph.edge_type, (0, 1))
    assert (source[forward] < target[forward]).all()
    assert (graph.computation[source[forward]] == graph.computation[target[forward]]).all()
    calls = graph.edge_type == 2
    assert (graph.computation[source[calls]] > graph.computation[target[calls]]).all()


def test_op_counts_agree_with_the_module(corpus_module):
    graph = corpus_module.graph()
    counts = np.bincount(graph.opcode[graph.opcode >= 0], minlength=len(OPCODES))
    assert counts.tolist() == corpus_module.op_counts().tolist()
