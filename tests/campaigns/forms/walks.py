"""Walks of the campaign: a program with a rule's pattern, and rules applied one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import hlograph
from benchmarks.speed_rules.catalogue import PROGRAMS
from hlograph import Module
from hlograph.errors import HloError, HloParseError
from hlograph.isolation import FlightRecorder

_STEPS = 8

# A walk ends at a module of more instructions, such as one with unrolled loops, which takes as long
# as many small ones.
_LARGE = 300


@dataclass(frozen=True)
class Task:
    """Programs of one rule, drawn with one seed.

    Attributes:
        rule: Name of the rule.
        seed: Seed of the programs and of the walks.
        programs: Number of programs.
        walks: Number of walks on each program. To draw a program takes longer than some walks.
        compared: Number of programs for which the result of a walk is compared with the original.
    """

    rule: str
    seed: int
    programs: int
    walks: int
    compared: int


@dataclass
class Findings:
    """Counts and failures of a task, or of a whole campaign.

    Attributes:
        applied: Number of applications by rule.
        compared: Number of comparisons by verdict.
        failures: What went wrong, with the program.
    """

    applied: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Adds other findings to these."""
        self.applied += other.applied
        self.compared += other.compared
        self.failures += other.failures

    def text(self) -> str:
        """Returns a table by rule, the verdicts and the number of failures."""
        rows = [f"{rule:36} {self.applied[rule]:>8}" for rule in PROGRAMS]
        verdicts = ", ".join(f"{number} {verdict}" for verdict, number in self.compared.items())
        total = f"{self.applied.total()} applications; compared: {verdicts or 'none'}"
        return "\n".join([*rows, total, f"{len(self.failures)} failures"])


def make_worker(recorder: FlightRecorder) -> Callable[[Task], Findings]:
    """Returns the function that performs a task in a worker."""

    def perform(task: Task) -> Findings:
        findings = Findings()
        rng = random.Random(task.seed)
        for number in range(task.programs):
            try:
                text = PROGRAMS[task.rule](rng)
            except HloParseError:  # on a busy machine, a program is not read within its time
                continue
            recorder.begin(f"{task}\n{text}".encode()[:60_000])
            try:
                for walk in range(task.walks):
                    compare = walk == 0 and number < task.compared
                    _walk(text, task.rule, rng, findings, compare=compare)
            finally:
                recorder.end()
        return findings

    return perform


def _walk(text: str, rule: str, rng: random.Random, findings: Findings, *, compare: bool) -> None:
    """Applies the rule somewhere, then any rules for time, and checks each result."""
    original = Module.from_text(text)
    module = original.clone()
    exact, names = True, [rule]
    for _ in range(_STEPS):
        rewrites = module.rewrites(names)
        names = list(PROGRAMS)  # later steps take any rule, so that rules meet what others built
        if not rewrites or module.op_count > _LARGE:
            break
        rewrite = rng.choice(rewrites)
        try:
            module.apply(rewrite)
            module.verify()
        except HloError as error:
            findings.failures.append(f"{rewrite.place}: {error}\n{text}")
            return
        findings.applied[rewrite.rule] += 1
        exact &= hlograph.rules[rewrite.rule].exact
        if _result_of(module) != _result_of(original):
            findings.failures.append(f"{rewrite.place} changed the shape of the result\n{text}")
            return
    if compare:
        result = module.equivalent_to(original)
        findings.compared[result.verdict] += 1
        if result.verdict == "different" or (exact and result.verdict == "close"):
            findings.failures.append(f"{names}: {result.verdict}: {result.reason}\n{text}")


def _result_of(module: Module) -> str:
    """Returns the shapes of the program's parameters and result, without layouts."""
    return module.to_text().partition("entry_computation_layout=")[2].partition("\n")[0]
