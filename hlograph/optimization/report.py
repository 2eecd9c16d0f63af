"""The report of a race: default and best time, what was done, and what was tried."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from hlograph.execution.process_memory import keeps_freed_memory
from hlograph.measuring.references import Judgement
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.optimization.objectives import is_too_large
from hlograph.plans import Measured, Numerics, Plan

_ROWS = 12

# Changes in the final module that are shown, and opcodes of which they are not.
_CHANGES = 6
_FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})


@dataclass(frozen=True)
class JudgingTimes:
    """Holds what references took of a search.

    Attributes:
        until: Seconds of the search until the verdict was known; None without a judgement.
        plain: Seconds that a worker process took to compile, compare and time the plain reference,
            beside the plans of another worker; perhaps in an earlier search.
        asking: Seconds in which all references were asked, and no plan was measured.
    """

    until: float | None = None
    plain: float = 0.0
    asking: float = 0.0


@dataclass(frozen=True)
class Report:
    """Result of ``hlograph.optimize``; prints as a table.

    Attributes:
        program: Name of the program.
        plan: The plan that the function runs with; empty if jaxlib's default is kept.
        conclusion: One sentence that says what came of it.
        numerics: Class that results had to belong to.
        final: Measurement of the winner in a fresh process; None if there was no winner, or the
            plan was stored before.
        outcomes: All measurements, in order.
        seconds: Duration of the race.
        from_store: True if the plan was found in the store, or was given.
        before: Number of the first outcomes, which earlier searches had measured.
        interrupted: True if the user ended the race, or what follows it, by Ctrl-C.
        unconfirmed: Words about a plan that led, and was not measured again as that takes too long.
        judgement: What references say of jaxlib's default; None if none was asked.
        judging: What the references took of the search.
        advice: What the user can do for the program, and is not done: sentences without a full
            stop.
    """

    program: str
    plan: Plan
    conclusion: str
    numerics: Numerics
    final: PlanMeasurement | None = None
    outcomes: Sequence[PlanMeasurement] = field(default_factory=tuple)
    seconds: float = 0.0
    from_store: bool = False
    before: int = 0
    interrupted: bool = False
    unconfirmed: str = ""
    judgement: Judgement | None = None
    judging: JudgingTimes = field(default_factory=JudgingTimes)
    advice: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Default time / time with the plan, as measured last; 1 for the empty plan."""
        return self.plan.measured.ratio if self.plan.measured else 1.0

    def table(self) -> str:
        """Returns the report as text."""
        lines = [f"{self.program}: {self.conclusion}"]
        if measured := self.plan.measured:
            lines += [
                f"  default  {_time(measured.default_seconds):>10}",
                f"  plan     {_time(measured.seconds):>10}   {measured.ratio:.3f} times as fast, "
                f"95 % interval {measured.low:.3f} to {measured.high:.3f} ({measured.pairs} pairs; "
                f"default against itself {measured.control:.3f})",
            ]
            if measured.one_cpu:
                lines += [
                    "  Both ran on one CPU, as the machine was busy: on more, the ratio may differ."
                ]
        lines += self._about_memory()
        lines += self._judged()
        lines += self._about_process()
        if not self.plan.is_empty:
            lines += [f"  numerics {self.plan.numerics}"]
            lines += [f"  {line}" for line in self.plan.summary()]
        if self.final and self.final.checks:
            checks = self.final.checks
            lines += [f"  outputs  {checks.verdict}: {checks.reason}"]
            lines += [f"  compared on {', '.join(checks.samples)} inputs"]
        if self.final and self.final.changes:
            lines += [f"  code     {changes_text(self.final.changes)}"]
        lines += [f"  advice   {sentence}." for sentence in self.advice]
        return "\n".join(lines + self._tried())

    def _about_memory(self) -> list[str]:
        """Returns the lines about peak memory of default and plan, and plans that need too much."""
        known = [o.measured for o in self.outcomes if o.measured and o.measured.default_memory]
        measured = self.plan.measured or (known[-1] if known else None)
        lines = []
        if measured is not None and measured.default_memory:
            line = f"  memory   {measured.default_memory / 1e6:.1f} MB by default"
            if self.plan.measured:
                line += f", {measured.memory / 1e6:.1f} MB with the plan"
            line += ", as XLA planned it"
            if self.plan.measured and measured.default_resident and measured.resident:
                grown = measured.default_resident / 1e6, measured.resident / 1e6
                line += f"; in a run the process grew by {grown[0]:.1f} and {grown[1]:.1f} MB"
            lines.append(line)
        refused = {o.plan.digest: o.error for o in self.outcomes if is_too_large(o)}
        if refused:
            example = next(iter(refused.values()))
            lines.append(f"  plans refused for their memory: {len(refused)}; one of them {example}")
        return lines

    def _judged(self) -> list[str]:
        """Returns what is known of whether jaxlib's default is right."""
        if self.judgement is None:
            return [f"  default  {self.plan.default_fault}"] if self.plan.default_fault else []
        lines = [f"  default  {self.judgement.reason}"]
        if self.judgement.is_against_default:
            lines += [
                f"    {name}: {words}" for name, words in self.judgement.implementations.items()
            ]
            lines += [f"    {line} avoids it" for line in self._avoids()]
        return lines

    def _avoids(self) -> list[str]:
        plan = self.judgement.plan if self.judgement else None
        return [] if plan is None or plan.is_empty else plan.describe()

    def _about_process(self) -> list[str]:
        """Returns the lines about settings of the process: its threads, and freed memory."""
        machine, kept = self.plan.machine, self.plan.kept_memory
        lines = []
        if machine is not None:
            lines += [f"  threads  {machine.cores}, as many as CPUs that the process may use"]
        if kept is not None:
            lines += [
                f"  process  {_time(kept.seconds_before)} → {_time(kept.seconds)}: {kept}. All "
                "functions of the process may gain by it, those of jax.jit, too."
            ]
            if not keeps_freed_memory():
                lines += ["  This process does not keep freed memory."]
        return lines

    def _tried(self) -> list[str]:
        if not self.outcomes:
            return []
        new = self.outcomes[self.before :]
        plans = {outcome.plan.digest for outcome in new}
        timed = {outcome.plan.digest for outcome in new if outcome.measured}
        earlier = f", beside {self.before} measured earlier" if self.before else ""
        busy = sum(outcome.measured is not None and outcome.measured.busy for outcome in new)
        sentence = (
            f"  The machine was busy in {busy} of {len(new)} measurements: a lead on such a "
            "machine counts if it holds on one CPU, too."
        )
        lines = [sentence] if busy else []
        lines += [
            f"  tried {len(plans)} plans in {self.seconds:.0f} s, {len(plans - timed)} of them "
            f"without a time{earlier}; those measured again in fresh processes come first:"
        ]
        ranked = self._ranked()
        for outcome in ranked[:_ROWS]:
            measured = outcome.measured
            speed = (
                f"{measured.ratio:7.3f}  {measured.low:.3f} to {measured.high:.3f}"
                if measured
                else "      -"
            )
            again = " (again)" if outcome.thorough else ""
            note = f"  {outcome.error[:90]}" if outcome.error else ""
            lines.append(f"  {speed:24} {outcome.plan.method}{again}{note}")
        if len(ranked) > _ROWS:
            lines.append(f"  and {len(ranked) - _ROWS} slower ones")
        return lines

    def _ranked(self) -> list[PlanMeasurement]:
        """Returns finals, then each plan that was screened, once; the fastest first."""
        best: dict[str | int, PlanMeasurement] = {}
        for number, outcome in enumerate(self.outcomes):
            # Methods come to one plan in several ways; its measurement is that of the first.
            best.setdefault(number if outcome.thorough else outcome.plan.digest, outcome)
        return sorted(best.values(), key=lambda each: (-each.thorough, -each.ratio))

    def to_json(self) -> str:
        """Returns the report as indented JSON."""
        content: dict[str, Any] = {
            "program": self.program,
            "conclusion": self.conclusion,
            "numerics": self.numerics,
            "ratio": self.ratio,
            "seconds": self.seconds,
            "from_store": self.from_store,
            "before": self.before,
            "advice": list(self.advice),
            "plan": json.loads(self.plan.to_json()),
            "checks": asdict(self.final.checks) if self.final and self.final.checks else None,
            "judgement": asdict(replace(self.judgement, plan=None)) if self.judgement else None,
            "judging": asdict(self.judging),
            "outcomes": [json.loads(outcome_to_json(outcome)) for outcome in self.outcomes],
        }
        return json.dumps(content, indent=2) + "\n"

    def __str__(self) -> str:
        return self.table()


