"""References: what jaxlib's default is compared with, and the judgement on it.

The default is one voice among several that compute the same program: jaxlib without library
fusions, with its older emitters or in a form that avoids a known fault, the engine's XLA, and XLA's
evaluator, which runs the instructions as they are. They speak one after the other in a process of
their own, in rounds, until it is decided which of them are right. A voice that ends the process, or
takes far longer than the others, has lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from hlograph._native import has_engine
from hlograph.errors import (
    HloError,
    WorkerLostError,
    WorkerOutOfMemoryError,
    WorkerTimedOutError,
)
from hlograph.execution import lock
from hlograph.execution.equivalence.arrays import Array, dtype_of, is_integral, signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner, obstacles
from hlograph.execution.equivalence.inputs import perturbed
from hlograph.execution.equivalence.reference import largest_epsilon
from hlograph.execution.equivalence.rounding import rounding_error
from hlograph.execution.equivalence.verdict import (
    RANK,
    EngineName,
    Sensitivity,
    Verdict,
    difference,
    judge,
    root_mean_square,
    sensitivity,
)
from hlograph.execution.runs import Run
from hlograph.isolation import Remote, WorkerLimits
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.plans import Plan, Program, compile_program
from hlograph.plans.flags import LIBRARIES, FlagValue
from hlograph.plans.jaxlib_versions import flag_support
from hlograph.plans.known_faults import faults_of
from hlograph.reading.hlo_text import read_module
from hlograph.reading.parser_server import failed_check

JudgementVerdict = Literal["agrees", "differs", "dies", "no reference"]
"""What the references say of jaxlib's default."""

# Opcodes that jaxlib may leave to a library.
_OF_LIBRARIES = frozenset({"dot", "convolution", "reduce", "reduce-window"})

_OLDER_EMITTERS = "xla_cpu_disable_new_fusion_emitters"

# The evaluator takes microseconds for an element, and less for the terms of a product.
_LIMITS = Limits(evaluated_flops=1e9, evaluator_seconds=20.0)
_EVALUATED, _LONGEST = 4_000_000, 30.0
_MEMORY = 16 << 30

# A voice may take this many times as long as the first one, and some seconds.
_SLOWER, _SECONDS, _FIRST_SECONDS = 20.0, 20.0, 300.0

_MOVES = 4
_SAME_AT_MOST = 0.01  # relative error that rounding explains at most
_FILL_FREED = -6  # M_PERTURB of mallopt
_PATTERN = 0xA5


class Voice(NamedTuple):
    """One way to compute a program.

    Attributes:
        name: Name in reports.
        plan: Plan of jaxlib; None for an engine.
        engine: The engine; None for jaxlib.
        rank: Voices of a higher rank are believed against those of lower ranks.
    """

    name: str
    plan: Plan | None = None
    engine: EngineName | None = None
    rank: int = 0


DEFAULT = Voice("jaxlib's default", Plan())
"""The voice that is judged."""

_PLAIN_NAME, _OLDER_NAME = "jaxlib without library fusions", "jaxlib with its older emitters"
_UNFUSED_NAME = "jaxlib without fusions"
_ENGINE = Voice("the engine's XLA", engine="compiled")
_EVALUATOR = Voice("XLA's evaluator", engine="evaluator", rank=2)


def plain_plan(program: Program) -> Plan:
    """Returns the plan of the plain reference, whose code is not that of the default.

    It has no library fusions; a program without any is compiled with jaxlib's older emitters.
    """
    if _OF_LIBRARIES.intersection(program.flow.opcodes):
        return _plan(program, {LIBRARIES: ""}, _PLAIN_NAME)
    return _older_plan(program)


def _older_plan(program: Program) -> Plan:
    support = flag_support()
    if support is None or _OLDER_EMITTERS not in support.without_effect:
        return _plan(program, {LIBRARIES: "", _OLDER_EMITTERS: True}, _OLDER_NAME)
    return _plan(program, {LIBRARIES: "", "xla_disable_hlo_passes": "fusion"}, _UNFUSED_NAME)


def _plan(program: Program, flags: Mapping[str, FlagValue], method: str) -> Plan:
    fingerprint = program.fingerprint
    return Plan(program.name, fingerprint, flags=flags, numerics="close", method=method)


def voices_of(program: Program) -> list[tuple[Voice, ...]]:
    """Returns the voices that a program has, in the rounds in which they are asked."""
    plain, older = plain_plan(program), _older_plan(program)
    plans = {plain.digest, older.digest}
    mended = [fault for fault in faults_of(program.flow) if fault.plan.digest not in plans]
    engines = (_ENGINE, _EVALUATOR) if has_engine() else ()
    return [
        (Voice(plain.method, plain), DEFAULT),
        tuple(Voice(f"jaxlib, {f.plan.method} ({f.name})", f.plan, rank=1) for f in mended),
        engines,
        () if older.digest == plain.digest else (Voice(older.method, older),),
    ]


