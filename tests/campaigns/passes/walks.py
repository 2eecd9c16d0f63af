"""Random walks over XLA's passes on one module: their order, all checks, and repetitions."""

import os
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from hlograph import Module, passes
from hlograph.corpus import Benchmark
from hlograph.errors import HloError, PassError
from hlograph.isolation import FlightRecorder
from tests.campaigns.framework.module_sets import load
from tests.campaigns.framework.tasks import noted
from tests.campaigns.passes.checks import CheckedModule, note_of
from tests.campaigns.passes.heap import in_use, leak_per_call
from tests.campaigns.passes.records import (
    Finding,
    FindingError,
    Tally,
    Visit,
    VisitResult,
    WalkRecord,
)

_SECONDS_PER_WALK = 120


def replay_in_fresh_interpreter(records: Sequence[WalkRecord]) -> tuple[list[Finding], int]:
    """Repeats walks in one new interpreter.

    Returns:
        Findings of walks that ended differently, and the number of repeated walks. A walk that ends
        the interpreter, raises an exception or takes longer than two minutes is the last finding.
    """
    context = get_context("spawn")
    answers, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_replay, args=(records, theirs), daemon=True)
    process.start()
    theirs.close()
    findings: list[Finding] = []
    try:
        for done, record in enumerate(records):
            why = _failure(process, answers, findings)
            if why:
                text = f"a fresh interpreter, at this walk: {why}"
                return [*findings, Finding("crash", record.benchmark, record.passes, text)], done
    finally:
        process.kill()
        process.join()
    return findings, len(records)


def _failure(process: BaseProcess, answers: Connection, findings: list[Finding]) -> str:
    """Waits for the next answer, adds its finding, and returns the reason if there is none."""
    if not answers.poll(_SECONDS_PER_WALK):
        return "it did not end in time"
    try:
        answer = answers.recv()
    except EOFError:
        process.join()
        return f"exit status {process.exitcode}"
    if isinstance(answer, str):
        return answer
    findings += [answer] if answer else []
    return ""


def _replay(records: Sequence[WalkRecord], answers: Connection) -> None:
    """Repeats walks and sends for each a finding or None, or the text of an exception."""
    recorder = FlightRecorder()
    for record in records:
        try:
            answers.send(repeat(record, load(record.benchmark), recorder, Tally()))
        except Exception as error:  # whatever a walk raises is a finding
            answers.send(repr(error))


_RARELY = 1_500  # instructions from which loading takes longer than walking
_MOST_ROUNDS = 4


def add_seen(seen: dict[int, int], other: Mapping[int, int]) -> None:
    """Adds pairs of pass and opcode set to others; both as in `Visit.seen`."""
    for opcodes, met in other.items():
        seen[opcodes] = seen.get(opcodes, 0) | met


class Plan:
    """Endless rounds over the modules.

    A round visits each module once (a large one in every second to fourth round) in its own random
    order. A visit knows the opcode sets that earlier rounds met in walks from the same module, with
    all passes that ran on them in walks from any module. The walks therefore depend on the seed
    alone, not on the number of workers or their speed.

    Args:
        benchmarks: The modules.
        seed: Seed of the campaign.

    Attributes:
        seen: Passes that ran on a module of an opcode set, as in `Visit.seen`.
    """

    def __init__(self, benchmarks: Sequence[Benchmark], seed: int) -> None:
        self._benchmarks, self._seed = benchmarks, seed
        self.seen: dict[int, int] = {}
        self._met: dict[str, set[int]] = defaultdict(set)
        self._records: dict[str, tuple[WalkRecord, ...]] = {}

    def round(self, number: int) -> list[Visit]:
        """Returns the visits of a round; the results of the round before must have been added."""
        visits = []
        for index, benchmark in enumerate(self._benchmarks):
            if (number + index) % _rounds_between(benchmark.op_count) == 0:
                name = benchmark.name
                seen = {opcodes: self.seen[opcodes] for opcodes in self._met[name]}
                replays = self._records.pop(name, ())
                visits.append(Visit(name, f"{self._seed}/{number}/{name}", seen, replays))
        random.Random(f"{self._seed}/{number}").shuffle(visits)
        return visits

    def add_round(self, results: Sequence[tuple[Visit, VisitResult]]) -> list[WalkRecord]:
        """Adds the results of a round.

        Returns:
            The first walk of each visit, to be repeated in a fresh interpreter. The second is
            repeated in the next round.
        """
        fresh = []
        for visit, result in results:
            add_seen(self.seen, result.seen)
            self._met[visit.benchmark] |= result.seen.keys()
            self._records[visit.benchmark] = tuple(result.records[1:2])
            fresh += result.records[:1]
        return fresh


