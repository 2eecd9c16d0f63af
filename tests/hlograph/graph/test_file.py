"""Saving, loading, JSON and equality."""

import contextlib
import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import HloError, HloGraph, Module
from hlograph.graph.columns import COLUMNS, VOCABULARIES, translate
from tests.hlograph import samples


@pytest.fixture(scope="module")
def graph() -> HloGraph:
    return hlograph.parse(samples.INDEXING)


@pytest.mark.parametrize("name", samples.ALL)
def test_round_trips(name, tmp_path):
    graph = hlograph.parse(samples.ALL[name])
    graph.save(tmp_path / "g.hlograph")
    for restored in (
        HloGraph.load(tmp_path / "g.hlograph"),
        HloGraph.from_json(graph.to_json()),
        pickle.loads(pickle.dumps(graph)),
        copy.deepcopy(graph),
    ):
        assert restored == graph
        for column, spec in COLUMNS.items():
            assert getattr(restored, column).dtype == np.dtype(spec.dtype)
        assert restored.attributes(0) == graph.attributes(0)


def test_round_trip_of_a_model(corpus_module, tmp_path):
    graph = corpus_module.graph()
    graph.save(tmp_path / "g")
    assert HloGraph.load(tmp_path / "g") == graph == HloGraph.from_json(graph.to_json())
    # Compact, and nothing else is left behind.
    assert (tmp_path / "g").stat().st_size < len(corpus_module.to_text()) / 4
    assert [p.name for p in tmp_path.iterdir()] == ["g"]


def test_columns_have_the_declared_types(graph):
    assert {f.name for f in dataclasses.fields(graph)} == {*COLUMNS, "strings"}
    for column, spec in COLUMNS.items():
        assert getattr(graph, column).dtype == np.dtype(spec.dtype), column


def test_columns_are_read_only(graph, tmp_path):
    graph.save(tmp_path / "g")
    mine = {f.name: getattr(graph, f.name) for f in dataclasses.fields(graph)}
    mine |= {name: mine[name].copy() for name in COLUMNS}
    for one in (
        graph,
        Module.from_text(samples.INDEXING).graph(),
        HloGraph.load(tmp_path / "g"),
        HloGraph.from_json(graph.to_json()),
        pickle.loads(pickle.dumps(graph)),
        copy.copy(graph),
        copy.deepcopy(graph),
        dataclasses.replace(graph, dim_size=graph.dim_size.copy()),
        HloGraph(**mine),
    ):
        for column in COLUMNS:
            with pytest.raises(ValueError, match="read-only"):
                getattr(one, column)[...] = 0
    # The constructor neither copies the caller's arrays nor changes them.
    assert all(mine[name].flags.writeable for name in COLUMNS)
    assert np.shares_memory(HloGraph(**mine).edge_index, mine["edge_index"])


def test_equality(graph):
    other = copy.deepcopy(graph)
    assert other == graph
    assert dataclasses.replace(other, dim_size=other.dim_size + 1) != graph
    assert graph != hlograph.parse(samples.REDUCE)
    assert graph != "a graph"
    with pytest.raises(TypeError, match="unhashable"):
        hash(graph)


def test_save_replaces_the_file(graph, tmp_path):
    path = tmp_path / "g"
    path.write_bytes(b"before")
    graph.save(str(path))
    assert HloGraph.load(str(path)) == graph
    graph.save(tmp_path / "new folder" / "g")
    assert HloGraph.load(tmp_path / "new folder" / "g") == graph
    graph.save("memory://graphs/g")
    assert HloGraph.load("memory://graphs/g") == graph


def test_load_of_other_files(graph, tmp_path):
    with pytest.raises(FileNotFoundError):
        HloGraph.load(tmp_path / "missing")
    for content in (b"", b"HLOGRAPH", b"HloModule m", b"\x89PNG\r\n\x1a\n" + bytes(100)):
        (tmp_path / "g").write_bytes(content)
        with pytest.raises(HloError, match=r"not a saved HloGraph.*hlograph\.parse"):
            HloGraph.load(tmp_path / "g")


def test_load_of_a_later_version(graph, tmp_path):
    graph.save(tmp_path / "g")
    data = bytearray((tmp_path / "g").read_bytes())
    data[8] = 99
    (tmp_path / "g").write_bytes(data)
    with pytest.raises(HloError, match="format version 99"):
        HloGraph.load(tmp_path / "g")


