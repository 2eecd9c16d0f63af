"""Tests the tree search on games that can be worked out by hand."""

import numpy as np

from experiments.search.puct import Game, Tree

BITS = 6


class Bits(Game):
    """Words of up to six bits; a bit is appended by each move, and a third move changes nothing.

    Only the word of ones is worth anything, and no shorter word gives a hint of it.
    """

    root = ""

    def __init__(self):
        self.visited = set()

    def priors(self, node):
        return np.array([0.5, 0.3, 0.2]) if len(node) < BITS else np.zeros(0)

    def useless(self, node):
        return [2] if len(node) % 2 else []

    def step(self, node, move):
        yield from ()  # the states of a game are all known
        return node if move == 2 else node + str(move)

    def worth(self, node):
        return float(node == "1" * BITS)

    def promise(self, node):
        yield from ()
        self.visited.add(node)
        return self.worth(node)


def _visit(tree):
    assert not list(tree.visit())


def test_every_state_is_visited_in_the_end():
    game = Bits()
    tree = Tree(game, max_depth=10)
    for _ in range(2000):
        _visit(tree)
    assert len(game.visited) == 2 ** (BITS + 1) - 1


def test_worth_found_guides_the_search():
    game = Bits()
    game.worth = lambda node: float(node.count("1"))
    tree = Tree(game, max_depth=10)
    visits = 0
    while "1" * BITS not in game.visited:
        _visit(tree)
        visits += 1
    # Far fewer than there are states before it, breadth first.
    assert visits < 40


def test_no_path_is_longer_than_the_maximum_depth():
    game = Bits()
    tree = Tree(game, max_depth=3)
    for _ in range(200):
        _visit(tree)
    assert max(map(len, game.visited)) == 3