def _rounds_between(op_count: int) -> int:
    return max(1, min(_MOST_ROUNDS, op_count // _RARELY))


LONGEST_WALK = 50
_INSTRUCTIONS_OF_A_WALK = 60_000  # steps x instructions: large modules get short walks
_INSTRUCTIONS_OF_A_VISIT = 100_000

DEEP = 0.4
"""Share of deep walks, which prefer passes that changed a module in this visit. The others are wide
walks, which prefer passes that have not run on a module of this opcode set."""

PREFERRED = 0.8
"""Probability that a pass is drawn from those that the walk prefers, and not from all."""

FORKED, ROUND_TRIPPED, PROBED = 0.25, 0.1, 0.1
"""Shares of walks that are forked, checked with text and proto, and searched for leaks."""

GROWTH = 4
"""A walk ends when the module has grown by this factor, and by a thousand instructions."""

LEAK_OF_A_WALK = 16_384
LEAK_OF_A_CALL = 512
"""Bytes. Less is noise of the allocator: at most 320 for a pass that leaks nothing."""


def longest_walk(op_count: int) -> int:
    """Returns the steps of the longest walk from a module of that many instructions."""
    return max(3, min(LONGEST_WALK, _INSTRUCTIONS_OF_A_WALK // op_count))


def walks_of_visit(op_count: int) -> int:
    """Returns the number of walks of a visit to a module of that many instructions."""
    mean = (1 + longest_walk(op_count)) / 2
    return max(1, min(30, int(_INSTRUCTIONS_OF_A_VISIT / (op_count * mean))))


class Visitor:
    """Does visits, in a worker process.

    Args:
        recorder: Where calls into XLA are noted.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder

    def __call__(self, visit: Visit) -> VisitResult:
        """Walks from a module, and repeats earlier walks from it."""
        result = VisitResult(pid=os.getpid(), heap=in_use())
        rng = random.Random(visit.seed)
        start = load(visit.benchmark)
        for _ in range(walks_of_visit(start.op_count)):
            _Walk(visit, start, rng, self._recorder, result).run()
        for record in visit.replays:
            finding = repeat(record, start, self._recorder, result.tally)
            result.findings += [finding] if finding else []
        return result


def repeat(
    record: WalkRecord, start: Module, recorder: FlightRecorder, tally: Tally
) -> Finding | None:
    """Repeats all pass calls of a walk, and compares each op count and the last fingerprint."""
    module = start.clone()
    for number, (name, expected) in enumerate(zip(record.passes, record.op_counts, strict=True)):
        done = record.passes[: number + 1]
        try:
            with noted(recorder, note_of(record.benchmark, "pass", done)):
                module.run(passes[name])
        except PassError:
            pass  # the recorded walk had the same error, or the op counts will differ
        tally.calls += 1
        if module.op_count != expected:
            text = f"{module.op_count} instructions in another process, expected {expected}"
            return Finding("non-determinism", record.benchmark, done, text)
    tally.replays_elsewhere += record.pid != os.getpid()
    if module.fingerprint() == record.fingerprint:
        return None
    text = f"fingerprint {module.fingerprint()} in another process, expected {record.fingerprint}"
    return Finding("non-determinism", record.benchmark, record.passes, text)


class _Walk:
    """Walk that draws passes and checks the module after each one and at the end."""

    def __init__(
        self,
        visit: Visit,
        start: Module,
        rng: random.Random,
        recorder: FlightRecorder,
        result: VisitResult,
    ) -> None:
        self._visit, self._start, self._rng, self._result = visit, start, rng, result
        self._tally = result.tally
        self._deep = rng.random() < DEEP
        self._checked = CheckedModule(visit.benchmark, start, recorder, rng, self._tally)

    def run(self) -> None:
        """Walks; a finding ends the walk and is added to the result."""
        self._tally.walks += 1
        try:
            self._take_steps()
            self._check_end()
        except FindingError as error:
            self._result.findings.append(error.finding)
        except HloError as error:
            self._result.findings.append(self._checked.found("engine error", repr(error)).finding)

    def _take_steps(self) -> None:
        length = self._rng.randint(1, longest_walk(self._start.op_count))
        fork_at = self._rng.randrange(length) if self._rng.random() < FORKED else None
        limit = max(GROWTH * self._start.op_count, self._start.op_count + 1_000)
        done = 0
        while done < length:
            if done == fork_at:
                names = [self._draw() for _ in range(min(length - done, self._rng.randint(1, 5)))]
                self._checked.check_fork(names)
            else:
                names = [self._draw()]
                self._checked.run(names[0])
            done += len(names)
            self._tally.steps += len(names)
            if self._checked.op_count > limit:
                self._tally.outgrown += 1
                return

    def _draw(self) -> str:
        """Returns the next pass and notes that it met the current opcode set."""
        opcodes = self._checked.opcodes
        met = self._visit.seen.get(opcodes, 0) | self._result.seen.get(opcodes, 0)
        if self._deep:
            preferred = [passes.index(name) for name in self._tally.changes]
        else:
            preferred = [number for number in range(len(passes)) if not met >> number & 1]
        prefers = preferred and self._rng.random() < PREFERRED
        number = self._rng.choice(preferred if prefers else range(len(passes)))
        add_seen(self._result.seen, {opcodes: 1 << number})
        return passes[number].name

    def _check_end(self) -> None:
        checked = self._checked
        if checked.changing:
            checked.verify()
            grown = leak_per_call(checked.check_replay, calls=1, rounds=1)
            if grown > LEAK_OF_A_WALK:
                grown = leak_per_call(checked.replay, calls=2)
            if grown > LEAK_OF_A_WALK:
                raise checked.found("leak", f"{grown:.0f} bytes each time that it is repeated")
        if self._rng.random() < ROUND_TRIPPED:
            checked.check_round_trips()
        if checked.changing and self._rng.random() < PROBED:
            self._probe(self._rng.randrange(len(checked.changing)))
        self._result.records.append(
            WalkRecord(
                self._visit.benchmark,
                tuple(checked.passes),
                tuple(checked.op_counts),
                checked.fingerprint,
                os.getpid(),
            )
        )

    def _probe(self, number: int) -> None:
        """Repeats one of the passes that changed the module, on clones of the state before it."""
        before = self._start.clone()
        *earlier, name = self._checked.changing[: number + 1]
        for other in earlier:
            before.run(other)
        self._tally.leak_probes[name] += 1
        grown = leak_per_call(lambda: before.clone().run(name), calls=8)
        if grown > LEAK_OF_A_CALL:
            text = f"{grown:.0f} bytes for each call of {name}"
            raise FindingError(Finding("leak", self._visit.benchmark, (*earlier, name), text))