@settings(deadline=None)
@given(st.data())
def test_load_of_damaged_files(tmp_path_factory, graph, data):
    path = tmp_path_factory.mktemp("damaged") / "g"
    graph.save(path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans(), label="cut"):
        content = content[: data.draw(st.integers(0, len(content) - 1), label="length")]
    else:
        position = data.draw(st.integers(0, len(content) - 1), label="position")
        content[position] ^= data.draw(st.integers(1, 255), label="bits")
    path.write_bytes(content)
    # zstd ignores one bit of its header.
    with contextlib.suppress(HloError):
        assert HloGraph.load(path) == graph


def test_json_can_be_read_without_hlograph(graph):
    document = json.loads(graph.to_json())
    node = document["names"].index("rows")
    opcode = document["vocabularies"]["opcodes"][document["columns"]["opcode"][node]]
    begin, end = document["columns"]["dim_offsets"][node : node + 2]
    assert (opcode, document["columns"]["dim_size"][begin:end]) == ("gather", [7, 20])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("opcode", [0], "opcode is not as long as node_type"),
        ("node_type", None, "holds object"),
        ("elements", ["many"] * 16, "not integers"),
        ("edge_index", [[0], [0]], "edge_index is not"),
        ("dim_offsets", [0] * 17, "dim_offsets does not rise"),
        ("value_offsets", [0, 1], "value_offsets has 2 entries"),
        ("attribute_key", [255], "attribute_offsets does not rise"),
        ("edge_type", [999] * 22, "do not fit its type"),
    ],
)
def test_json_with_wrong_columns(graph, column, values, message):
    document = json.loads(graph.to_json())
    document["columns"][column] = values
    with pytest.raises(HloError, match=message):
        HloGraph.from_json(json.dumps(document))


@pytest.mark.parametrize("column", ["edge_index", "opcode", "computation"])
def test_values_out_of_range(column):
    document = json.loads(hlograph.parse(samples.CUSTOM_CALL).to_json())
    values = np.array(document["columns"][column])
    values[...] = 9999
    document["columns"][column] = values.tolist()
    with pytest.raises(HloError, match="do not fit together"):
        HloGraph.from_json(json.dumps(document))


def test_attribute_values_out_of_range():
    document = json.loads(hlograph.parse(samples.SHARDING).to_json())
    document["strings"] = document["strings"][:1]
    with pytest.raises(HloError, match="outside the 1 strings"):
        HloGraph.from_json(json.dumps(document))
    document["columns"]["attribute_key"] = [255] * len(document["columns"]["attribute_key"])
    with pytest.raises(HloError, match="attribute_key has a value outside"):
        HloGraph.from_json(json.dumps(document))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}'])
def test_json_of_something_else(text):
    with pytest.raises(HloError, match="JSON"):
        HloGraph.from_json(text)


def test_json_without_a_part(graph):
    document = json.loads(graph.to_json())
    for key in ("columns", "names", "strings", "vocabularies"):
        with pytest.raises(HloError, match="damaged"):
            HloGraph.from_json(json.dumps({k: v for k, v in document.items() if k != key}))


def test_ids_of_another_version_are_translated(graph):
    """A file keeps its meaning when XLA gains an opcode in between."""
    columns = {name: getattr(graph, name) for name in COLUMNS}
    older = dict(VOCABULARIES)
    older["opcodes"] = tuple(reversed(VOCABULARIES["opcodes"]))
    older["traits"] = tuple(reversed(VOCABULARIES["traits"]))
    to_older = np.append(np.arange(len(older["opcodes"]))[::-1], -1)
    written = dict(columns)
    written["opcode"] = to_older[columns["opcode"]].astype(np.int16)
    bits = np.unpackbits(columns["traits"].view(np.uint8).reshape(-1, 4), axis=1)
    bits = bits.reshape(-1, 4, 8)[:, ::-1].reshape(-1, 32)  # most significant first
    written["traits"] = (
        np.packbits(bits[:, ::-1].reshape(-1, 4, 8)[:, ::-1], axis=2).reshape(-1).view(np.uint32)
    )
    read = translate(written, older)
    assert read["opcode"].tolist() == columns["opcode"].tolist()
    assert read["traits"].tolist() == columns["traits"].tolist()


def test_unknown_opcode_of_another_version(graph):
    columns = {name: getattr(graph, name) for name in COLUMNS}
    newer = dict(VOCABULARIES)
    newer["opcodes"] = tuple("new-" + name for name in VOCABULARIES["opcodes"])
    with pytest.raises(HloError, match=r"'new-.*parse the HLO module again"):
        translate(columns, newer)
