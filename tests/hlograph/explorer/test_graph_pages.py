"""The columns that the browser gets, compared with the module that they are of."""

import json
from collections import Counter

import numpy as np
import pytest

from hlograph import EDGE_TYPES, OPCODES, Module
from hlograph.explorer.graph_pages import Numbers, module_data, shown_texts
from tests.hlograph import samples

CONVOLUTION = "window={size=3x3}, dim_labels=b01f_01io->b01f"
SOURCE = """HloModule jit_f

FileNames
1 "model.py"

FunctionNames
1 "main"
2 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=1 end_column=5}
2 {file_name_id=1 function_name_id=2 line=3 end_line=3 column=5 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


ENTRY main {
  x = f32[4]{0} parameter(0), metadata={op_name="x[\\'a\\']"}
  old = f32[4]{0} exponential(x), metadata={op_name="jit(f)/exp" source_file="other.py" source_line=7}
  ROOT y = f32[4]{0} add(old, x), metadata={op_name="jit(f)/layer/add" stack_frame_id=2}
}
"""  # noqa: E501


@pytest.mark.parametrize("name", samples.ALL)
def test_the_columns_are_the_graph(name: str):
    module = Module.from_text(samples.ALL[name])
    graph = module.graph()
    count = graph.num_nodes - graph.num_computations
    data = json.loads(json.dumps(module_data(module)))

    names = data["names"].split("\n")
    assert names + data["computations"].split("\n") == graph.names()
    assert [data["opcodes"][i] for i in data["opcode"]] == [
        OPCODES[i] for i in graph.opcode[:count]
    ]

    ends = np.cumsum([0, *data["operand_counts"]]).tolist()
    edges = Counter(
        ("data", operand, user, position)
        for user in range(count)
        for position, operand in enumerate(data["operands"][ends[user] : ends[user + 1]])
    )
    edges += Counter(("control", before, after, 0) for before, after in data["control"])
    position: Counter[int] = Counter()
    for caller, computation in data["calls"]:
        edges["call", caller, count + computation, position[caller]] += 1
        position[caller] += 1
    for computation, root in enumerate(data["roots"]):
        edges["member", count + computation, root, 0] += 1
    columns = (*graph.edge_index.tolist(), graph.edge_type.tolist(), graph.edge_position.tolist())
    assert edges == Counter((EDGE_TYPES[t], s, u, p) for s, u, t, p in zip(*columns, strict=True))

    owners = np.repeat(np.arange(graph.num_computations), np.diff(data["first"]))
    assert owners.tolist() == graph.computation[:count].tolist()
    assert graph.is_entry[count + data["entry"]]


@pytest.mark.parametrize("name", samples.ALL)
def test_each_instruction_has_its_text(name: str):
    module = Module.from_text(samples.ALL[name])
    graph = module.graph()
    data = module_data(module)
    texts = shown_texts(module.to_text(metadata=True))
    assert len(texts) == module.op_count
    for node in range(module.op_count):
        shape = data["shapes"][data["shape"][node]]
        assert shape.startswith(("(", "token", "opaque")) or shape.partition("[")[2]
        attributes = data["attributes"][data["attribute"][node]]
        assert attributes.count("{") == attributes.count("}") or attributes.endswith("...")
        if graph.opcode_name(node) == "parameter":
            assert attributes.startswith(f"parameter({graph.attributes(node)['parameter_number']})")


def test_sources_are_read_from_both_forms_of_metadata():
    texts = shown_texts(SOURCE)
    assert texts["main", "old"].source == "other.py:7"
    assert texts["main", "y"].source == "model.py:3 (f)"
    assert texts["main", "y"].op_name == "jit(f)/layer/add"
    assert texts["main", "x"].source == ""
    data = module_data(Module.from_text(SOURCE))
    assert sorted(data["scopes"]) == ["jit(f)/exp", "jit(f)/layer/add", "x['a']"]
    assert "model.py:3 (f)" in data["sources"]