def outcome_to_json(outcome: PlanMeasurement) -> str:
    """Returns an outcome as one line of JSON."""
    content = {
        "plan": json.loads(outcome.plan.to_json()),
        "thorough": outcome.thorough,
        "measured": asdict(outcome.measured) if outcome.measured else None,
        "checks": asdict(outcome.checks) if outcome.checks else None,
        "error": outcome.error,
        "seconds": outcome.seconds,
        "compile_seconds": outcome.compile_seconds,
        "changes": dict(outcome.changes),
        "hot": None if outcome.hot is None else dict(outcome.hot),
        "accident": outcome.accident,
        "when": outcome.when,
    }
    return json.dumps(content)


def outcome_of(plan: Plan, content: Mapping[str, Any]) -> PlanMeasurement:
    """Returns the outcome of a plan that ``outcome_to_json`` wrote; what was empty may be missing.

    Raises:
        KeyError: An attribute has no part that it needs.
        TypeError: An attribute is unknown, or of another type.
    """
    fields = dict(content)
    fields.pop("memory", None)  # bytes of temporaries, which version 0.1 wrote here
    measured, checks = fields.pop("measured", None), fields.pop("checks", None)
    changes = {
        opcode: (before, after) for opcode, (before, after) in fields.pop("changes", {}).items()
    }
    return PlanMeasurement(
        plan=plan,
        measured=Measured(**measured) if measured else None,
        checks=Checks(**{**checks, "samples": tuple(checks["samples"])}) if checks else None,
        changes=changes,
        **fields,
    )


def changes_text(changes: Mapping[str, tuple[int, int]]) -> str:
    """Returns the largest changes of the numbers of instructions in jaxlib's final module.

    Opcodes that are gone come first.
    """
    kept = [(name, *both) for name, both in changes.items() if name not in _FREE]
    kept.sort(
        key=lambda change: (change[2] > 0, -abs(math.log((change[2] + 0.5) / (change[1] + 0.5))))
    )
    return ", ".join(f"{name} {before} → {after}" for name, before, after in kept[:_CHANGES])


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"
