"""Runs a program by all implementations, and says what each of them comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hlograph.comparing.module_cuts import text_of as text_to_cut
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner, obstacles
from hlograph.isolation import FlightRecorder
from hlograph.measuring.implementation_worker import Answers, ImplementationWorker
from hlograph.measuring.implementations import (
    Implementation,
    implementations_of,
    last_resort,
)
from hlograph.measuring.references import Vote
from hlograph.measuring.trial import Job
from hlograph.module import Module
from hlograph.plans import Program
from hlograph.plans.known_faults import faults_of
from hlograph.reading.hlo_editing import Instruction
from hlograph.reading.hlo_text import array_shape
from tests.campaigns.random_programs.inputs import Kind, inputs_of

_SECONDS = 60.0  # of the first implementation; others have more, by what it took

Verdict = str
"""``agrees``, ``differs``, ``dies`` or ``no reference``, as in references; or ``not run``."""


@dataclass(frozen=True)
class JudgingTask:
    """A program, and those of its implementations that are known to end the process.

    Attributes:
        name: Name of the program, in its campaign.
        source: HLO text, or a serialized module.
        seed: Seed of the inputs.
        is_special: True takes inputs with extremes of their types.
        dead: Why implementations do not live, by name.
        without: Kinds of special numbers that inputs do not have.
        whole: The program that this one is a part of. The seed is then of its inputs, and the
            inputs of the part are what the whole computes under their names.
        few_passes: True asks jaxlib with few passes, too.
    """

    name: str
    source: str | bytes
    seed: int
    is_special: bool
    dead: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[Kind] = frozenset()
    whole: str | bytes = ""
    few_passes: bool = False


@dataclass(frozen=True)
class Judged:
    """Holds what the implementations of a program come to.

    Attributes:
        verdict: Verdict of the references on jaxlib's default.
        reason: The reason in words.
        results: Result of each implementation: ``right``, ``wrong``, ``not comparable``, ``not
            decided``, or why it has none.
        is_equal: True if all outputs have the same bits.
        alone: Name of the only implementation that all others, at least two, differ from while they
            agree with each other; empty if there is none.
        faults: Names of known faults that the program may meet.
        opcodes: Opcodes of the program; empty if it could not be read.
    """

    verdict: Verdict
    reason: str
    results: Mapping[str, str] = field(default_factory=dict)
    is_equal: bool = False
    alone: str = ""
    faults: tuple[str, ...] = ()
    opcodes: tuple[str, ...] = ()


def make_worker(recorder: FlightRecorder) -> Callable[[JudgingTask], Judged]:
    """Returns the function that judges programs in a worker process."""

    def perform(task: JudgingTask) -> Judged:
        try:
            program = Program.of(task.source)
            if reasons := obstacles(program.flow, "evaluator"):
                return Judged("not run", "; ".join(reasons))
            given = _given(program, task)
            worker = ImplementationWorker(Job(program, given), "", recorder, _SECONDS)
        except (HloError, RuntimeError) as error:
            return Judged("not run", str(error).strip().splitlines()[0])
        more = (last_resort(program),) if task.few_passes else ()
        return judged(program, worker, task.dead, more)

    return perform


def _given(program: Program, task: JudgingTask) -> list[Array]:
    """Returns the inputs of a program."""
    flow, settings = program.flow, (task.seed, task.is_special, task.without)
    drawn = inputs_of(flow, program.signature.parameters, *settings)
    if not task.whole:
        return drawn
    values = _values_in(task.whole, *settings)
    nodes = [node for _, node in sorted(flow.parameters[flow.entry].items())]
    given = [
        values.get(flow.instructions[node].name, array)
        for node, array in zip(nodes, drawn, strict=True)
    ]
    alike = [(a.shape, a.dtype) == (b.shape, b.dtype) for a, b in zip(given, drawn, strict=True)]
    return given if all(alike) else drawn


@lru_cache(maxsize=2)
def _values_in(
    whole: str | bytes, seed: int, is_special: bool, without: frozenset[Kind]
) -> dict[str, Array]:
    program = Program.of(whole)
    parameters = program.signature.parameters
    return values_of(program, inputs_of(program.flow, parameters, seed, is_special, without))


def values_of(program: Program, inputs: list[Array]) -> dict[str, Array]:
    """Returns the arrays that the instructions of a program's entry compute, by their names.

    Raises:
        HloError: XLA's evaluator does not run the program.
    """
    text = text_to_cut(program)
    entry = text.entry
    names = [op.name for op in entry.instructions if array_shape(op.shape) is not None]
    shape = f"({', '.join(entry.by_name[name].shape for name in names)})"
    for op in entry.instructions:
        op.is_root = False
    entry.instructions.append(
        Instruction(text.fresh("values"), shape, "tuple", list(names), is_root=True)
    )
    module = Module.from_text(str(text))
    run = make_runner("evaluator", module, signature_of(module), Limits())
    return dict(zip(names, run(inputs), strict=True))


def judged(
    program: Program,
    worker: ImplementationWorker,
    dead: Mapping[str, str],
    more: Sequence[Implementation] = (),
) -> Judged:
    """Asks all implementations of a program that live.

    Args:
        program: The program.
        worker: Runs implementations on its inputs.
        dead: Why some of them do not live, by name.
        more: Implementations that are asked, too.
    """
    asked = [each for some in (*implementations_of(program), more) for each in some]
    answers = worker.ask([each for each in asked if each.name not in dead])
    vote = Vote.of(asked, dead, answers)
    judgement = vote.decision() or vote.undecided()
    names = [each.name for each in vote.ran]
    verdicts = answers.verdicts.values()
    return Judged(
        judgement.verdict,
        judgement.reason,
        dict.fromkeys(names, "not decided") | dict(judgement.implementations),
        all(verdict == "equal" for verdict in verdicts) and not judgement.unstable,
        _alone(names, answers),
        tuple(fault.name for fault in faults_of(program.flow)),
        tuple(sorted(set(program.flow.opcodes))),
    )


def _alone(names: list[str], answers: Answers) -> str:
    """Returns the implementation that all others differ from; see ``Judged``."""
    for name in names:
        others = [other for other in names if other != name]
        agree = all(answers.agree(others[0], other) for other in others[1:])
        if len(others) >= 2 and agree and all(answers.differ(name, other) for other in others):
            return name
    return ""
