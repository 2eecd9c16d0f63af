"""Walks of the campaign: a program with a rule's pattern, and rules applied one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st

import hlograph
from hlograph import Module
from hlograph.errors import HloError, HloParseError
from hlograph.isolation import FlightRecorder
from tests.hlograph.transforms.forms.test_forms import FORMS, PROGRAMS

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
    """Outcome of a task.

    Attributes:
        applied: Number of applications by rule.
        compared: Number of comparisons by verdict.
        failures: What went wrong, with the program.
    """

    applied: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def make_worker(recorder: FlightRecorder) -> Callable[[Task], Findings]:
    """Returns the function that performs a task in a worker."""

    def perform(task: Task) -> Findings:
        findings = Findings()
        rng = random.Random(task.seed)
        count = 0

        @seed(task.seed)
        @settings(
            max_examples=task.programs,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(data=st.data())
        def walks(data: Any) -> None:
            nonlocal count
            try:
                text = data.draw(PROGRAMS[task.rule]())
            except HloParseError:  # on a busy machine, a program is not read within its time
                reject()
            count += 1
            recorder.begin(f"{task}\n{text}".encode()[:60_000])
            try:
                for number in range(task.walks):
                    compare = number == 0 and count <= task.compared
                    _walk(text, task.rule, rng, findings, compare=compare)
            finally:
                recorder.end()

        walks()
        return findings

    return perform


def _walk(text: str, rule: str, rng: random.Random, findings: Findings, *, compare: bool) -> None:
    """Applies the rule somewhere, then any rules for time, and checks each result."""
    original = Module.from_text(text)
    module = original.clone()
    exact, names = True, [rule]
    for _ in range(_STEPS):
        found = module.rewrites(names)
        names = FORMS  # later steps take any rule, so that rules meet what others built
        if not found or module.op_count > _LARGE:
            break
        chosen = rng.choice(found)
        try:
            module.apply(chosen)
            module.verify()
        except HloError as error:
            findings.failures.append(f"{chosen.place}: {error}\n{text}")
            return
        findings.applied[chosen.rule] += 1
        exact &= hlograph.rules[chosen.rule].exact
        if _result_of(module) != _result_of(original):
            findings.failures.append(f"{chosen.place} changed the shape of the result\n{text}")
            return
    if compare:
        found = module.equivalent_to(original)
        findings.compared[found.verdict] += 1
        if found.verdict == "different" or (exact and found.verdict == "close"):
            findings.failures.append(f"{names}: {found.verdict}: {found.reason}\n{text}")


def _result_of(module: Module) -> str:
    """Returns the shapes of the program's parameters and result, without layouts."""
    return module.to_text().partition("entry_computation_layout=")[2].partition("\n")[0]