@pytest.mark.parametrize(
    ("instruction", "shape", "attributes"),
    [
        ("c64[2] constant({(1, 2), (-3, 4)})", "c64[2]{0}", "{(1, 2), (-3, 4)}"),
        ("f32[] constant(0.5), sharding={replicated}", "f32[]", "0.5, sharding={replicated}"),
        ("f32[2] slice(x), slice={[0:2]}", "f32[2]{0}", "slice={[0:2]}"),
        ("(f32[4], f32[4]) tuple(x, x)", "(f32[4]{0}, f32[4]{0})", ""),
    ],
)
def test_texts_of_instructions(instruction: str, shape: str, attributes: str):
    text = f"ENTRY e {{\n x = f32[4] parameter(0)\n ROOT y = {instruction}\n}}"
    (name, read), *_ = reversed(shown_texts(Module.from_text(text).to_text()).items())
    assert name[1] == "y"
    assert (read.shape, read.attributes) == (shape, attributes)


@pytest.mark.parametrize(
    ("instruction", "flops"),
    [
        ("f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}", 2 * 8 * 16 * 4),
        ("f32[8,4] add(x, x)", 8 * 4),
        ("f32[8] reduce(x, zero), dimensions={1}, to_apply=sum", 8 * 4),
        ("f32[4,8] transpose(x), dimensions={1,0}", 0),
        (f"f32[1,6,6,5] convolution(i, k), {CONVOLUTION}", 6 * 6 * 5 * 2 * 3 * 3 * 3),
    ],
)
def test_flops_follow_from_shapes(instruction: str, flops: int):
    module = Module.from_text(f"""
sum {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }}
ENTRY e {{
  x = f32[8,4] parameter(0)
  w = f32[4,16] parameter(1)
  i = f32[1,8,8,3] parameter(2)
  k = f32[3,3,3,5] parameter(3)
  zero = f32[] constant(0)
  ROOT y = {instruction}
}}""")
    data = module_data(module)
    values = next(each["values"] for each in data["numbers"] if each["name"] == "flops")
    assert values[data["names"].split("\n").index("y")] == flops


def test_own_numbers_are_kept_and_gaps_are_null(small_module: Module):
    values = np.full(small_module.op_count, np.nan)
    values[3] = 1.23456789
    data = module_data(small_module, [Numbers("seconds", "Time", "s", values)])
    kept = data["numbers"][-1]
    assert (kept["name"], kept["unit"]) == ("seconds", "s")
    assert kept["values"][3] == pytest.approx(1.235)
    assert kept["values"].count(None) == small_module.op_count - 1


def test_the_overview_has_layers_in_boxes(any_module: Module):
    data = module_data(any_module)
    places = data["overview"]
    x, y = np.array(places["x"]), np.array(places["y"])
    boxes = np.array(places["boxes"])
    width, height = places["size"]
    owners = np.repeat(np.arange(len(boxes)), np.diff(data["first"]))
    left, top, across, down = boxes[owners].T
    assert ((x >= left) & (x <= left + across) & (y >= top) & (y <= top + down)).all()
    assert (boxes[:, 0] + boxes[:, 2] <= width + 1).all()
    assert (boxes[:, 1] + boxes[:, 3] <= height + 1).all()
    # An operand is above its user, or in a column before it.
    user = np.repeat(np.arange(len(x)), data["operand_counts"])
    operand = np.array(data["operands"])
    assert ((y[operand] < y[user]) | (x[operand] < x[user])).all()
    # In a picture of few instructions, all are apart.
    if len(x) < 100:
        assert len(set(zip(x.tolist(), y.tolist(), strict=True))) == len(x)


def test_the_largest_module_is_a_small_file(any_module: Module):
    assert len(json.dumps(module_data(any_module), separators=(",", ":"))) < 6_000_000
