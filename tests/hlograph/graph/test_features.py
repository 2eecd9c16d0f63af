"""Node and edge features: known values, and properties of every graph."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph
from hlograph import ELEMENT_TYPES, HloGraph, Module
from hlograph.graph.features import EDGE_FEATURES, NODE_FEATURES, edge_features, node_features
from hlograph.graph.traits import TRAITS
from hlograph.graph.vocabulary import OPCODES
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import node


def _features(text: str, name: str) -> dict[str, float]:
    graph = hlograph.parse(text)
    row = node_features(graph)[node(graph, name)]
    return dict(zip(NODE_FEATURES, row.tolist(), strict=True))


def test_sizes_and_ids():
    found = _features(samples.REDUCE, "x")
    assert found["node_type"] == 1
    assert OPCODES[int(found["opcode"])] == "parameter"
    assert ELEMENT_TYPES[int(found["element_type"])] == "f32"
    expected = {
        "log_elements": math.log2(1 + 30) / 16,
        "log_bytes": math.log2(1 + 120) / 16,
        "log_dim_-1": math.log2(1 + 5) / 16,
        "log_dim_-2": math.log2(1 + 3) / 16,
        "log_dim_-3": math.log2(1 + 2) / 16,
        "log_dim_-4": 0,
        "log_dim_-6": 0,
        "log_operands": 0,
        "log_users": math.log2(1 + 1) / 4,
        "rank": 3 / 4,
        "is_root": 0,
        "is_entry": 1,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-6)


def test_degrees_count_data_edges_and_callers():
    twice = _features(samples.WHILE, "twice")
    assert twice["log_operands"] == pytest.approx(math.log2(1 + 2) / 4)
    # i and x; the while that calls two computations has but one user.
    assert _features(samples.WHILE, "state")["log_users"] == pytest.approx(math.log2(1 + 2) / 4)
    assert _features(samples.WHILE, "loop")["log_users"] == pytest.approx(math.log2(1 + 1) / 4)
    assert _features(samples.WHILE, "loop")["log_operands"] == pytest.approx(0.25)
    plus = _features(samples.REDUCE, "plus")
    assert plus["log_users"] == pytest.approx(math.log2(1 + 2) / 4)
    assert plus["log_operands"] == 0
    assert _features(samples.CONTROL, "a")["log_users"] == 0


def test_computation_has_an_opcode_id_of_its_own():
    plus = _features(samples.REDUCE, "plus")
    assert (plus["node_type"], plus["opcode"]) == (3, len(OPCODES))


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("scalar", -math.log2(1 + 2.5) / 4),
        ("infinite", -3),
        ("flag", math.log2(2) / 4),
        ("same", math.log2(1 + 7) / 4),
        # Beyond int64, a u64 is seen as the negative number of the same bits: -1.
        ("big", -math.log2(1 + 1) / 4),
        ("tiny", math.log2(1.5) / 4),
        ("small", 0),
    ],
)
def test_literals(name, literal):
    assert _features(samples.LITERALS, name)["literal"] == pytest.approx(literal)


def test_literal_nan_is_finite():
    found = _features("HloModule m\n\nENTRY e {\n  ROOT c = f32[] constant(nan)\n}", "c")
    assert abs(found["literal"]) == 3


def test_contracting_dims():
    text = """
        HloModule m

        ENTRY main {
          x = f32[3,4] parameter(0)
          ROOT z = f32[] dot(x, x), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}
        }
    """
    assert _features(text, "z")["contracting_dims"] == 0.5
    assert _features(text, "x")["contracting_dims"] == 0


def test_traits_are_columns():
    graph = hlograph.parse(samples.SHAPES)
    features = node_features(graph)
    for i in range(graph.num_nodes):
        on = features[i, -len(TRAITS) :]
        assert tuple(np.array(list(TRAITS))[on == 1]) == graph.trait_names(i)
        assert set(on.tolist()) <= {0.0, 1.0}


def test_more_dimensions_than_features():
    dims = ",".join(map(str, range(2, 10)))
    found = _features(f"HloModule m\n\nENTRY e {{\n  ROOT p = f32[{dims}] parameter(0)\n}}", "p")
    kept = [found[f"log_dim_-{i}"] for i in range(1, 7)]
    assert kept == pytest.approx([math.log2(1 + size) / 16 for size in (9, 8, 7, 6, 5, 4)])
    assert found["rank"] == 2


@pytest.mark.parametrize("name", samples.ALL)
def test_shapes_and_ranges(name):
    graph = hlograph.parse(samples.ALL[name])
    nodes, edges = node_features(graph), edge_features(graph)
    assert nodes.shape == (graph.num_nodes, len(NODE_FEATURES))
    assert edges.shape == (graph.num_edges, len(EDGE_FEATURES))
    assert nodes.dtype == edges.dtype == np.float32
    assert np.isfinite(nodes).all()
    assert np.abs(nodes[:, 3:]).max() <= 3
    assert edges[:, 0].tolist() == graph.edge_type.tolist()
    assert edges[:, 1].tolist() == graph.edge_position.tolist()


_SIZES = st.lists(st.integers(0, 2**62), max_size=9)


@settings(deadline=None)
@given(_SIZES, st.sampled_from(["f32", "s4", "c128", "pred", "f8e5m2"]))
def test_any_size_is_finite_and_in_range(dims, element_type):
    shape = f"{element_type}[{','.join(map(str, dims))}]"
    graph = hlograph.parse(f"HloModule m\n\nENTRY e {{\n  ROOT p = {shape} parameter(0)\n}}")
    features = node_features(graph)
    assert graph.dims(0) == tuple(dims)
    assert np.isfinite(features).all()
    assert features[:, 3:].min() >= 0
    assert features[:, 3:].max() <= 4
    assert graph.elements[0] == min(math.prod(dims), 2**48)


@settings(deadline=None)
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_literal_is_finite(value):
    graph = hlograph.parse(f"HloModule m\n\nENTRY e {{\n  ROOT c = f64[] constant({value!r})\n}}")
    assert np.isfinite(node_features(graph)).all()
    (literal,) = graph.attributes(0)["literal"]
    assert literal == value or math.isnan(value)


def _assert_same_at_once(module: Module) -> None:
    """Checks that the extension and numpy compute the same features."""
    graph, features = module.graph(), module.features()
    assert features.nodes.dtype == features.edges.dtype == np.float32
    assert features.nodes.shape == (graph.num_nodes, len(NODE_FEATURES))
    np.testing.assert_allclose(features.nodes, node_features(graph), rtol=1e-6, atol=0)
    assert np.array_equal(features.edges, edge_features(graph))
    assert features.links.dtype == np.int64
    assert np.array_equal(features.links, graph.edge_index.T)
    assert features.links.T.flags.c_contiguous


@pytest.mark.parametrize("name", samples.ALL)
def test_the_extension_writes_the_same(name):
    _assert_same_at_once(Module.from_text(samples.ALL[name]))


@pytest.mark.parametrize(
    "root",
    [
        f"p = f32[{','.join(map(str, range(2, 10)))}] parameter(0)",
        "p = f32[1023,1024,1025,1048576] parameter(0)",
        "p = s4[2,4611686018427387904,3] parameter(0)",
        "p = (f32[2], (s32[], token[])) parameter(0)",
        "p = f32[<=5,?] parameter(0)",
        "c = f32[] constant(nan)",
        "c = f32[2] constant({-nan, -nan})",
        "c = f64[] constant(-inf)",
        "c = f64[] constant(-0.0)",
        "c = u64[] constant(18446744073709551615)",
        "c = s64[] constant(-9223372036854775808)",
        "c = f32[3] constant({1, 2, 3})",
    ],
)
def test_the_extension_writes_the_same_of_extremes(root):
    _assert_same_at_once(Module.from_text(f"HloModule m\n\nENTRY e {{\n  ROOT {root}\n}}"))


def test_the_extension_writes_the_same_of_models_and_what_passes_make_of_them(small_benchmarks):
    rng = random.Random(0)
    for benchmark in small_benchmarks:
        module = benchmark.load().clone()
        _assert_same_at_once(module)
        for _ in range(10):
            module.run(rng.choice(hlograph.passes))
        _assert_same_at_once(module)


def test_features_of_a_model_are_those_of_its_saved_graph(corpus_module, tmp_path):
    graph = corpus_module.graph()
    graph.save(tmp_path / "g")
    assert np.array_equal(node_features(HloGraph.load(tmp_path / "g")), node_features(graph))
    assert len(NODE_FEATURES) == len(set(NODE_FEATURES))


@pytest.mark.parametrize("text", [samples.REDUCE, samples.WHILE, samples.CONTROL])
def test_what_is_known_of_a_module_changes_no_feature(text):
    """A fingerprint leaves hashes of instructions, by which their facts are looked up."""
    module = Module.from_text(text)
    for name in ("", "algsimp", "dce", "call-inliner"):
        if name:
            module.run(name)
        unknown, graph = module.features(), module.graph()
        module.fingerprint()
        for _ in range(2):
            assert module.graph() == graph
            for one, other in zip(module.features(), unknown, strict=True):
                assert np.array_equal(one, other)
