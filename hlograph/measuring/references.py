"""Judges jaxlib's default of a program by references, as differential testing does.

The default is one of several implementations of the program: jaxlib without library fusions, with
its older emitters or in a form that avoids a known fault, the engine's XLA, and XLA's evaluator,
which runs the instructions as they are. They run one after the other in a process of their own, in
rounds, until it is decided which of them are right. One that ends the process, or takes far longer
than the others, has lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self

from hlograph.errors import (
    WorkerLostError,
)
from hlograph.execution.equivalence.engines import obstacles
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.implementation_worker import (
    FIRST_SECONDS,
    Answers,
    ImplementationWorker,
    WrongElements,
)
from hlograph.measuring.implementations import (
    DEFAULT,
    ENGINE,
    EVALUATOR,
    Implementation,
    death_of,
    implementations_of,
    last_resort,
)
from hlograph.measuring.trial import Job
from hlograph.plans import Plan
from hlograph.plans.known_faults import faults_of

JudgementVerdict = Literal["agrees", "differs", "dies", "no reference"]
"""Verdict of the references on jaxlib's default."""

_MEMORY = 16 << 30


@dataclass(frozen=True)
class Judgement:
    """Judgement of the references on jaxlib's default of a program.

    Attributes:
        verdict: ``agrees``; ``differs``, if the default is wrong; ``dies``, if it ends its process,
            hangs or takes too much memory; or ``no reference``, if nothing decides.
        reason: The reason, in words.
        plan: Plan whose outputs are right: the empty plan if the default's are; None if jaxlib has
            no right one.
        implementations: Result of each implementation in a word or two, by name.
        wrong: The wrong elements of the default.
        faults: Names of known faults that the program may meet.
        unstable: True if the default differs from itself from run to run by more than rounding.
    """

    verdict: JudgementVerdict
    reason: str
    plan: Plan | None = field(default_factory=Plan)
    implementations: Mapping[str, str] = field(default_factory=dict)
    wrong: Sequence[WrongElements] = ()
    faults: Sequence[str] = ()
    unstable: bool = False

    @property
    def is_against_default(self) -> bool:
        """True if the default must not stand: it is wrong, or does not live."""
        return self.verdict in ("differs", "dies")

    @property
    def headline(self) -> str:
        """The fault of the default in a few words; empty if nothing is known against it."""
        if self.verdict == "differs":
            return f"{DEFAULT.name} is wrong"
        return self.reason.partition(":")[0] if self.verdict == "dies" else ""

    def __str__(self) -> str:
        return self.reason


def judge_default(
    job: Job, *, in_doubt: bool = False, dead: str = "", sample: str = ""
) -> Judgement:
    """Judges jaxlib's default of a program by references, in a process of its own.

    Args:
        job: The program and its inputs.
        in_doubt: True runs all implementations; False runs no more if the first reference agrees
            with the default, and the program has no known fault.
        dead: The reason why the default is known not to live; empty runs it.
        sample: Name of the usual sample that outputs differ on; empty for the first one.
    """
    return _Judge(job, dead, sample).judge(in_doubt)


class _Judge:
    """Runs implementations in rounds; after one has ended the process, the others run again."""

    def __init__(self, job: Job, dead: str, sample: str) -> None:
        self._program = job.program
        self._dead: dict[str, str] = {DEFAULT.name: dead} if dead else {}
        self._faults = [fault.name for fault in faults_of(job.program.flow)]
        make = partial(ImplementationWorker, job, sample)
        limits = WorkerLimits(seconds=FIRST_SECONDS, memory=_MEMORY)
        self._worker = Remote(make, limits, ("hlograph.measuring.implementation_worker",))
        self._asked: list[Implementation] = []

    def judge(self, in_doubt: bool) -> Judgement:
        """Returns the judgement; see ``judge_default``."""
        if reasons := obstacles(self._program.flow, "evaluator"):
            return Judgement("no reference", f"no reference: {'; '.join(reasons)}")
        try:
            return self._judge(in_doubt)
        finally:
            self._worker.close()

    def _judge(self, in_doubt: bool) -> Judgement:
        decided, vote = None, Vote((), {}, {}, Answers({}, {}, {}, False))
        for implementations in implementations_of(self._program):
            vote = self._vote(implementations)
            decided = vote.decision() or decided
            doubtful = in_doubt or self._faults or self._dead or vote.answers.unstable
            if decided is not None and (not doubtful or ENGINE in implementations):
                break
        decided = decided or vote.undecided()
        if decided.verdict == "dies" and decided.plan is None:
            vote = self._vote((last_resort(self._program),))
            decided = vote.decision() or vote.undecided()
        return replace(decided, faults=tuple(self._faults))

    def _vote(self, implementations: Sequence[Implementation]) -> Vote:
        """Returns the vote of all that were asked, and of more implementations."""
        self._asked += implementations
        answers = self._answers() if implementations else Answers({}, {}, {}, False)
        return Vote.of(self._asked, self._dead, answers)

    def _answers(self) -> Answers:
        """Returns the results of all implementations that live."""
        while True:
            living = [
                implementation
                for implementation in self._asked
                if implementation.name not in self._dead
            ]
            try:
                return self._worker.call(ImplementationWorker.ask, living)
            except WorkerLostError as lost:
                name = (lost.note or b"").decode()
                if name not in {implementation.name for implementation in living}:
                    name = living[-1].name  # after its call has returned
                self._dead[name] = death_of(lost)


