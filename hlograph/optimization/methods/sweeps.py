"""Sweeps of rules for time over a program, in a process that may die."""

from __future__ import annotations

import re
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlograph.errors import WorkerLostError
from hlograph.isolation import Limits, WorkerPool
from hlograph.programs import Program
from hlograph.transforms.sweeping import PREPARATION, sweep

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder
    from hlograph.module import Module

_SECONDS = 60.0  # for one request
_MEMORY = 16 << 30

# An instruction of HLO text: name, shape, opcode and operands.
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\(([^)]*)\)", re.M)
_NAME = re.compile(r"%?([\w.-]+)(?:,|$)")


@dataclass(frozen=True)
class Choice:
    """A rule, and where it is applied.

    Attributes:
        rule: Name of the rule.
        group: Opcode and shapes that places must have; empty for all places.
        places: Number of places in the program as it is.
    """

    rule: str
    group: str = ""
    places: int = 0


class Sweeps:
    """Lists where rules for time apply to a program, and applies them.

    The rules run in a worker process, so that what ends it costs the method only. The process ends
    with this object.

    Args:
        program: The program.
        rules: Names of the rules.
    """

    def __init__(self, program: Program, rules: tuple[str, ...]) -> None:
        limits = Limits(seconds=_SECONDS, memory=_MEMORY)
        self._pool = WorkerPool(_MakeWorker(program, rules), 1, limits, with_main=False)
        weakref.finalize(self, self._pool.close)

    def choices(self) -> list[Choice]:
        """Returns each rule that applies, and groups of its places where their shapes differ."""
        return self._ask(None) or []

    def steps(self, choices: tuple[Choice, ...]) -> tuple[str, ...]:
        """Returns the steps that make these choices, one after the other; empty if none applies."""
        return self._ask(choices) or ()

    def _ask(self, task: Any) -> Any:
        ((_, answer),) = self._pool.map([task])
        return None if isinstance(answer, WorkerLostError) else answer


@dataclass(frozen=True)
class _MakeWorker:
    program: Program
    rules: tuple[str, ...]

    def __call__(self, recorder: FlightRecorder) -> _Worker:
        return _Worker(self.program, self.rules, recorder)


class _Worker:
    def __init__(self, program: Program, rules: tuple[str, ...], recorder: FlightRecorder) -> None:
        self._rules, self._recorder = rules, recorder
        self._module = program.module()
        for step in PREPARATION:
            self._module.run(step)

    def __call__(self, choices: tuple[Choice, ...] | None) -> Any:
        self._recorder.begin(str(choices).encode())
        try:
            return self._choices() if choices is None else self._steps(choices)
        finally:
            self._recorder.end()

    def _choices(self) -> list[Choice]:
        groups = _groups(self._module)
        counts: dict[str, Counter[str]] = {}
        for rewrite in self._module.rewrites(self._rules):
            counts.setdefault(rewrite.rule, Counter())[groups.get(rewrite.instruction, "")] += 1
        whole = [Choice(rule, places=found.total()) for rule, found in counts.items()]
        parts = [
            Choice(rule, group, places)
            for rule, found in counts.items()
            if len(found) > 1
            for group, places in found.most_common()
        ]
        return whole + parts

    def _steps(self, choices: tuple[Choice, ...]) -> tuple[str, ...]:
        module = self._module.clone()
        steps: list[str] = []
        for choice in choices:
            groups = _groups(module) if choice.group else {}
            steps += sweep(
                module,
                choice.rule,
                lambda found, choice=choice, groups=groups: (
                    groups.get(found.instruction, "") == choice.group
                ),
            )
        return (*PREPARATION, *steps) if steps else ()


def _groups(module: Module) -> Mapping[str, str]:
    """Returns the opcode and the shapes of each instruction, by its name."""
    found = {match[1]: match.groups() for match in _INSTRUCTION.finditer(module.to_text())}
    return {
        name: " ".join(
            (opcode, shape, *(found[one][1] for one in _NAME.findall(operands) if one in found))
        )
        for name, shape, opcode, operands in found.values()
    }