@dataclass(frozen=True)
class WrongElements:
    """Elements of an output that are not those of the references.

    Attributes:
        output: Number of the output.
        count: How many elements are wrong.
        size: Number of elements of the output.
        index: Index of the first of them.
        value: Its value.
        expected: The value of the references.
        kernel: The instruction of jaxlib's final module that computes the output.
    """

    output: int
    count: int
    size: int
    index: tuple[int, ...]
    value: str
    expected: str
    kernel: str = ""

    def __str__(self) -> str:
        kernel = f", by {self.kernel}" if self.kernel else ""
        return (
            f"output {self.output}: {self.count:,} of {self.size:,} elements{kernel}; the first at "
            f"{self.index}: {self.value} instead of {self.expected}"
        )


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


class Answers(NamedTuple):
    """What voices came to, compared with each other.

    Attributes:
        errors: Errors of voices that did not speak, by name.
        verdicts: The verdict on each two voices that spoke.
        wrong: Elements of the default that are not those of another voice, by its name.
        unstable: True if the default differs from itself.
    """

    errors: dict[str, str]
    verdicts: dict[frozenset[str], Verdict]
    wrong: dict[str, list[WrongElements]]
    unstable: bool

    def agree(self, first: str, second: str) -> bool:
        """Returns True if two voices spoke and differ at most by rounding."""
        return first == second or self._verdict(first, second) in ("equal", "close")

    def differ(self, first: str, second: str) -> bool:
        """Returns True if two voices spoke and differ by more than rounding."""
        return first != second and self._verdict(first, second) == "different"

    def _verdict(self, first: str, second: str) -> Verdict:
        return self.verdicts.get(frozenset((first, second)), "not comparable")


class VoiceWorker:
    """Runs voices on the inputs of one sample and compares them, in its process.

    Args:
        job: The program and its inputs.
        sample: Name of the usual sample; empty for the first one.
        recorder: Records each operation that may end the process.
    """

    def __init__(self, job: Job, sample: str, recorder: FlightRecorder) -> None:
        self._program, self._recorder = job.program, recorder
        samples = Samples(job.program, job.given, job.seed)
        named = {each.name: each for each in samples.usual}
        self._inputs = named.get(sample, samples.usual[0]).inputs
        self._flow = samples.flow
        self._signature = job.program.signature
        self._epsilon = largest_epsilon(self._signature)
        self._error = rounding_error(samples.flow)
        self._runners: dict[Voice, Any] = {}
        self._outputs: dict[str, list[Array]] = {}
        self._errors: dict[str, str] = {}
        self._sensitivity: dict[Voice, list[Sensitivity]] = {}
        self._limit, self._unstable, self._kernels = _FIRST_SECONDS, False, []

    def ask(self, voices: Sequence[Voice]) -> Answers:
        """Returns what voices come to. Those that spoke before are not run again."""
        for voice in voices:
            if voice.name not in self._outputs and voice.name not in self._errors:
                limit = self._limit if voice.engine is None else min(self._limit, _LONGEST)
                with lock.compiling(), self._recorder.noted(voice.name.encode(), limit):
                    self._run(voice)
        spoke = [voice for voice in voices if voice.name in self._outputs]
        verdicts: dict[frozenset[str], Verdict] = {
            frozenset((a.name, b.name)): self._compared(a.name, b.name)
            for a, b in itertools.combinations(spoke, 2)
        }
        wrong = {
            voice.name: self._wrong(voice.name)
            for voice in spoke
            if verdicts.get(frozenset((DEFAULT.name, voice.name))) == "different"
        }
        return Answers(dict(self._errors), verdicts, wrong, self._unstable)

    def outputs_of(self, voice: Voice) -> list[Array]:
        """Returns what a voice comes to; nothing if it does not speak."""
        self.ask([voice])
        return self._outputs.get(voice.name, [])

    def _run(self, voice: Voice) -> None:
        operation = self._recorder.operation
        try:
            run = self._runner(voice)
            outputs = run(self._inputs)
        except (HloError, RuntimeError) as error:
            self._errors[voice.name] = death_of(error)
            return
        expected = [(spec.dims, dtype_of(spec.element_type)) for spec in self._signature.results]
        if [(array.shape, array.dtype) for array in outputs] != expected:
            self._errors[voice.name] = "has outputs of other shapes or types"
            return
        self._runners[voice], self._outputs[voice.name] = run, outputs
        if self._limit == _FIRST_SECONDS and operation is not None:
            now = self._recorder.operation
            self._limit = _SECONDS + _SLOWER * (now.seconds if now else 0.0)
        if voice == DEFAULT:
            with _filling_freed_memory():
                again = run(self._inputs)
            self._unstable = self._verdict(outputs, again) == "different"

    def _runner(self, voice: Voice) -> Any:
        if voice.plan is not None:
            executable = compile_program(self._program, voice.plan)
            if voice == DEFAULT:
                self._kernels = _kernels(executable)
            donated = self._program.donated
            return lambda inputs: Run(executable, inputs, donated).outputs()
        assert voice.engine is not None
        if voice.engine == "compiled" and (reasons := obstacles(self._flow, voice.engine)):
            raise HloError("; ".join(reasons))
        module = self._program.module()
        if voice.engine == "evaluator" and sum(self._flow.elements) > _EVALUATED:
            raise HloError(f"it has more than {_EVALUATED:.0e} elements to compute one by one")
        return make_runner(voice.engine, module, signature_of(module), _LIMITS)

    def _compared(self, first: str, second: str) -> Verdict:
        """Returns the verdict on two voices that spoke; see ``_verdict``."""
        return self._verdict(self._outputs[first], self._outputs[second])

    def _verdict(self, first: list[Array], second: list[Array]) -> Verdict:
        """Returns the verdict on the outputs of two voices.

        Outputs that differ by less than one part in a hundred are close, whatever the estimate of
        their rounding says: another precision is no fault.
        """
        worst: Verdict = "equal"
        for number, spec in enumerate(self._signature.results):
            measured = difference(first[number], second[number], spec.element_type)
            if not measured.bitwise:
                sensitive = self._sensitive(number)
                verdict = judge(number, measured, sensitive, self._error, self._epsilon).verdict
                if verdict == "different" and not _apart(first[number], second[number]).any():
                    verdict = "close"
                worst = RANK[max(RANK.index(worst), RANK.index(verdict))]
        return worst

    def _sensitive(self, output: int) -> Sensitivity:
        """Returns how much an output changes when the inputs move.

        A voice that reads wrong memory changes whenever it runs, which says nothing of the program.
        So the voices that avoid a known fault say it, or else all but the default.
        """
        compiled = [voice for voice in self._runners if voice.engine != "evaluator"]
        highest = max(voice.rank for voice in compiled)
        trusted = [voice for voice in compiled if voice.rank == highest and voice != DEFAULT]
        moved = [self._moved(voice)[output] for voice in trusted or compiled]
        return Sensitivity(*map(max, zip(*moved, strict=True)))

    def _moved(self, voice: Voice) -> list[Sensitivity]:
        if voice not in self._sensitivity:
            moves = range(_MOVES if self._epsilon else 0)
            with lock.compiling(), self._recorder.noted(voice.name.encode(), self._limit):
                moved = [
                    self._runners[voice](perturbed(self._inputs, self._signature.parameters, seed))
                    for seed in moves
                ]
            outputs = self._outputs[voice.name]
            self._sensitivity[voice] = sensitivity(outputs, moved, self._signature)
        return self._sensitivity[voice]

    def _wrong(self, right: str) -> list[WrongElements]:
        """Returns the elements of the default that are not those of another voice."""
        found = []
        pairs = zip(self._outputs[DEFAULT.name], self._outputs[right], strict=True)
        for number, (array, expected) in enumerate(pairs):
            mask = _apart(array, expected)
            if not mask.any():
                continue
            index = tuple(int(place) for place in np.argwhere(mask)[0])
            kernel = self._kernels[number] if number < len(self._kernels) else ""
            values = f"{array[index]}", f"{expected[index]}"
            count = int(mask.sum())
            found.append(WrongElements(number, count, array.size, index, *values, kernel))
        return found


