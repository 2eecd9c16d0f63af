"""PyTorch Geometric, networkx and Graphviz."""

import re
from collections import Counter

import numpy as np
import pytest

import hlograph
from hlograph import ELEMENT_TYPES, HloGraph
from hlograph.graph.features import NODE_FEATURES, node_features
from hlograph.graph.vocabulary import OPCODES
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import edges, node


@pytest.fixture(scope="module")
def graph() -> HloGraph:
    return hlograph.parse(samples.WHILE)


@pytest.fixture(scope="module")
def torch_geometric():
    import warnings

    with warnings.catch_warnings():
        # Its import warns of what it does not find.
        warnings.simplefilter("ignore")
        import torch_geometric

    return torch_geometric


def test_pyg_columns(graph, torch_geometric):
    import torch

    data = graph.to_pyg()
    data.validate(raise_on_error=True)
    assert isinstance(data, torch_geometric.data.Data)
    assert (data.num_nodes, data.num_edges) == (19, 20)
    assert data.is_directed()
    assert data.x.shape == (19, len(NODE_FEATURES) - 3)
    assert data.x.dtype == torch.float32
    assert np.array_equal(data.x.numpy(), node_features(graph)[:, 3:])
    loop = node(graph, "loop")
    assert OPCODES[data.opcode[loop]] == "while"
    assert ELEMENT_TYPES[data.element_type[loop]] == "tuple"
    assert data.opcode[node(graph, "main")] == len(OPCODES)
    assert data.node_type.tolist() == graph.node_type.tolist()
    assert data.computation.tolist() == graph.computation.tolist()
    assert data.is_root.sum() == 3
    assert data.is_entry.tolist() == graph.is_entry.tolist()
    assert data.edge_index.tolist() == graph.edge_index.tolist()
    assert data.edge_type.tolist() == graph.edge_type.tolist()
    assert data.edge_position.tolist() == graph.edge_position.tolist()
    for name in ("node_type", "opcode", "element_type", "edge_index", "edge_type"):
        assert data[name].dtype == torch.int64, name


def test_pyg_tensors_are_the_users_own(graph, torch_geometric, tmp_path):
    graph.save(tmp_path / "g")
    for one in (graph, HloGraph.load(tmp_path / "g")):
        data = one.to_pyg()
        for name in data.keys():  # noqa: SIM118 - iterating over Data yields pairs
            data[name].zero_()
        assert one == hlograph.parse(samples.WHILE)


def test_pyg_batches(graph, torch_geometric):
    other = hlograph.parse(samples.REDUCE)
    batch = torch_geometric.data.Batch.from_data_list([graph.to_pyg(), other.to_pyg()])
    assert (batch.num_nodes, batch.num_edges) == (19 + 9, 20 + 10)
    assert batch.edge_index[:, 20:].tolist() == (other.edge_index + 19).tolist()
    assert batch.node_type[19:].tolist() == other.node_type.tolist()


def test_pyg_of_a_loaded_graph(graph, torch_geometric, tmp_path):
    graph.save(tmp_path / "g")
    assert HloGraph.load(tmp_path / "g").to_pyg().x.equal(graph.to_pyg().x)


def test_networkx_keeps_everything(graph):
    result = graph.to_networkx()
    assert list(result) == list(range(19))
    names = result.nodes(data="name")
    back = Counter(
        (data["type"], names[source], names[target], data["position"])
        for source, target, data in result.edges(data=True)
    )
    assert back == edges(graph)
    twice, x = node(graph, "twice"), node(graph, "x")
    positions = [data["position"] for data in result.get_edge_data(x, twice).values()]
    assert sorted(positions) == [0, 1]
    assert result.nodes[node(graph, "less")] == {
        "name": "less",
        "type": "instruction",
        "opcode": "compare",
        "element_type": "pred",
        "dims": (),
        "layout": (),
        "dynamic_dims": (),
        "elements": 1,
        "bytes": 1,
        "computation": int(graph.computation[node(graph, "condition")]),
        "is_root": True,
        "is_entry": False,
        "traits": ("one_element_operand", "compares_less"),
        "attributes": {"direction": "LT", "comparison_type": "SIGNED"},
    }


def test_networkx_dynamic_dimensions():
    graph = hlograph.parse(samples.DYNAMIC)
    result = graph.to_networkx()
    assert result.nodes[node(graph, "x")]["dynamic_dims"] == (0,)
    assert result.nodes[node(graph, "y")]["dynamic_dims"] == ()


def test_dot_shows_computations_nodes_and_positions(graph):
    text = graph.to_dot()
    assert text.startswith("digraph module {\n")
    assert text.endswith("}\n")
    assert re.findall(r'label="(\w+)"; penwidth=(\d)', text) == [
        ("body", "1"),
        ("condition", "1"),
        ("main", "2"),
    ]
    assert len(re.findall(r"^    n\d+ \[", text, re.MULTILINE)) == 19
    assert len(re.findall(r"^  n\d+ -> n\d+", text, re.MULTILINE)) == 20
    x, twice, less = (node(graph, name) for name in ("x", "twice", "less"))
    assert f'n{x} -> n{twice} [label="0"];' in text
    assert f'n{x} -> n{twice} [label="1"];' in text
    assert f'n{less} [label="compare\\nless\\npred[]\\ndirection=LT' in text
    # One operand needs no number.
    assert f"n{node(graph, 'init')} -> n{node(graph, 'loop')};" in text


def test_dot_escapes_text():
    text = hlograph.parse(samples.CUSTOM_CALL).to_dot()
    assert r"custom_call_target=my \"target\"" in text
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert '"' not in without_strings
    assert all("\n" not in string for string in strings)


@pytest.mark.parametrize("name", samples.ALL)
def test_dot_is_balanced(name):
    without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", hlograph.parse(samples.ALL[name]).to_dot())
    assert without_strings.count("{") == without_strings.count("}")
    assert without_strings.count("[") == without_strings.count("]")


def test_dot_shapes():
    assert "f32[<=10,4]" in hlograph.parse(samples.DYNAMIC).to_dot()
    assert "window={3x2x1x1x1x1x0,3x1x1x1x1x1x0,1x1x0x0x..." in (
        hlograph.parse(samples.CONVOLUTION).to_dot()
    )
