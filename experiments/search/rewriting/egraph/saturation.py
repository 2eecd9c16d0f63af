"""Saturates the e-graph of a program with egglog, within limits."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from experiments.search.rewriting.egraph.rules import PROGRAM
from experiments.search.rewriting.egraph.terms import Terms
from hlograph.errors import HloError
from hlograph.reading.hlo_text import ArrayShape

_TERMS = ("Op", "Prod", "Bin", "Un", "Concat", "Slice", "Bcast", "Transp", "Reshape")
_ATTRIBUTES = ("Plain", "Coded")
_VECTORS = ("vec-of", "vec-empty")


@dataclass(frozen=True)
class SaturationLimits:
    """Limits of saturation."""

    rounds: int = 10
    """Rounds in which all rules are applied wherever they match, at most."""
    merging_rounds: int = 1
    """Number of first rounds with rules of two patterns (`k_multi` of Tensat)."""
    nodes: int = 6_000
    """Largest number of nodes; a round that exceeds it is undone, and is the last."""
    seconds: float = 20.0
    """Time after which no further round begins."""


@dataclass(frozen=True)
class ENode:
    """Node of an e-graph: an operation that computes a class."""

    op: str
    values: tuple[object, ...]
    """Arguments other than terms: numbers, strings, tuples of numbers."""
    children: tuple[str, ...]
    """Classes of the operands."""


@dataclass
class EGraph:
    """E-graph of a program.

    Attributes:
        root: Class of the program's result.
        nodes: Nodes by class.
        shapes: Shapes of arrays by class.
        rounds: Rounds that were run.
        saturated: True if the last round found nothing new.
    """

    root: str
    nodes: dict[str, list[ENode]] = field(default_factory=dict)
    shapes: dict[str, ArrayShape] = field(default_factory=dict)
    rounds: int = 0
    saturated: bool = False

    def __len__(self) -> int:
        return sum(map(len, self.nodes.values()))


def saturated(terms: Terms, limits: SaturationLimits) -> EGraph:
    """Applies the rules to a program's terms.

    Args:
        terms: The program.
        limits: Limits of the rounds.

    Returns:
        The e-graph.

    Raises:
        HloError: egglog is not installed, or a wrong rule merged terms of different shapes.
    """
    bindings = _bindings()
    graph = bindings.EGraph()

    def run(text: str) -> list[Any]:
        try:
            return graph.run_program(*graph.parse_program(text))
        except bindings.EggSmolError as error:
            raise HloError(f"egglog: {error}") from error

    def size() -> int:
        (printed,) = run("(print-size)")
        return sum(rows for name, rows in printed.sizes if name in _TERMS)

    run(PROGRAM)
    run("\n".join([*terms.commands, *_originals(terms), "(run-schedule (saturate (run shapes)))"]))
    begun, rounds, changed = time.perf_counter(), 0, True
    while changed and rounds < limits.rounds and time.perf_counter() - begun < limits.seconds:
        merging = "(run merging) " if rounds < limits.merging_rounds else ""
        run("(push 1)")
        (done,) = run(f"(run-schedule (seq (run rewriting) {merging}(saturate (run shapes))))")
        if size() > limits.nodes:
            run("(pop 1)")
            break
        rounds, changed = rounds + 1, done.report.updated
    root = bindings.Var(bindings.PanicSpan(), terms.root)
    saturated_graph = _read(json.loads(graph.serialize([root]).to_json()))
    saturated_graph.rounds, saturated_graph.saturated = rounds, not changed
    return saturated_graph


def _bindings() -> Any:
    try:
        return import_module("egglog.bindings")
    except ModuleNotFoundError as error:
        if error.name != "egglog":
            raise
        raise HloError(
            "equality saturation needs egglog, which is not installed: "
            "pip install 'hlograph[paper]'"
        ) from error


def _originals(terms: Terms) -> Iterable[str]:
    """Yields facts that number the products of the program, which may be merged with later ones."""
    return (f"(original {name} {number})" for number, name in enumerate(terms.originals))


def _read(content: dict[str, Any]) -> EGraph:
    """Reads an e-graph as egglog serializes it."""
    nodes = content["nodes"]
    (root,) = content["root_eclasses"]
    graph, reader = EGraph(root), _Reader(nodes)
    values: dict[str, dict[str, Any]] = {"dims": {}, "type": {}}
    for node in nodes.values():
        if node["op"] in _TERMS:
            graph.nodes.setdefault(node["eclass"], []).append(reader.enode(node))
        elif node["op"] in values:
            term = nodes[node["children"][0]]["eclass"]
            values[node["op"]][term] = reader.value(node["eclass"])
    for term, dims in values["dims"].items():
        if term in values["type"]:
            graph.shapes[term] = ArrayShape.row_major(values["type"][term], dims)
    return graph


class _Reader:
    """Reads the arguments of nodes."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self._values = {
            node["eclass"]: node
            for key, node in nodes.items()
            if key.startswith("primitive-") or node["op"] in _ATTRIBUTES
        }

    def enode(self, node: dict[str, Any]) -> ENode:
        """Reads a node of a term's class."""
        values: list[object] = []
        children: list[str] = []
        for child in (self._nodes[key] for key in node["children"]):
            if child["op"] in _TERMS:
                children.append(child["eclass"])
            elif node["op"] == "Op" and child["op"] in _VECTORS:
                children += [self._nodes[key]["eclass"] for key in child["children"]]
            else:
                values.append(self.value(child["eclass"]))
        return ENode(node["op"], tuple(values), tuple(children))

    def value(self, eclass: str) -> Any:
        """Reads a number, a string, a tuple of numbers, or the attributes of a product."""
        node = self._values[eclass]
        inside = [self.value(self._nodes[key]["eclass"]) for key in node["children"]]
        if node["op"] in _VECTORS:
            return tuple(inside)
        return (node["op"], *inside) if inside else json.loads(node["op"])