def _apart(array: Array, expected: Array) -> Array:
    """Returns where two arrays differ by more than rounding can explain."""
    if is_integral(array):
        return array != expected
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    a, b = array.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = root_mean_square(np.abs(b[np.isfinite(b)]))
        near = np.abs(a - b) <= _SAME_AT_MOST * np.maximum(np.abs(b), scale)
    return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def _kernels(executable: Any) -> list[str]:
    """Returns the instruction of the final module that computes each output."""
    (module,) = executable.hlo_modules()
    _, computations = read_module(module.to_string())
    entry = next(each for each in computations if each.is_entry)
    root = next(each for each in entry.instructions if each.is_root)
    return list(root.operands) if root.opcode == "tuple" else [root.name]


@contextlib.contextmanager
def _filling_freed_memory() -> Iterator[None]:
    """Fills memory with a pattern when it is allocated or freed, so that a wrong read shows it."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if mallopt is None:
        yield
        return
    mallopt(_FILL_FREED, _PATTERN)
    try:
        yield
    finally:
        mallopt(_FILL_FREED, 0)


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


def death_of(error: BaseException) -> str:
    """Returns what becomes of a voice that does not live, as the rest of a sentence."""
    if not isinstance(error, WorkerLostError):
        return f"does not run: {str(error).splitlines()[0]}"
    words = f"{error} {failed_check(error.output)}".strip()
    if isinstance(error, WorkerTimedOutError):
        return f"takes too long: {words}"
    if isinstance(error, WorkerOutOfMemoryError):
        return f"runs out of memory: {words}"
    return f"ends the process: {words}"


class _Judge:
    """Asks voices in rounds, and those that are left again after one has ended the process."""

    def __init__(self, job: Job, dead: str, sample: str) -> None:
        self._program = job.program
        self._dead: dict[str, str] = {DEFAULT.name: dead} if dead else {}
        self._faults = [fault.name for fault in faults_of(job.program.flow)]
        make = partial(VoiceWorker, job, sample)
        limits = WorkerLimits(seconds=_FIRST_SECONDS, memory=_MEMORY)
        self._worker = Remote(make, limits, ("hlograph.measuring.references",))
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
            if decided is not None and (not doubtful or _ENGINE in voices):
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
