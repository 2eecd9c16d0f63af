"""Sweeps of rules for time over a program, in a process that may die."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from hlograph.errors import WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.compiled import kinds_of
from hlograph.plans import Program
from hlograph.reading.hlo_text import InstructionText, read_instructions
from hlograph.transforms.sweeping import PREPARATION, greedy_sweeps, sweep

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder
    from hlograph.module import Module
    from hlograph.transforms.rewriting import Rewrite

_SECONDS = 60.0  # for one request
_MEMORY = 16 << 30


@dataclass(frozen=True)
class RuleScope:
    """A rule, and where it is applied.

    Attributes:
        rule: Name of the rule; empty for the rules that are predicted to save time, one after the
            other, at the places where they are.
        group: Opcode and shapes that places must have; empty for all places.
        without: Rules that are left out, if the choice is of several.
        places: Number of places in the program as it is.
        saved: Predicted seconds that the rule saves in one run.
        kinds: Kinds of the instructions at its places: see ``measuring.compiled.kinds_of``.
    """

    rule: str = ""
    group: str = ""
    without: frozenset[str] = frozenset()
    places: int = field(default=0, compare=False)
    saved: float = field(default=0.0, compare=False)
    kinds: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)


class Sweeps:
    """Lists where rules for time apply to a program, and applies them.

    The rules run in a worker process, so that what ends it costs the method only. The process ends
    with this object.

    Args:
        program: The program.
        rules: Names of the rules.
    """

    def __init__(self, program: Program, rules: tuple[str, ...]) -> None:
        limits = WorkerLimits(seconds=_SECONDS, memory=_MEMORY)
        self._worker = Remote(partial(_Worker, program, rules), limits)

    def choices(self) -> list[RuleScope]:
        """Returns each rule that applies, and groups of its places where their shapes differ."""
        try:
            return self._worker.call(_Worker.choices)
        except WorkerLostError:
            return []

    def steps(self, choices: tuple[RuleScope, ...]) -> tuple[str, ...]:
        """Returns the steps that make these choices, one after the other; empty if none applies."""
        try:
            return self._worker.call(_Worker.steps, choices)
        except WorkerLostError:
            return ()

    def close(self) -> None:
        """Ends the worker process."""
        self._worker.close()


class _Worker:
    """Applies rules to a program, in the process that may die."""

    def __init__(self, program: Program, rules: tuple[str, ...], recorder: FlightRecorder) -> None:
        self._rules, self._recorder = rules, recorder
        self._module = program.module()
        for step in PREPARATION:
            self._module.run(step)

    def choices(self) -> list[RuleScope]:
        instructions = _instructions(self._module)
        found: dict[str, dict[str, list[Rewrite]]] = {}
        with self._recorder.noted(b"where rules apply"):
            for rewrite in self._module.rewrites(self._rules):
                group = _group(rewrite.instruction, instructions)
                found.setdefault(rewrite.rule, {}).setdefault(group, []).append(rewrite)
        whole = [
            _choice(rule, "", [one for many in groups.values() for one in many], instructions)
            for rule, groups in found.items()
        ]
        parts = [
            _choice(rule, group, rewrites, instructions)
            for rule, groups in found.items()
            if len(groups) > 1
            for group, rewrites in groups.items()
        ]
        return whole + parts

    def steps(self, choices: tuple[RuleScope, ...]) -> tuple[str, ...]:
        with self._recorder.noted(str(choices).encode()):
            module = self._module.clone()
            steps = [step for choice in choices for step in self._applied(module, choice)]
        return (*PREPARATION, *steps) if steps else ()

    def _applied(self, module: Module, choice: RuleScope) -> Iterable[str]:
        """Makes a choice in a module, and returns its steps."""
        if not choice.rule:
            kept = [rule for rule in self._rules if rule not in choice.without]
            return greedy_sweeps(module, kept)
        instructions = _instructions(module) if choice.group else {}

        def accepts(found: Rewrite) -> bool:
            return not choice.group or _group(found.instruction, instructions) == choice.group

        return sweep(module, choice.rule, accepts)


def _choice(
    rule: str, group: str, rewrites: list[Rewrite], instructions: Mapping[str, InstructionText]
) -> RuleScope:
    names = {name for one in rewrites for name in (one.instruction, *one.gone)}
    kinds = frozenset(
        kinds_of(instructions[name].opcode, instructions[name].shape)
        for name in names
        if name in instructions
    )
    saved = -sum(one.seconds for one in rewrites)
    return RuleScope(rule, group, places=len(rewrites), saved=saved, kinds=kinds)


def _instructions(module: Module) -> dict[str, InstructionText]:
    """Returns the instructions by their names."""
    return {each.name: each for each in read_instructions(module.to_text())}


def _group(name: str, instructions: Mapping[str, InstructionText]) -> str:
    """Returns the opcode and the shapes of an instruction and its operands."""
    if name not in instructions:
        return ""
    place = instructions[name]
    shapes = (instructions[operand].shape for operand in place.operands if operand in instructions)
    return " ".join((place.opcode, place.shape, *shapes))
