"""The attributes that a graph keeps, for one instruction of each kind."""

import math

import pytest

import hlograph
from hlograph._native import native
from hlograph.graph.attributes import PaddingDimension, WindowDimension
from hlograph.graph.traits import TRAITS
from hlograph.graph.vocabulary import ATTRIBUTES
from tests.hlograph import samples
from tests.hlograph.graph.graph_facts import attributes


def test_vocabularies_are_those_of_the_extension():
    assert tuple(native().attribute_names()) == ATTRIBUTES
    assert native().trait_names() == list(TRAITS)


def test_convolution_in_three_dimensions():
    graph = hlograph.parse(samples.CONVOLUTION)
    assert attributes(graph, "out") == {
        "window": (
            WindowDimension(3, 2, 1, 1, 1, 1, 0),
            WindowDimension(3, 1, 1, 1, 1, 1, 0),
            WindowDimension(1, 1, 0, 0, 1, 1, 1),
        ),
        "conv_input": (0, 4, 1, 2, 3),
        "conv_kernel": (3, 4, 0, 1, 2),
        "conv_output": (0, 4, 1, 2, 3),
        "feature_group_count": 2,
        "batch_group_count": 1,
    }


def test_slices_gather_scatter_and_pad():
    graph = hlograph.parse(samples.INDEXING)
    assert attributes(graph, "cut") == {
        "slice_starts": (1, 0),
        "slice_limits": (9, 5),
        "slice_strides": (2, 1),
    }
    assert attributes(graph, "window") == {"dynamic_slice_sizes": (2, 20)}
    assert attributes(graph, "rows") == {
        "offset_dims": (1,),
        "collapsed_slice_dims": (0,),
        "start_index_map": (0,),
        "operand_batching_dims": (),
        "indices_batching_dims": (),
        "index_vector_dim": 1,
        "slice_sizes": (1, 20),
        "indices_are_sorted": True,
    }
    assert attributes(graph, "put") == {
        "update_window_dims": (1,),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "operand_batching_dims": (),
        "indices_batching_dims": (),
        "index_vector_dim": 1,
        "indices_are_sorted": False,
        "unique_indices": True,
    }
    assert attributes(graph, "wide") == {
        "padding": (PaddingDimension(1, -2, 0), PaddingDimension(0, 0, 0))
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scalar", {"literal": (-2.5,)}),
        ("infinite", {"literal": (-math.inf,)}),
        ("flag", {"literal": (True,)}),
        ("flags", {"literal": (True, False, True)}),
        ("small", {"literal": (1, 2, 3, -4)}),
        ("sixteen", {"literal": tuple(range(16))}),
        ("many", {}),
        ("same", {"literal": (7,), "literal_is_splat": True}),
        ("big", {"literal": (2**64 - 1,)}),
        ("tiny", {"literal": (0.5,)}),
        ("nibble", {"literal": (-8, 7)}),
        ("complex", {}),
        ("none", {}),
    ],
)
def test_literals(name, expected):
    found = attributes(hlograph.parse(samples.LITERALS), name)
    assert found == expected
    assert [type(v) for v in found.get("literal", ())] == [
        type(v) for v in expected.get("literal", ())
    ]


def test_dimension_lists_and_numbers():
    reduce = hlograph.parse(samples.REDUCE)
    assert attributes(reduce, "inner") == {"dimensions": (2,)}
    assert attributes(reduce, "outer") == {"dimensions": (0, 1)}
    assert attributes(reduce, "r") == {"parameter_number": 1}
    loop = hlograph.parse(samples.WHILE)
    assert attributes(loop, "result") == {"tuple_index": 1}
    assert attributes(loop, "less") == {"direction": "LT", "comparison_type": "SIGNED"}
    assert attributes(loop, "loop") == {}
    assert attributes(hlograph.parse(samples.DYNAMIC), "size") == {"dimensions": (0,)}


def test_dot():
    graph = hlograph.parse(
        """
        HloModule dots

        ENTRY main {
          x = f32[2,3,4] parameter(0)
          y = f32[4,2,5] parameter(1)
          ROOT z = f32[2,3,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1},
              lhs_contracting_dims={2}, rhs_contracting_dims={0}, operand_precision={high,highest}
        }
        """
    )
    assert attributes(graph, "z") == {
        "lhs_batch_dims": (0,),
        "rhs_batch_dims": (1,),
        "lhs_contracting_dims": (2,),
        "rhs_contracting_dims": (0,),
        "precision": (1, 2, 0),
    }


def test_fusion_kind():
    assert attributes(hlograph.parse(samples.FUSION), "fusion") == {"fusion_kind": "kLoop"}


def test_custom_call():
    graph = hlograph.parse(samples.CUSTOM_CALL)
    call = attributes(graph, "call")
    assert call["custom_call_target"] == 'my "target"'
    assert call["backend_config"] == "{opaque: 1}"
    assert "custom_call_has_side_effect=true" in call["other"]
    assert "operand_layout_constraints={f32[4,4]{0,1}}" in attributes(graph, "other")["other"]


def test_sharding_and_frontend_attributes():
    graph = hlograph.parse(samples.SHARDING)
    assert attributes(graph, "x")["sharding"] == "{devices=[4,1]0,1,2,3}"
    assert attributes(graph, "sum") == {
        "sharding": "{replicated}",
        "frontend_attributes": "colour=red",
    }
    # A text that occurs twice is stored once.
    assert graph.strings.count("{replicated}") == 1


def test_nodes_count_from_either_end():
    graph = hlograph.parse(samples.REDUCE)
    assert graph.name(-1) == "main"
    assert graph.attributes(-9) == {"parameter_number": 0}
    with pytest.raises(IndexError):
        graph.attributes(9)
