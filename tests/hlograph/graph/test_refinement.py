"""Colours are equal if and only if neighbourhoods are."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlograph.graph.refinement import Refinement, distinct

LABELS = 3


def _added(refinement, rows, links, labels):
    return refinement.add(
        np.array(rows, np.float32).reshape(len(rows), -1),
        np.array(links, np.int64).reshape(-1, 2),
        np.array(labels, np.int32),
    )


def _trees(rows, links, labels, rounds):
    """Returns each node's neighbourhood as a tree, by the definition."""
    trees = [(float(row),) for row in rows]
    for _ in range(rounds):
        seen = [[] for _ in rows]
        for (source, target), label in zip(links, labels, strict=True):
            seen[target].append((label, trees[source]))
            seen[source].append((label + LABELS, trees[target]))
        trees = [
            (tree, tuple(sorted(around, key=repr)))
            for tree, around in zip(trees, seen, strict=True)
        ]
    return trees


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 7))
    edges = draw(st.integers(0, 10))
    node, label = st.integers(0, nodes - 1), st.integers(0, LABELS - 1)
    return (
        draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)),
        draw(st.lists(st.tuples(node, node), min_size=edges, max_size=edges)),
        draw(st.lists(label, min_size=edges, max_size=edges)),
    )


def _same_partition(colours, trees):
    pairs = set(zip(colours, trees, strict=True))
    return len(pairs) == len(set(colours)) == len(set(trees))


@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_equal_colours_mean_equal_neighbourhoods(several, rounds):
    refinement = Refinement(rounds, 1, LABELS)
    colours, trees = [], []
    for graph in several:
        colours += _added(refinement, *graph).tolist()
        trees += [repr(tree) for tree in _trees(*graph, rounds)]
    assert _same_partition(colours, trees)
    assert max(colours) == refinement.size(rounds) - 1


@given(st.lists(graphs(), min_size=1, max_size=3), st.lists(graphs(), max_size=3))
@settings(max_examples=100, deadline=None)
def test_merged_refinements_are_as_if_all_had_been_added_to_one(first, second):
    here, there, one = (Refinement(2, 1, LABELS) for _ in range(3))
    colours = [c for graph in first for c in _added(here, *graph).tolist()]
    elsewhere = [c for graph in second for c in _added(there, *graph).tolist()]
    known = here.merge(pickle.loads(pickle.dumps(there)))
    colours += known[np.array(elsewhere, np.int64)].tolist()
    expected = [c for graph in first + second for c in _added(one, *graph).tolist()]
    assert _same_partition(colours, expected)
    assert [here.size(r) for r in range(3)] == [one.size(r) for r in range(3)]


def test_rounds_say_what_colours_are_made_of():
    refinement = Refinement(1, 2, LABELS)
    colours = _added(refinement, [[1, 2], [3, 4], [1, 2]], [(0, 1), (2, 1)], [0, 2])
    assert colours.tolist() == [0, 1, 2]  # the two equal rows differ in their edge's label
    np.testing.assert_array_equal(refinement.rows(), [[1, 2], [3, 4]])
    assert refinement.rows(first=1).tolist() == [[3, 4]]
    part = refinement.round(1)
    assert part.own.tolist() == [0, 1, 0]
    assert part.offsets.tolist() == [0, 1, 3, 4]
    assert part.source.tolist() == [1, 0, 0, 1]
    assert part.label.tolist() == [0 + LABELS, 0, 2, 2 + LABELS]
    later = refinement.round(1, first=1)
    assert later.own.tolist() == [1, 0]
    assert later.offsets.tolist() == [0, 2, 3]


@given(st.lists(graphs(), min_size=1, max_size=3), st.data())
@settings(max_examples=100, deadline=None)
def test_selected_colours_are_those_of_the_whole_round(several, data):
    refinement = Refinement(2, 1, LABELS)
    for graph in several:
        _added(refinement, *graph)
    colour = st.integers(0, refinement.size(2) - 1)
    chosen = np.array(data.draw(st.lists(colour, min_size=1, max_size=5)), np.int32)
    labels = data.draw(st.integers(0, 2 * LABELS))
    whole = refinement.round(2, labels=labels)
    part, before = refinement.select(2, chosen, labels=labels)
    np.testing.assert_array_equal(before[part.own], whole.own[chosen])
    for number, c in enumerate(chosen):
        here = slice(*part.offsets[number : number + 2])
        there = slice(*whole.offsets[c : c + 2])
        np.testing.assert_array_equal(before[part.source[here]], whole.source[there])
        np.testing.assert_array_equal(part.label[here], whole.label[there])
        assert (part.label[here] < labels).all()
    assert set(before) == {*before[part.own], *before[part.source]}
    assert (np.diff(before) > 0).all()


