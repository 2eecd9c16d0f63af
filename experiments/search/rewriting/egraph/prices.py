"""Costs of the nodes of an e-graph, each as an instruction by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from envs.rewards import CostDrop, ModuleState
from experiments.search.rewriting.egraph.program import rewritten
from experiments.search.rewriting.egraph.saturation import EGraph
from experiments.search.rewriting.egraph.terms import Terms, written
from experiments.search.rewriting.space import Objective
from hlograph.module import Module
from hlograph.reading.hlo_text import ArrayShape, InstructionText

_COST = CostDrop()
_SMALL = 1e-12
"""Seconds added to each instruction's estimate, so that fewer instructions break ties."""
_TIE = 1e-3
"""Instructions that a second of the estimate weighs, so that the estimate breaks ties."""


class Prices:
    """Costs of the nodes of an e-graph, each estimated as an instruction by itself.

    Args:
        terms: The terms.
        graph: The e-graph.
        objective: Quantity to minimize.
    """

    def __init__(self, terms: Terms, graph: EGraph, objective: Objective) -> None:
        self._terms, self._graph = terms, graph
        self._objective: Objective = objective
        self._known: dict[tuple[str, ...], float] = {}
        self._shapes = _shapes_as_written(terms, graph)

    def all(self) -> dict[str, list[float]]:
        """Returns the costs of the nodes of each class."""
        return {
            name: [
                self._of(*instruction_of(self._terms, self._graph, name, number))
                for number in range(len(nodes))
            ]
            for name, nodes in self._graph.nodes.items()
        }

    def _of(self, instruction: InstructionText, children: Sequence[str]) -> float:
        if instruction.opcode == "parameter":
            return 0.0
        parameters = self._parameters(instruction, children)
        operands = [f"p{number}" for number in range(len(children))]
        key = (*parameters, rewritten(instruction, "r", operands))
        if key not in self._known:
            estimate = self._predicted if self._objective == "seconds" else self._estimated
            self._known[key] = estimate(instruction, operands, parameters)
        seconds = self._known[key]
        return 1.0 + _TIE * seconds if self._objective == "op-count" else seconds + _SMALL

    def _parameters(self, instruction: InstructionText, children: Sequence[str]) -> list[str]:
        """Returns lines that stand for the operands `p0`, `p1`, ….

        These are parameters, but for a loop's state at its begin. It is a tuple with its constants,
        which the trip count depends on.
        """
        if instruction.opcode == "while":
            state = self._opaque(children[0], "tuple")
            if state is not None:
                return self._state(*state)
        return [
            f"p{number} = {self._shapes[child]} parameter({number})"
            for number, child in enumerate(children)
        ]

    def _state(self, state: InstructionText, elements: Sequence[str]) -> list[str]:
        lines: list[str] = []
        numbers = count()
        for place, element in enumerate(elements):
            constant = self._opaque(element, "constant")
            if constant is None:
                lines.append(f"part{place} = {self._shapes[element]} parameter({next(numbers)})")
            else:
                lines.append(rewritten(constant[0], f"part{place}", ()))
        return [*lines, rewritten(state, "p0", [f"part{place}" for place in range(len(elements))])]

    def _opaque(self, name: str, opcode: str) -> tuple[InstructionText, tuple[str, ...]] | None:
        """Returns an opaque operation of a class, and its operands' classes; None without one."""
        for number, node in enumerate(self._graph.nodes[name]):
            if node.op == "Op":
                operation = instruction_of(self._terms, self._graph, name, number)
                if operation[0].opcode == opcode:
                    return operation
        return None

    def _estimated(
        self, instruction: InstructionText, operands: Sequence[str], parameters: Sequence[str]
    ) -> float:
        """Returns XLA's estimate of an instruction."""
        module = self._module(
            instruction, [*parameters, f"ROOT {rewritten(instruction, 'r', operands)}"]
        )
        return _COST.seconds(ModuleState(module.op_count, *module.cost()))

    def _predicted(
        self, instruction: InstructionText, operands: Sequence[str], parameters: Sequence[str]
    ) -> float:
        """Returns the predicted seconds of an instruction.

        They are what the second of two equal instructions adds to a program, whose arguments and
        results count, too.
        """
        lines = [
            *parameters,
            rewritten(instruction, "r", operands),
            rewritten(instruction, "s", operands),
        ]
        once, twice = (
            self._module(
                instruction,
                [
                    *lines[:last],
                    f"ROOT t = ({instruction.shape}, {instruction.shape}) tuple{names}",
                ],
            )
            for last, names in ((-1, "(r, r)"), (None, "(r, s)"))
        )
        return max(twice.seconds() - once.seconds(), 0.0)

    def _module(self, instruction: InstructionText, lines: Sequence[str]) -> Module:
        called = self._terms.computations.text([instruction.tail]) if instruction.calls else ""
        body = "\n".join(lines)
        return Module.from_text(f"HloModule one\n{called}\nENTRY one_instruction {{\n{body}\n}}\n")


def _shapes_as_written(terms: Terms, graph: EGraph) -> dict[str, str]:
    """Returns the shape of each class; of opaque operations as the program has it."""
    shapes: dict[str, str] = {}
    for name, nodes in graph.nodes.items():
        shape = graph.shapes.get(name)
        if shape is not None:
            shapes[name] = str(shape)
            continue
        (number,) = next(node.values for node in nodes if node.op == "Op")
        assert isinstance(number, int)
        shapes[name] = terms.opaque[number].shape
    return shapes


def instruction_of(
    terms: Terms, graph: EGraph, name: str, number: int
) -> tuple[InstructionText, tuple[str, ...]]:
    """Returns a node as an instruction, and the classes of its operands."""
    node = graph.nodes[name][number]
    shapes: list[ArrayShape | None] = [graph.shapes.get(child) for child in node.children]
    return written(terms, node.op, node.values, graph.shapes.get(name), shapes), node.children
