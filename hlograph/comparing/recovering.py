"""Finds the flag or the rule that makes up for what one jaxlib loses to another one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hlograph._native import has_engine
from hlograph.comparing.side import Interpreter
from hlograph.comparing.timing import QUICK, Timed, turns_of
from hlograph.errors import HloError, PlanRefusedError
from hlograph.execution.bootstrap import Interval
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.turns import Turns
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import FINAL
from hlograph.measuring.verification import Verifier
from hlograph.optimization.leading import LEAST_LEAD
from hlograph.optimization.methods.forms import RuleScope, Sweeps
from hlograph.plans import Plan, Program
from hlograph.plans.transforming import after_steps
from hlograph.transforms.rules import rules

_PLAN = "with a plan"
# A plan that makes up for less of the loss than this is not named.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Recovery:
    """A plan beside both sides.

    Attributes:
        words: The flag or the rule.
        plan: The plan, for the slower side.
        seconds: Median seconds of a run with it.
        ratio: Seconds with it over those of the faster side, with the interval.
        share: Share of the slower side's additional time that it saves; above 1, it is faster than
            the faster side.
    """

    words: str
    plan: Plan
    seconds: float
    ratio: Interval
    share: float

    @property
    def is_whole(self) -> bool:
        """True if the whole loss is made up for, as far as a lead in a race would show."""
        return self.ratio.value <= LEAST_LEAD

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return {
            "plan": self.words,
            "steps": list(self.plan.steps),
            "flags": dict(self.plan.flags),
            "seconds": self.seconds,
            "ratio": self.ratio._asdict(),
            "share": self.share,
            "whole": self.is_whole,
        }


class RecoverySearch:
    """Tries flags and rules, each alone, under the slower side.

    Args:
        fast: The faster side, and the key of its program.
        slow: The slower side, and the key of its program.
        program: The program of the slower side.
        inputs: Its inputs, which both have.
        loss: Time of the slower side over that of the faster one, above 1.
        budget: Seconds.
        known: Plans to try first; those for other programs are left out.
    """

    def __init__(
        self,
        fast: Timed,
        slow: tuple[Interpreter, str],
        program: Program,
        inputs: Sequence[Array],
        loss: float,
        budget: float,
        known: Iterable[Plan] = (),
    ) -> None:
        self._fast, self._slow, self._side = fast, slow, slow[0]
        self._program, self._inputs = program, inputs
        self._known, self._loss = known, loss
        self._until = time.monotonic() + budget
        self.tried = 0
        samples = Samples(program, inputs, 0)
        self._verifier = Verifier(
            program, samples, lambda name: lambda inputs: slow[0].outputs(slow[1], inputs), "close"
        )

    def best(self) -> Recovery | None:
        """Returns the first plan that makes up for the loss, or that which makes up most of it.

        Returns:
            The plan, measured again; None if none makes up for a tenth of it.
        """
        made: list[Recovery] = []
        for plan in self._plans():
            if time.monotonic() > self._until:
                break
            self.tried += 1
            try:
                recovery = self._measured(plan, quick=True)
            except HloError:
                continue
            if recovery is None or recovery.share < _LEAST_SHARE:
                continue
            made.append(recovery)
            if recovery.is_whole:
                break
        for recovery in sorted(made, key=lambda each: -each.share):
            again = self._measured(recovery.plan, quick=False)
            if again is not None and again.share >= _LEAST_SHARE:
                return again
        return None

    def _plans(self) -> Iterator[Plan]:
        """Yields known plans, rules that are predicted to save time, flags, and the other rules."""
        for plan in self._known:
            with suppress(PlanRefusedError):
                plan.check(self._program, here=False)
                if not plan.is_empty:
                    yield plan
        opcodes = sorted(set(self._program.flow.opcodes))
        flags = [
            Plan(self._program.name, flags=each, numerics="close")
            for each in self._side.flags(opcodes)
            if each
        ]
        if not has_engine():
            yield from flags
            return
        sweeps = Sweeps(self._program, rules.names_for_time(exact=False))
        try:
            choices = [choice for choice in sweeps.choices() if not choice.group]
            choices.sort(key=lambda choice: (-choice.saved, choice.rule))
            likely = [choice for choice in choices if choice.saved > 0]
            yield from self._by_rules(sweeps, likely)
            yield from flags
            yield from self._by_rules(sweeps, choices[len(likely) :])
        finally:
            sweeps.close()

    def _by_rules(self, sweeps: Sweeps, choices: Sequence[RuleScope]) -> Iterator[Plan]:
        for choice in choices:
            if steps := sweeps.steps((choice,)):
                yield Plan(self._program.name, steps=steps, numerics="close")

    def _measured(self, plan: Plan, *, quick: bool) -> Recovery | None:
        """Returns a plan beside both sides; None if its outputs are others.

        Raises:
            HloError: A step does not apply, or the side's jaxlib does not compile it.
        """
        program = self._program
        if plan.steps:
            program = Program(program.name, "hlo", after_steps(program, plan.steps))
        settings = replace(plan, steps=(), fingerprint="", text_fingerprint="")
        self._side.compile(_PLAN, program, self._inputs, settings)
        checks = self._verifier.check(
            lambda inputs: self._side.outputs(_PLAN, inputs), thorough=not quick
        )
        if not checks.accepted:
            return None
        programs = [self._fast, self._slow, (self._side, _PLAN)]
        turns = turns_of(programs, QUICK if quick else FINAL, _is_no_better if quick else _never)
        return _recovery(plan, turns, self._loss)


def _recovery(plan: Plan, turns: Turns, loss: float) -> Recovery:
    fast, slow, planned = turns.seconds.T
    ratio = Interval.of_median((planned / fast).tolist())
    gain = Interval.of_median((slow / planned).tolist()).value
    share = (1 - 1 / gain) / (1 - 1 / loss)
    seconds = Interval.of_median(planned.tolist()).value
    return Recovery(_words(plan), plan, seconds, ratio, share)


def _words(plan: Plan) -> str:
    if plan.num_decisions == 1 and plan.flags:
        return ", ".join(f"the flag {name}={value}" for name, value in plan.flags.items())
    if plan.measured is not None or plan.layouts or plan.placements or plan.flags:
        return f"the plan with {'; '.join(plan.summary())}"
    names = dict.fromkeys(step.partition("(")[0] for step in plan.steps if "(" in step)
    return f"the rule {', '.join(names)}"


def _is_no_better(turns: Turns) -> bool:
    """Returns True if the plan is in no turn faster than the slower side."""
    _, slow, planned = turns.seconds.T
    return bool((planned >= slow).all())


def _never(turns: Turns) -> bool:
    del turns
    return False
