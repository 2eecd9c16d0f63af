"""Optimises a module by equality saturation."""

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
"""Seconds of an instruction beside its estimate: of equal programs the one of fewer is chosen."""
_TIE = 1e-3
"""Instructions that a second of the estimate weighs: of as many the cheapest are chosen."""


@dataclass(frozen=True)
class EqualitySettings:
    """Limits of both parts."""

    saturation: SaturationLimits = field(default_factory=SaturationLimits)
    extraction_seconds: float = 20.0


@dataclass(frozen=True)
class Optimized:
    """What came of a module.

    Attributes:
        module: The cheapest program that was found.
        nodes: Nodes of the e-graph.
        rounds: Rounds of rules.
        saturated: Whether nothing was left to be found equal.
        optimal: Whether no cheaper program is in the e-graph.
    """

    module: Module
    nodes: int
    rounds: int
    saturated: bool
    optimal: bool


def optimize(
    module: Module, objective: Objective, settings: EqualitySettings | None = None
) -> Optimized:
    """The cheapest program that the rules find equal to a module's entry computation.

    Other computations stay as they are; those that nothing calls any more are left out.

    Args:
        module: The module; unchanged.
        objective: What is to become small, summed over the entry computation's instructions.
        settings: Limits.

    Raises:
        HloError: egglog is not installed, or the module's text cannot be taken apart.
    """
    settings = settings or EqualitySettings()
    program = parse(module.to_text())
    terms = Terms.of(program)
    graph = saturated(terms, settings.saturation)
    prices = Prices(program, terms, graph, objective)
    found = extract(graph, prices.all(), settings.extraction_seconds)
    result = Module.from_text(text_of(program, terms, graph, found))
    result.run("dce")
    return Optimized(result, len(graph), graph.rounds, graph.saturated, found.optimal)


class Prices:
    """What nodes of an e-graph cost, each as XLA estimates an instruction by itself.

    Args:
        program: The program.
        terms: Its terms.
        graph: What was found equal.
        objective: What is to become small.
    """

    def __init__(self, program: Program, terms: Terms, graph: EGraph, objective: Objective) -> None:
        self._program, self._terms, self._graph = program, terms, graph
        self._objective: Objective = objective
        self._known: dict[str, float] = {}
        self._shapes = _shapes_as_written(program, terms, graph)

    def all(self) -> dict[str, list[float]]:
        """By class, the price of each way to compute it."""
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
    """By class, its shape; of what is no array in row-major layout, as the program has it."""
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
    """A node as an instruction, and the classes of its operands."""
    node = graph.nodes[name][number]
    shapes: list[Shape | None] = [graph.shapes.get(child) for child in node.children]
    return written(terms, node.op, node.values, graph.shapes.get(name), shapes), node.children


def text_of(program: Program, terms: Terms, graph: EGraph, found: Extraction) -> str:
    """The module's text with the program of an extraction as its entry computation."""
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
