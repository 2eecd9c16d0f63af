"""Optimizes a module by equality saturation."""

from __future__ import annotations

from dataclasses import dataclass, field

from envs.rewards import CostDrop, ModuleState
from experiments.search.rewriting.egraph.extraction import Extraction, extract, order
from experiments.search.rewriting.egraph.hlo_text import Instruction, Program, Shape, parse
from experiments.search.rewriting.egraph.saturation import EGraph, SaturationLimits, saturated
from experiments.search.rewriting.egraph.terms import Terms, written
from experiments.search.rewriting.space import Objective
from hlograph.module import Module

_COST = CostDrop()
_SMALL = 1e-12
"""Seconds added to each instruction's estimate, so that fewer instructions break ties."""
_TIE = 1e-3
"""Instructions that a second of the estimate weighs, so that the estimate breaks ties."""


@dataclass(frozen=True)
class EqualitySettings:
    """Limits of saturation and extraction."""

    saturation: SaturationLimits = field(default_factory=SaturationLimits)
    extraction_seconds: float = 20.0


@dataclass(frozen=True)
class Optimized:
    """Result of the optimization of a module.

    Attributes:
        module: The cheapest program found.
        rounds: Rounds of rules.
        saturated: True if the last round found nothing new.
        optimal: True if the e-graph is known to hold no cheaper program.
    """

    module: Module
    rounds: int
    saturated: bool
    optimal: bool


def optimize(
    module: Module, objective: Objective, settings: EqualitySettings | None = None
) -> Optimized:
    """Returns the cheapest program that the rules find equal to a module's entry computation.

    Other computations are kept as they are, unless nothing calls them any more.

    Args:
        module: The module; it is not changed.
        objective: Quantity to minimize, summed over the entry computation's instructions.
        settings: Limits.

    Raises:
        HloError: egglog is not installed, or the module's text cannot be parsed.
    """
    settings = settings or EqualitySettings()
    program = parse(module.to_text())
    terms = Terms.of(program)
    graph = saturated(terms, settings.saturation)
    prices = Prices(program, terms, graph, objective)
    found = extract(graph, prices.all(), settings.extraction_seconds)
    result = Module.from_text(text_of(program, terms, graph, found))
    result.run("dce")
    return Optimized(result, graph.rounds, graph.saturated, found.optimal)


class Prices:
    """Costs of the nodes of an e-graph, each estimated by XLA as an instruction by itself.

    Args:
        program: The program.
        terms: Its terms.
        graph: The e-graph.
        objective: Quantity to minimize.
    """

    def __init__(self, program: Program, terms: Terms, graph: EGraph, objective: Objective) -> None:
        self._program, self._terms, self._graph = program, terms, graph
        self._objective: Objective = objective
        self._known: dict[str, float] = {}
        self._shapes = _shapes_as_written(program, terms, graph)

    def all(self) -> dict[str, list[float]]:
        """Returns the costs of the nodes of each class."""
        return {
            name: [
                self._of(instruction_of(self._terms, self._graph, name, number))
                for number in range(len(nodes))
            ]
            for name, nodes in self._graph.nodes.items()
        }

    def _of(self, one: tuple[Instruction, tuple[str, ...]]) -> float:
        instruction, children = one
        if instruction.opcode == "parameter":
            return 0.0
        operands = [f"p{number}" for number in range(len(children))]
        lines = [f"p{n} = {self._shapes[child]} parameter({n})" for n, child in enumerate(children)]
        text = "\n".join([*lines, f"ROOT {instruction.rewritten('r', operands)}"])
        if text not in self._known:
            called = self._program.computations if instruction.calls else ""
            module = Module.from_text(
                f"HloModule one\n{called}\nENTRY one_instruction {{\n{text}\n}}\n"
            )
            cost = module.cost()
            self._known[text] = _COST.seconds(ModuleState(module.op_count, *cost))
        seconds = self._known[text]
        return 1.0 + _TIE * seconds if self._objective == "op-count" else seconds + _SMALL


def _shapes_as_written(program: Program, terms: Terms, graph: EGraph) -> dict[str, str]:
    """Returns the shape of each class; of opaque operations as the program has it."""
    found: dict[str, str] = {}
    for name, nodes in graph.nodes.items():
        shape = graph.shapes.get(name)
        if shape is not None:
            found[name] = str(shape)
            continue
        (number,) = next(node.values for node in nodes if node.op == "Op")
        assert isinstance(number, int)
        found[name] = terms.opaque[number].shape
    return found


def instruction_of(
    terms: Terms, graph: EGraph, name: str, number: int
) -> tuple[Instruction, tuple[str, ...]]:
    """Returns a node as an instruction, and the classes of its operands."""
    node = graph.nodes[name][number]
    shapes: list[Shape | None] = [graph.shapes.get(child) for child in node.children]
    return written(terms, node.op, node.values, graph.shapes.get(name), shapes), node.children


def text_of(program: Program, terms: Terms, graph: EGraph, found: Extraction) -> str:
    """Returns the module's text with an extracted program as its entry computation."""
    lines = [
        one.rewritten(f"p.{one.payload}", ())
        for one in program.instructions
        if one.opcode == "parameter"
    ]
    names: dict[str, str] = {}
    for name in order(graph, found.chosen):
        instruction, children = instruction_of(terms, graph, name, found.chosen[name])
        if instruction.opcode == "parameter":
            names[name] = f"p.{instruction.payload}"
            continue
        names[name] = f"v.{len(names)}"
        lines.append(instruction.rewritten(names[name], [names[child] for child in children]))
    return program.with_entry(lines, names[graph.root])
