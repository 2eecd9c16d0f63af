"""References: what jaxlib's default is compared with, and the judgement on it.

The default is one voice among several that compute the same program: jaxlib without library
fusions, with its older emitters or in a form that avoids a known fault, the engine's XLA, and XLA's
evaluator, which runs the instructions as they are. They speak one after the other in a process of
their own, in rounds, until it is decided which of them are right. A voice that ends the process, or
takes far longer than the others, has lost.
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
from hlograph.measuring.trial import Job
from hlograph.measuring.voice_worker import FIRST_SECONDS, Answers, VoiceWorker, WrongElements
from hlograph.measuring.voices import DEFAULT, ENGINE, Voice, death_of, voices_of
from hlograph.plans import Plan
from hlograph.plans.known_faults import faults_of

JudgementVerdict = Literal["agrees", "differs", "dies", "no reference"]
"""What the references say of jaxlib's default."""

_MEMORY = 16 << 30


@dataclass(frozen=True)
class Judgement:
    """What the references say of jaxlib's default of a program.

    Attributes:
        verdict: ``agrees``; ``differs``, if the default is wrong; ``dies``, if it ends its process,
            hangs or takes too much memory; or ``no reference``, if nothing decides.
        reason: The reason, in words.
        plan: Plan whose outputs are right: the empty plan if the default's are; None if jaxlib has
            no right one.
        voices: What each voice came to, by name.
        wrong: The wrong elements of the default.
        faults: Names of known faults that the program may meet.
        unstable: True if the default differs from itself from run to run by more than rounding.
    """

    verdict: JudgementVerdict
    reason: str
    plan: Plan | None = field(default_factory=Plan)
    voices: Mapping[str, str] = field(default_factory=dict)
    wrong: Sequence[WrongElements] = ()
    faults: Sequence[str] = ()
    unstable: bool = False

    @property
    def is_against_default(self) -> bool:
        """True if the default must not stand: it is wrong, or does not live."""
        return self.verdict in ("differs", "dies")

    @property
    def headline(self) -> str:
        """What is wrong with the default in a few words; empty if nothing is known against it."""
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
        in_doubt: True asks all voices; False asks no more if the first reference agrees with the
            default, and the program has no known fault.
        dead: The reason why the default is known not to live; empty lets it speak.
        sample: Name of the usual sample that outputs differ on; empty for the first one.
    """
    return _Judge(job, dead, sample).judge(in_doubt)


class _Judge:
    """Asks voices in rounds, and those that are left again after one has ended the process."""

    def __init__(self, job: Job, dead: str, sample: str) -> None:
        self._program = job.program
        self._dead: dict[str, str] = {DEFAULT.name: dead} if dead else {}
        self._faults = [fault.name for fault in faults_of(job.program.flow)]
        make = partial(VoiceWorker, job, sample)
        limits = WorkerLimits(seconds=FIRST_SECONDS, memory=_MEMORY)
        self._worker = Remote(make, limits, ("hlograph.measuring.voice_worker",))
        self._asked: list[Voice] = []

    def judge(self, in_doubt: bool) -> Judgement:
        """Returns the judgement; see ``judge_default``."""
        if reasons := obstacles(self._program.flow, "evaluator"):
            return Judgement("no reference", f"no reference: {'; '.join(reasons)}")
        try:
            return self._judge(in_doubt)
        finally:
            self._worker.close()

    def _judge(self, in_doubt: bool) -> Judgement:
        decided, ballot = None, Ballot((), {}, {}, Answers({}, {}, {}, False))
        for voices in voices_of(self._program):
            self._asked += voices
            answers = self._answers() if voices else Answers({}, {}, {}, False)
            ballot = Ballot.of(self._asked, self._dead, answers)
            decided = ballot.decision() or decided
            doubtful = in_doubt or self._faults or self._dead or answers.unstable
            if decided is not None and (not doubtful or ENGINE in voices):
                break
        if decided is None:
            decided = ballot.undecided()
        return replace(decided, faults=tuple(self._faults))

    def _answers(self) -> Answers:
        """Returns what all voices that live come to."""
        while True:
            living = [voice for voice in self._asked if voice.name not in self._dead]
            try:
                return self._worker.call(VoiceWorker.ask, living)
            except WorkerLostError as lost:
                name = (lost.note or b"").decode()
                if name not in {voice.name for voice in living}:
                    name = living[-1].name  # after its call has returned
                self._dead[name] = death_of(lost)


@dataclass(frozen=True)
class Ballot:
    """The voices that were asked, and how they are counted.

    The voice of the highest rank decides, if it differs from others by more than rounding or not.
    Among voices of rank 0, those decide that most others agree with.

    Attributes:
        spoke: Voices that spoke, in the order in which they were asked.
        silent: Why the others did not, by name.
        dead: Those of them that did not live.
        answers: What they came to.
    """

    spoke: tuple[Voice, ...]
    silent: Mapping[str, str]
    dead: Mapping[str, str]
    answers: Answers

    @classmethod
    def of(cls, asked: Sequence[Voice], dead: Mapping[str, str], answers: Answers) -> Self:
        """Returns the ballot of voices that were asked."""
        silent = {**answers.errors, **dead}
        spoke = tuple(voice for voice in asked if voice.name not in silent)
        return cls(spoke, silent, dict(dead), answers)

    def decision(self) -> Judgement | None:
        """Returns the judgement; None if nothing decides."""
        for truth in sorted(self.spoke, key=lambda voice: -voice.rank):
            if truth.rank and self._is_comparable(truth):
                return self._judgement(truth)
        support = {voice: self._support(voice) for voice in self.spoke}
        # Of equal support, the default is right.
        best = max(support, key=lambda voice: (support[voice], voice == DEFAULT), default=None)
        return self._judgement(best) if best is not None and support[best] else None

    def undecided(self) -> Judgement:
        """Returns the judgement where nothing decides."""
        living = [voice for voice in self.spoke if voice.plan is not None and voice != DEFAULT]
        if DEFAULT.name in self.dead and living:
            words = f"{self._death()}, and nothing says whether {living[0].name} is right"
            return Judgement("dies", words, living[0].plan, self._heard(None))
        if DEFAULT.name in self.dead:
            return Judgement("dies", f"{self._death()}; nothing else lives", None, self.silent)
        silent = "; ".join(f"{name} {words}" for name, words in self.silent.items())
        differing = [v.name for v in self.spoke if self.answers.differ(v.name, DEFAULT.name)]
        words = (
            f"the default and {', '.join(differing)} differ, and nothing decides"
            if differing
            else silent or "the outputs depend on rounding"
        )
        return Judgement("no reference", f"no reference: {words}", Plan(), self._heard(None))

    def _support(self, voice: Voice) -> int:
        others = (other for other in self.spoke if other != voice)
        return sum(self.answers.agree(voice.name, other.name) for other in others)

    def _is_comparable(self, truth: Voice) -> bool:
        """Returns True if a voice says yes or no to the default, or yes to what lives instead."""
        if any(voice == DEFAULT for voice in self.spoke):
            pair = truth.name, DEFAULT.name
            return self.answers.agree(*pair) or self.answers.differ(*pair)
        return self._support(truth) > 0

    def _judgement(self, truth: Voice) -> Judgement:
        right = [voice for voice in self.spoke if self.answers.agree(truth.name, voice.name)]
        is_right = DEFAULT in right and not self.answers.unstable
        names = " and ".join(voice.name for voice in right if voice != DEFAULT)
        heard = self._heard(truth)
        if is_right:
            return Judgement("agrees", f"{DEFAULT.name} agrees with {names}", Plan(), heard)
        mending = [voice.plan for voice in right if voice.plan and voice != DEFAULT]
        plan = mending[0] if mending else None
        by = f"; right are {names}" if names else ""
        if DEFAULT.name in self.dead:
            return Judgement("dies", f"{self._death()}{by}", plan, heard)
        if DEFAULT.name in self.silent:
            words = f"{DEFAULT.name} {self.silent[DEFAULT.name]}{by}"
            return Judgement("dies", words, plan, heard)
        wrong = self.answers.wrong.get(truth.name, [])
        reasons = [str(each) for each in wrong]
        if self.answers.unstable:
            reasons.insert(0, "it differs from itself from run to run, so it reads wrong memory")
        words = f"{DEFAULT.name} is wrong: {'; '.join(reasons)}{by}"
        return Judgement("differs", words, plan, heard, wrong, unstable=self.answers.unstable)

    def _death(self) -> str:
        return f"{DEFAULT.name} {self.dead[DEFAULT.name]}"

    def _heard(self, truth: Voice | None) -> dict[str, str]:
        """Returns what each voice came to, in a word or two."""
        heard = dict(self.silent)
        for voice in self.spoke:
            if truth is None:
                heard[voice.name] = "not decided"
            elif self.answers.agree(truth.name, voice.name):
                heard[voice.name] = "right"
            else:
                different = self.answers.differ(truth.name, voice.name)
                heard[voice.name] = "wrong" if different else "not comparable"
        return heard
