"""The JSON for Model Explorer: every instruction, edge and call of a graph, once."""

import json
from collections import Counter

import pytest

import hlograph
from hlograph import EDGE_TYPES
from tests.hlograph import samples


def exported(text: str) -> dict:
    return json.loads(hlograph.parse(text).to_model_explorer())


@pytest.mark.parametrize("name", samples.ALL)
def test_it_has_all_instructions_and_edges(name):
    graph = hlograph.parse(samples.ALL[name])
    graphs = exported(samples.ALL[name])["graphs"]
    nodes = {int(node["id"]): node for each in graphs for node in each["nodes"]}
    assert sorted(nodes) == list(range(graph.num_nodes - graph.num_computations))
    assert sum(len(each["nodes"]) for each in graphs) == len(nodes)
    assert all(node["label"] == graph.opcode_name(i) for i, node in nodes.items())

    edges = Counter(
        (int(edge["sourceNodeId"]), i, edge["targetNodeInputId"])
        for i, node in nodes.items()
        for edge in node["incomingEdges"]
    )
    calls = Counter((i, called) for i, node in nodes.items() for called in node["subgraphIds"])
    expected, expected_calls = Counter(), Counter()
    columns = (*graph.edge_index.tolist(), graph.edge_type.tolist(), graph.edge_position.tolist())
    for source, target, kind, position in zip(*columns, strict=True):
        if EDGE_TYPES[kind] == "call":
            expected_calls[source, graph.name(target)] += 1
        elif EDGE_TYPES[kind] != "member":
            operand = str(position) if EDGE_TYPES[kind] == "data" else "control"
            expected[source, target, operand] += 1
    assert edges == expected
    assert calls == expected_calls


def test_the_entry_computation_is_first_and_calls_open():
    collection = exported(samples.WHILE)
    assert [each["id"] for each in collection["graphs"]] == ["main", "body", "condition"]
    loop = next(node for node in collection["graphs"][0]["nodes"] if node["label"] == "while")
    assert sorted(loop["subgraphIds"]) == ["body", "condition"]


def test_shapes_and_attributes_are_text():
    nodes = exported(samples.CONVOLUTION)["graphs"][0]["nodes"]
    convolution = next(node for node in nodes if node["label"] == "convolution")
    attributes = {pair["key"]: pair["value"] for pair in convolution["attrs"]}
    assert attributes["window"].startswith("{3x2x1x1x1x1x0,3x1x1x1x1x1x0,1x1x0x0x")
    assert all(isinstance(value, str) for value in attributes.values())
    (output,) = convolution["outputsMetadata"]
    shape = {pair["key"]: pair["value"] for pair in output["attrs"]}
    assert shape["tensor_shape"].startswith("f32[")