@given(st.lists(st.integers(0, 9)))
def test_distinct_is_unique(numbers):
    given = np.array(numbers, np.int32)
    found, place = distinct(given, 10)
    expected, inverse = np.unique(given, return_inverse=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(place, inverse)


def test_colours_are_counted_graph_by_graph():
    refinement = Refinement(1, 1, LABELS)
    _added(refinement, [5], [], [])
    for _ in range(2):
        colours = _added(refinement, [7, 5, 7, 7], [], [])
        found, counts = refinement.counted(colours)
        assert found.tolist() == [0, 1]
        assert counts.tolist() == [1, 3]
        assert counts.dtype == np.float32


def test_links_may_lie_in_any_order():
    refinement = Refinement(1, 1, LABELS)
    links = np.array([[0, 1], [1, 2], [0, 2]])
    arrays = np.array([[1], [2], [3]], np.float32), np.array([0, 1, 2], np.int32)
    by_column = refinement.add(arrays[0], np.asfortranarray(links), arrays[1])
    assert by_column.tolist() == refinement.add(arrays[0], links, arrays[1]).tolist() == [0, 1, 2]


def test_colours_that_there_are_not_are_refused():
    refinement = Refinement(1, 3, LABELS)
    _added(refinement, [[1, 2, 3], [4, 5, 6]], [(0, 1)], [0])
    rows = refinement.select_rows(np.array([1, 0, 1], np.int32))
    assert rows.tolist() == [[4, 5, 6], [1, 2, 3], [4, 5, 6]]
    for wrong in (np.array([-1], np.int32), np.array([2], np.int32)):
        with pytest.raises(IndexError, match="there is no such colour"):
            refinement.select_rows(wrong)
        with pytest.raises(IndexError, match="there is no such colour"):
            refinement.select(1, wrong)
        with pytest.raises(IndexError, match="there is no such colour"):
            refinement.counted(wrong)
        with pytest.raises(IndexError, match="there is no such colour"):
            distinct(wrong, 2)
    with pytest.raises(ValueError, match="there is no such round"):
        refinement.select(2, np.array([0], np.int32))
    with pytest.raises(ValueError, match="there is no such colour"):
        refinement.round(1, first=3)


def test_additions_never_change_a_number():
    refinement = Refinement(2, 1, LABELS)
    graph = ([0, 1, 2], [(0, 1), (1, 2)], [0, 1])
    before = _added(refinement, *graph).tolist()
    _added(refinement, [2, 2, 1, 0], [(0, 3), (1, 2)], [1, 1])
    sizes = [refinement.size(r) for r in range(3)]
    assert _added(refinement, *graph).tolist() == before
    assert [refinement.size(r) for r in range(3)] == sizes


@pytest.mark.parametrize(
    ("rows", "links", "labels", "error", "message"),
    [
        ([0, 1], [(0, 2)], [0], IndexError, "a node that there is not"),
        ([0, 1], [(-1, 0)], [0], IndexError, "a node that there is not"),
        ([0, 1], [(0, 1)], [LABELS], ValueError, "labels from 0 to 2, got 3"),
        ([0, 1], [(0, 1)], [0, 1], ValueError, "one label for each link"),
        ([[0, 1]], [], [], ValueError, "rows of 1 columns"),
    ],
)
def test_errors_say_what_came(rows, links, labels, error, message):
    with pytest.raises(error, match=message):
        _added(Refinement(1, 1, LABELS), rows, links, labels)
    with pytest.raises(ValueError, match=r"expected \(rounds, columns, labels\) \(1, 1, 3\)"):
        Refinement(1, 1, LABELS).merge(Refinement(2, 1, LABELS))
