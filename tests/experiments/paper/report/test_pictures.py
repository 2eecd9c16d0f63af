"""Colours mean the same in every picture, and texts do not cover each other."""

from dataclasses import replace
from itertools import pairwise

from experiments.evaluate.picture import GREY
from experiments.paper.report.pictures import colours, dashes, row_colours, seed_bars


def test_the_projects_own_agents_have_their_colours_whatever_is_beside_them():
    alone = colours(["GNN", "op counts"])
    assert colours(["op counts"])["op counts"] == alone["op counts"]
    both = colours(["DQN (op counts)", "PPO (op counts)", "PPO (GNN)"])
    assert both["PPO (GNN)"] == alone["GNN"]
    assert both["PPO (op counts)"] == alone["op counts"]
    variants = colours(["op counts (MLP)", "random", "GNN, shaped", "GNN"])
    assert variants["GNN"] == alone["GNN"]
    assert variants["op counts (MLP)"] == alone["op counts"]
    assert len(set(variants.values())) == 4


def test_of_rows_with_names_the_own_agents_stand_out():
    rows = row_colours(["random", "GNN", "greedy"])
    assert (rows["random"], rows["greedy"]) == (GREY, GREY)
    assert rows["GNN"] == colours(["GNN"])["GNN"]
    assert len(set(row_colours(["depth 1", "depth 2"]).values())) == 1


def test_where_colours_come_again_lines_differ():
    names = [f"method {number}" for number in range(20)]
    colour, dash = colours(names), dashes(names)
    assert list(colour) == list(dash) == names
    assert len({(colour[name], dash[name]) for name in names}) == 20


def test_texts_of_panels_do_not_cover_each_other():
    rows = {"op counts, best of 16, then hlograph-simplify": [0.83, 1.14]}
    references = ("xla-cpu", "xla-cpu-unexpanded", "xla-simplify", "the better of both", "none")
    picture = seed_bars("bars", "", {f"to {name}": rows for name in references})
    figures = []
    replace(picture, draw=lambda figure: (figures.append(figure), picture.draw(figure))).png()
    boxes = [axes.title.get_window_extent() for axes in figures[0].axes]
    assert len(boxes) == 5
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    for axes in figures[0].axes:
        low, high = axes.get_xlim()
        shown = [
            label for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high
        ]
        ticks = [label.get_window_extent() for label in shown]
        assert len(ticks) >= 1
        assert all(left.x1 + 2 < right.x0 for left, right in pairwise(ticks))
