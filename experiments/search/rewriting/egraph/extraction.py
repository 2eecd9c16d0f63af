"""Chooses the cheapest program of all that an e-graph holds.

Cost is the sum over instructions, each counted once however many use it (the cost of the graph, not
of the tree): what two results share pays for neither alone, so that a merged product is never
chosen by going from operands to results. As in Tensat an integer linear program decides (scipy's
HiGHS). It chooses among nodes of which every operand, as the cheapest tree, costs less than what
the node computes, which leaves no cycles; only slices may be of something that costs more, for a
merged product does. Cycles through those are ruled out where they come up: a solution with one adds
a constraint against it, and the program is solved again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.search.rewriting.egraph.saturation import EGraph, ENode

Chosen = dict[str, int]
"""By class, the number of the way that was chosen."""
Costs = Mapping[str, Sequence[float]]
"""By class, what each way to compute it costs, the cost of operands apart."""


@dataclass(frozen=True)
class Extraction:
    """A program of an e-graph.

    Attributes:
        chosen: Its nodes.
        cost: Of each class that it computes, once.
        optimal: Whether none that the integer program can choose costs less; otherwise time ran
            out before that was certain.
    """

    chosen: Chosen
    cost: float
    optimal: bool


def extract(graph: EGraph, costs: Costs, seconds: float) -> Extraction:
    """The cheapest program that was found within some time.

    Args:
        graph: What is equal.
        costs: Of its nodes.
        seconds: For the integer program; 0 is the cheapest tree.
    """
    tree, totals = cheapest_tree(graph, costs)
    best = Extraction(tree, program_cost(graph, costs, tree), False)
    begun = time.perf_counter()
    cycles: list[list[tuple[str, int]]] = []
    columns = _columns(graph, totals)
    while (left := seconds - (time.perf_counter() - begun)) > 0.1:
        solved = _solve(graph, costs, columns, cycles, left)
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
    """The way of each class that costs least with all that it needs, shared or not, and that cost.

    No cycles: a way is chosen when all that it needs has been.
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
    """Cost of a program, each class that it computes counted once."""
    return math.fsum(costs[name][chosen[name]] for name in order(graph, chosen))


def order(graph: EGraph, chosen: Chosen) -> list[str]:
    """Classes of a program without cycles, each after what it needs."""
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
    """A variable for each node that may be chosen, of classes that the root can come to need."""
    found: dict[tuple[str, int], int] = {}
    seen, waiting = {graph.root}, [graph.root]
    while waiting:
        name = waiting.pop()
        for number, node in enumerate(graph.nodes[name]):
            needed = [totals.get(child, math.inf) for child in node.children]
            most = math.inf if node.op == "Slice" else totals[name]
            if name in node.children or max(needed, default=-1.0) >= most:
                continue
            found[name, number] = len(found)
            for child in node.children:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
    return found


def _solve(
    graph: EGraph,
    costs: Costs,
    columns: Mapping[tuple[str, int], int],
    cycles: Sequence[Sequence[tuple[str, int]]],
    seconds: float,
) -> tuple[Chosen, bool] | None:
    """The cheapest choice but for some cycles, and whether it is certain; None if none was found.

    The root's class has a node that is chosen, and so has each operand's of a chosen one.
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
            found = of_class[child]
            rows.append(([column, *found], [-1, *([1] * len(found))], 0.0))
    for cycle in cycles:
        rows.append(([columns[key] for key in cycle], [-1] * len(cycle), 1.0 - len(cycle)))
    data = [value for _, values, _ in rows for value in values]
    places = [place for where, _, _ in rows for place in where]
    ends = np.cumsum([0, *(len(where) for where, _, _ in rows)])
    matrix = csr_matrix((data, places, ends), shape=(len(rows), len(columns)))
    # scipy takes an array, whatever its annotations say.
    least: Any = np.array([bound for _, _, bound in rows])
    weights = np.array([costs[name][number] for name, number in columns])
    scale = weights.max(initial=0.0) or 1.0
    found = milp(
        weights / scale,
        integrality=np.ones(len(columns)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, least),
        options={"time_limit": seconds},
    )
    if found.x is None:
        return None
    chosen: Chosen = {}
    for (name, number), column in columns.items():
        if found.x[column] > 0.5:
            held = chosen.get(name)
            if held is None or costs[name][number] < costs[name][held]:
                chosen[name] = number
    return chosen, found.status == 0


def _cycle(graph: EGraph, chosen: Chosen) -> list[tuple[str, int]]:
    """Nodes of a cycle among those that the root needs; none if there is none."""
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


def node_of(graph: EGraph, chosen: Chosen, name: str) -> ENode:
    """The node that was chosen for a class."""
    return graph.nodes[name][chosen[name]]