@dataclass(frozen=True)
class Vote:
    """Majority vote of the implementations that were run.

    The one of the highest rank decides, if it differs from others by more than rounding or not.
    Among implementations of rank 0, those decide that most others agree with. XLA's evaluator,
    which is wrong for some types and special numbers, does not decide alone against all others.

    Attributes:
        ran: Implementations with outputs, in the order in which they were run.
        failed: Why the others have none, by name.
        dead: Those of them that did not live.
        answers: Comparisons of their outputs.
    """

    ran: tuple[Implementation, ...]
    failed: Mapping[str, str]
    dead: Mapping[str, str]
    answers: Answers

    @classmethod
    def of(cls, asked: Sequence[Implementation], dead: Mapping[str, str], answers: Answers) -> Self:
        """Returns the vote of implementations that were run."""
        failed = {**answers.errors, **dead}
        ran = tuple(implementation for implementation in asked if implementation.name not in failed)
        return cls(ran, failed, dict(dead), answers)

    def decision(self) -> Judgement | None:
        """Returns the judgement; None if nothing decides."""
        for truth in sorted(self.ran, key=lambda implementation: -implementation.rank):
            if truth.rank and self._is_comparable(truth):
                contested = truth == EVALUATOR and self._is_contested(truth)
                return self._contested(truth) if contested else self._judgement(truth)
        support = {implementation: self._support(implementation) for implementation in self.ran}
        # Of equal support, the default is right.
        best = max(
            support,
            key=lambda implementation: (support[implementation], implementation == DEFAULT),
            default=None,
        )
        if best is None or not support[best] or not self._is_comparable(best):
            return None
        return self._judgement(best)

    def undecided(self) -> Judgement:
        """Returns the judgement where nothing decides."""
        living = [
            implementation
            for implementation in self.ran
            if implementation.plan is not None and implementation != DEFAULT
        ]
        if DEFAULT.name in self.dead and living:
            words = f"{self._death()}, and nothing says whether {living[0].name} is right"
            return Judgement("dies", words, living[0].plan, self._results(None))
        if DEFAULT.name in self.dead:
            return Judgement("dies", f"{self._death()}; nothing else lives", None, self.failed)
        failed = "; ".join(f"{name} {words}" for name, words in self.failed.items())
        differing = [v.name for v in self.ran if self.answers.differ(v.name, DEFAULT.name)]
        words = (
            f"the default and {', '.join(differing)} differ, and nothing decides"
            if differing
            else failed or "the outputs depend on rounding"
        )
        return Judgement("no reference", f"no reference: {words}", Plan(), self._results(None))

    def _support(self, implementation: Implementation) -> int:
        others = (other for other in self.ran if other != implementation)
        return sum(self.answers.agree(implementation.name, other.name) for other in others)

    def _is_comparable(self, truth: Implementation) -> bool:
        """Returns True if it agrees with or differs from the default, or agrees with what lives."""
        if any(implementation == DEFAULT for implementation in self.ran):
            pair = truth.name, DEFAULT.name
            return self.answers.agree(*pair) or self.answers.differ(*pair)
        return self._support(truth) > 0

    def _is_contested(self, truth: Implementation) -> bool:
        """Returns True if it agrees with no other, and several others agree with each other."""
        others = [implementation for implementation in self.ran if implementation != truth]
        together = all(self.answers.agree(others[0].name, other.name) for other in others[1:])
        return len(others) > 1 and together and not self._support(truth)

    def _contested(self, truth: Implementation) -> Judgement:
        """Returns the judgement where one implementation differs from all others."""
        names = " and ".join(each.name for each in self.ran if each != truth)
        words = f"no reference: {truth.name} differs, alone, from {names}, which agree"
        return Judgement("no reference", words, Plan(), self._results(None))

    def _judgement(self, truth: Implementation) -> Judgement:
        right = [
            implementation
            for implementation in self.ran
            if self.answers.agree(truth.name, implementation.name)
        ]
        is_right = DEFAULT in right and not self.answers.unstable
        names = " and ".join(
            implementation.name for implementation in right if implementation != DEFAULT
        )
        results = self._results(truth)
        if is_right:
            return Judgement("agrees", f"{DEFAULT.name} agrees with {names}", Plan(), results)
        mending = [
            implementation.plan
            for implementation in right
            if implementation.plan and implementation != DEFAULT
        ]
        plan = mending[0] if mending else None
        by = f"; right are {names}" if names else ""
        if DEFAULT.name in self.dead:
            return Judgement("dies", f"{self._death()}{by}", plan, results)
        if DEFAULT.name in self.failed:
            words = f"{DEFAULT.name} {self.failed[DEFAULT.name]}{by}"
            return Judgement("dies", words, plan, results)
        wrong = self.answers.wrong.get(truth.name, [])
        reasons = [str(each) for each in wrong]
        if self.answers.unstable:
            reasons.insert(0, "it differs from itself from run to run, so it reads wrong memory")
        words = f"{DEFAULT.name} is wrong: {'; '.join(reasons)}{by}"
        return Judgement("differs", words, plan, results, wrong, unstable=self.answers.unstable)

    def _death(self) -> str:
        return f"{DEFAULT.name} {self.dead[DEFAULT.name]}"

    def _results(self, truth: Implementation | None) -> dict[str, str]:
        """Returns the result of each implementation in a word or two."""
        results = dict(self.failed)
        for implementation in self.ran:
            if truth is None:
                results[implementation.name] = "not decided"
            elif self.answers.agree(truth.name, implementation.name):
                results[implementation.name] = "right"
            else:
                different = self.answers.differ(truth.name, implementation.name)
                results[implementation.name] = "wrong" if different else "not comparable"
        return results
