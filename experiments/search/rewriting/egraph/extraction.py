"""Extracts the cheapest program from an e-graph.

The cost is the sum over instructions, each counted once however many use it: the cost of the graph,
not of the tree. A greedy choice from operands to results would never choose a merged product, which
pays off only for two results together. As in Tensat an integer linear program decides (scipy's
HiGHS). It chooses among nodes whose operands, as cheapest trees, each cost less than the node's own
class, which excludes cycles. Only slices and opaque operations may have an operand that costs more:
a merged product does, and a form that uses one value several times, which a tree counts as often. A
solution with a cycle through these adds a constraint against this cycle, and the program is solved
again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.search.rewriting.egraph.saturation import EGraph

_SHARING = ("Slice", "Op")
Chosen = dict[str, int]
"""Number of the chosen node, by class."""
Costs = Mapping[str, Sequence[float]]
"""Cost of each node without its operands, by class."""


@dataclass(frozen=True)
class Extraction:
    """Program extracted from an e-graph.

    Attributes:
        chosen: Its nodes.
        cost: Sum of the costs of its classes.
        optimal: True if the integer program has no cheaper solution; False if time ran out before
            that was certain.
    """

    chosen: Chosen
    cost: float
    optimal: bool


def extract(graph: EGraph, costs: Costs, seconds: float) -> Extraction:
    """Returns the cheapest program found within a time limit.

    Args:
        graph: The e-graph.
        costs: Costs of its nodes.
        seconds: Time for the integer program; 0 returns the cheapest tree.
    """
    tree, totals = cheapest_tree(graph, costs)
    best = Extraction(tree, program_cost(graph, costs, tree), False)
    begun = time.perf_counter()
    cycles: list[list[tuple[str, int]]] = []
    columns = _columns(graph, totals)
    while (remaining := seconds - (time.perf_counter() - begun)) > 0.1:
        solved = _solve(graph, costs, columns, cycles, remaining)
        if solved is None:
            break
        chosen, optimal = solved
        cycle = _cycle(graph, chosen)
        if cycle:
            cycles.append(cycle)
            continue
        cost = program_cost(graph, costs, chosen)
        if cost < best.cost:
            best = Extraction(chosen, cost, optimal)
        return Extraction(best.chosen, best.cost, optimal)
    return best


def cheapest_tree(graph: EGraph, costs: Costs) -> tuple[Chosen, dict[str, float]]:
    """Returns the node of each class that is cheapest as a tree, and the cost of that tree.

    There are no cycles: a node is chosen after all of its operands.
    """
    least: dict[str, float] = {}
    chosen: Chosen = {}
    changed = True
    while changed:
        changed = False
        for name, nodes in graph.nodes.items():
            for number, node in enumerate(nodes):
                total = costs[name][number]
                total += sum(least.get(child, math.inf) for child in node.children)
                if total < least.get(name, math.inf) * (1 - 1e-12) or (
                    name not in least and total < math.inf
                ):
                    least[name], chosen[name] = total, number
                    changed = True
    return chosen, least


def program_cost(graph: EGraph, costs: Costs, chosen: Chosen) -> float:
    """Returns the cost of a program, which counts each class once."""
    return math.fsum(costs[name][chosen[name]] for name in order(graph, chosen))


def order(graph: EGraph, chosen: Chosen) -> list[str]:
    """Returns the classes of a program without cycles, each after its operands."""
    done: dict[str, None] = {}
    waiting = [(graph.root, False)]
    while waiting:
        name, ready = waiting.pop()
        if ready:
            done[name] = None
        elif name not in done:
            waiting.append((name, True))
            children = graph.nodes[name][chosen[name]].children
            waiting += [(child, False) for child in reversed(children) if child not in done]
    return list(done)


def _columns(graph: EGraph, totals: Mapping[str, float]) -> dict[tuple[str, int], int]:
    """Numbers the variables: nodes that may be chosen, of classes that the root may use."""
    columns: dict[tuple[str, int], int] = {}
    seen, waiting = {graph.root}, [graph.root]
    while waiting:
        name = waiting.pop()
        for number, node in enumerate(graph.nodes[name]):
            needed = [totals.get(child, math.inf) for child in node.children]
            most = math.inf if node.op in _SHARING else totals[name]
            if name in node.children or max(needed, default=-1.0) >= most:
                continue
            columns[name, number] = len(columns)
            for child in node.children:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return columns


def _solve(
    graph: EGraph,
    costs: Costs,
    columns: Mapping[tuple[str, int], int],
    cycles: Sequence[Sequence[tuple[str, int]]],
    seconds: float,
) -> tuple[Chosen, bool] | None:
    """Returns the cheapest choice without some cycles, and True if it is optimal; None without one.

    A node of the root's class is chosen, and one of the class of each operand of a chosen node.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    of_class: dict[str, list[int]] = {}
    for (name, _), column in columns.items():
        of_class.setdefault(name, []).append(column)
    rows: list[tuple[list[int], list[int], float]] = [
        (of_class[graph.root], [1] * len(of_class[graph.root]), 1.0)
    ]
    for (name, number), column in columns.items():
        for child in dict.fromkeys(graph.nodes[name][number].children):
            nodes = of_class[child]
            rows.append(([column, *nodes], [-1, *([1] * len(nodes))], 0.0))
    for cycle in cycles:
        rows.append(([columns[key] for key in cycle], [-1] * len(cycle), 1.0 - len(cycle)))
    data = [value for _, values, _ in rows for value in values]
    places = [place for where, _, _ in rows for place in where]
    ends = np.cumsum([0, *(len(where) for where, _, _ in rows)])
    matrix = csr_matrix((data, places, ends), shape=(len(rows), len(columns)))
    # The annotations of scipy leave out arrays.
    least: Any = np.array([bound for _, _, bound in rows])
    weights = np.array([costs[name][number] for name, number in columns])
    scale = weights.max(initial=0.0) or 1.0
    solution = milp(
        weights / scale,
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, least),
        options={"time_limit": seconds},
    )
    if solution.x is None:
        return None
    chosen: Chosen = {}
    for (name, number), column in columns.items():
        if solution.x[column] > 0.5:
            held = chosen.get(name)
            if held is None or costs[name][number] < costs[name][held]:
                chosen[name] = number
    return chosen, solution.status == 0


def _cycle(graph: EGraph, chosen: Chosen) -> list[tuple[str, int]]:
    """Returns the nodes of a cycle that the root uses; empty if there is none."""
    state: dict[str, bool] = {}
    path: list[str] = []
    waiting = [(graph.root, False)]
    while waiting:
        name, done = waiting.pop()
        if done:
            state[name] = True
            path.pop()
            continue
        if name in state:
            if not state[name]:
                return [(n, chosen[n]) for n in path[path.index(name) :]]
            continue
        state[name] = False
        path.append(name)
        waiting.append((name, True))
        waiting += [(child, False) for child in graph.nodes[name][chosen[name]].children]
    return []
