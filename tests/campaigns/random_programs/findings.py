"""Findings about programs: what kind they are, their smallest part, and what explains them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hlograph.comparing.minimising import Minimiser
from hlograph.comparing.module_cuts import text_of as text_to_cut
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import WorkerLimits, WorkerPool
from hlograph.measuring.implementations import death_of
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.reading.hlo_text import read_module
from tests.campaigns.random_programs import control
from tests.campaigns.random_programs.builder import COMPLEX, INTEGERS
from tests.campaigns.random_programs.inputs import KINDS, Kind
from tests.campaigns.random_programs.judged import Judged, JudgingTask, make_worker

_SLOW = "takes too long"
_DEATHS = ("ends the process", _SLOW, "runs out of memory")
_MOST_DEAD = 6
_LIKE_DEFAULT = "no library fusions"
_SEEDS = 2  # of the inputs of a part, which shows a finding with any of them
_TRIVIAL = frozenset({"parameter", "constant", "iota", "tuple", "get-tuple-element"})
LIMITS = WorkerLimits(seconds=120.0, idle_seconds=600.0, memory=8 << 30)
"""Limits of a process that judges programs."""

SHORT: Mapping[str, str] = {
    "jaxlib's default": "default",
    "jaxlib without library fusions": "no library fusions",
    "jaxlib with its older emitters": "older emitters",
    "jaxlib without fusions": "no fusions",
    "jaxlib with few passes": "few passes",
    "the engine's XLA": "engine",
    "XLA's evaluator": "evaluator",
}
"""Short names of implementations."""


def kind_of(judged: Judged) -> str:
    """Returns the kind of a result: what is wrong with which implementations.

    It is ``agree``, ``rounding``, ``not run``, ``undecided``, or one of ``dies: NAMES``, ``alone:
    NAME`` and ``wrong: NAMES``.
    """
    results = {SHORT.get(name, name): words for name, words in judged.results.items()}
    dead = {name for name, words in results.items() if words.startswith(_DEATHS)}
    if results.get("evaluator", "").startswith(_SLOW):
        dead.discard("evaluator")  # it computes one element at a time
    wrong = {name for name, words in results.items() if words == "wrong"}
    for names in (dead, wrong):
        if "default" in names:
            names.discard(_LIKE_DEFAULT)  # some parts do not have it
    ran = [words for words in results.values() if not words.startswith(("does not run", "has"))]
    if dead:
        return f"dies: {', '.join(sorted(dead))}"
    if judged.alone:
        return f"alone: {SHORT.get(judged.alone, judged.alone)}"
    if wrong:
        return f"wrong: {', '.join(sorted(wrong))}"
    if judged.verdict == "differs":
        return "wrong: default"  # it differs from itself
    if len(ran) < 2:
        return "not run"
    if " differ, and nothing decides" in judged.reason:
        return "undecided"
    return "agree" if judged.is_equal else "rounding"


def is_finding(kind: str) -> bool:
    """Returns True if a kind asks for an explanation."""
    return kind not in ("agree", "rounding", "not run")


def after_loss(task: JudgingTask, lost: WorkerLostError) -> JudgingTask | Judged:
    """Returns what is to be done after a process was lost: the rest of the task, or its result."""
    name = (lost.note or b"").decode()
    if name and name not in task.dead and len(task.dead) < _MOST_DEAD:
        return replace(task, dead={**task.dead, name: death_of(lost)})
    return Judged("not run", f"the process is lost: {death_of(lost)}", task.dead)


Ask = Callable[[JudgingTask], Judged]
"""Function that judges a program."""


class Judge:
    """Judges one program at a time, in a process that is replaced when it is lost."""

    def __init__(self) -> None:
        self._pool = WorkerPool(make_worker, 1, LIMITS, (make_worker.__module__,))

    def __call__(self, task: JudgingTask) -> Judged:
        """Returns what the implementations of a program come to."""
        while True:
            ((_, answer),) = self._pool.map([task])
            if not isinstance(answer, WorkerLostError):
                return answer
            following = after_loss(task, answer)
            if isinstance(following, Judged):
                return following
            task = following

    def close(self) -> None:
        """Ends the process."""
        self._pool.close()


@dataclass(frozen=True)
class Explained:
    """A finding in its smallest part.

    Attributes:
        name: Name of the program that it is part of.
        kind: The kind; see ``kind_of``.
        text: HLO text of the part.
        operations: Opcodes of the part that compute something, with their element types.
        seed: Seed of its inputs, or of those of the program whose values are its inputs.
        needs: Kinds of special numbers without which the finding is gone; None if it is there with
            usual inputs, too.
        reason: The judgement in words.
        results: Result of each implementation; see ``Judged``.
        by_passes: True if jaxlib with few passes agrees with XLA's evaluator, against the default.
    """

    name: str
    kind: str
    text: str
    operations: tuple[str, ...]
    seed: int
    needs: tuple[Kind, ...] | None
    reason: str
    results: Mapping[str, str] = field(default_factory=dict)
    by_passes: bool = False

    @property
    def rule(self) -> str:
        """Why the result is not defined; empty if nothing says so."""
        opcodes = [each.split()[0] for each in self.operations]
        is_reduction = opcodes == ["reduce"]
        if opcodes == ["select-and-scatter"] and _has_window_of_padding(self.text):
            return _PADDED
        if self.by_passes and (self.needs is not None or is_reduction):
            return _FORMULA
        return rule_of(self.operations, self.needs)

    @property
    def group(self) -> tuple[str, tuple[str, ...], tuple[Kind, ...] | None]:
        """Key of findings that are taken for the same."""
        return self.kind, self.operations, self.needs


def explained(
    judge: Ask, task: JudgingTask, kind: str, earlier: Sequence[Explained], seconds: float
) -> Explained:
    """Looks for the smallest part of a program that has a finding, and explains it.

    Args:
        judge: Judges parts.
        task: The program and its inputs.
        kind: The kind of the finding.
        earlier: Findings before it, whose instructions are suspected first.
        seconds: Time after which no further part is judged.
    """
    program = Program.of(task.source)
    shown: dict[str, tuple[JudgingTask, Judged]] = {}

    def shows(part: Program) -> bool:
        text = text_of(part.hlo)
        of_part = replace(task, source=text, dead={})
        # What the program computes within shows it most often, but random inputs are simpler.
        drawn = (replace(of_part, seed=seed) for seed in range(_SEEDS))
        for each in (replace(of_part, whole=task.source), *drawn):
            answer = judge(each)
            if kind_of(answer) == kind:
                shown[text] = each, answer
                return True
        return False

    try:
        module = text_to_cut(program)
        part = Minimiser(module, shows, seconds).smallest(list(_suspects(program, earlier)))
    except HloError:
        part = None
    text = text_of(part.program.hlo if part else program.hlo)
    if text not in shown:
        shown[text] = task, judge(replace(task, dead={}))
    of_part, answer = shown[text]
    of_part = replace(of_part, dead={})
    passes = judge(replace(of_part, few_passes=True)).results
    right = {SHORT.get(name, name) for name, words in passes.items() if words == "right"}
    return Explained(
        task.name,
        kind,
        text,
        operations_of(text),
        of_part.seed,
        _needs(judge, of_part, kind),
        answer.reason,
        answer.results,
        {"few passes", "evaluator"} <= right and "default" not in right,
    )


def _has_window_of_padding(text: str) -> bool:
    """Returns True if a window is at least as small as the padding before or after a dimension."""
    for size, padding in re.findall(r"window=\{size=([\dx]+)[^}]*?pad=([-\dx_]+)", text):
        edges = [tuple(map(int, pair.split("_"))) for pair in padding.split("x")]
        sizes = map(int, size.split("x"))
        if any(max(pair) >= length for pair, length in zip(edges, sizes, strict=True)):
            return True
    return False


def _suspects(program: Program, earlier: Sequence[Explained]) -> Iterator[frozenset[str]]:
    """Yields single instructions, those first that had a finding before."""
    suspected = {operation for finding in earlier for operation in finding.operations}
    flow = program.flow
    computing = [op for op in flow.instructions if op.opcode not in _TRIVIAL]
    computing.sort(key=lambda op: _operation(op.opcode, op.shape) not in suspected)
    yield from (frozenset({op.name}) for op in computing)


def operations_of(text: str) -> tuple[str, ...]:
    """Returns the opcodes that compute something, with element types of results, sorted.

    Those of called computations are left out, but for bodies of calls, maps, loops and branches.
    """
    _, computations = read_module(text)
    called = {op.opcode for each in computations if each.is_entry for op in each.instructions}
    all_of_them = bool(called & control.DRAWS.keys())
    instructions = [
        op
        for each in computations
        if each.is_entry or all_of_them
        for op in each.instructions
        if op.opcode not in _TRIVIAL
    ]
    shapes = {op.name: op.shape for each in computations for op in each.instructions}
    operations = set()
    for op in instructions:
        operand = op.operands[0] if op.operands else ""
        before = _operation("", shapes.get(operand, "")).strip()
        name = _operation(op.opcode, op.shape)
        is_cast = op.opcode in ("convert", "bitcast-convert", "compare", "is-finite")
        operations.add(f"{name} of {before}" if is_cast else name)
    return tuple(sorted(operations))


def _operation(opcode: str, shape: str) -> str:
    matched = re.match(r"\(?\s*(\w+)\[", shape)
    return f"{opcode} {matched[1] if matched else ''}"


def _needs(judge: Ask, task: JudgingTask, kind: str) -> tuple[Kind, ...] | None:
    """Returns the kinds of special numbers that a finding needs; see ``Explained``."""
    if not task.is_special:
        return None
    if kind_of(judge(replace(task, without=frozenset(KINDS)))) == kind:
        return None
    return tuple(
        each
        for each in KINDS
        if each not in task.without
        and kind_of(judge(replace(task, without=task.without | {each}))) != kind
    )


_DIVISION = "integer division by zero, or of the least number by -1"
_RANGE = "a float that the integer type does not have"
_DENORMAL = "denormal numbers, which may be taken for zero"
_COMPLEX = "complex arithmetic with infinities, NaN or overflow"
_ZERO = "the sign of a zero"
_TIES = "which of equal elements is selected"
_PADDED = "what a window of padding alone selects"
_NO_NAN = "a NaN in a precision without mantissa bits, which may become infinite"
_ZEROS = "zeros of padding, dilation and other groups, times infinities or NaN"
_BITS = "the bits of a NaN"
_FORMULA = "a formula of XLA's simplifiers, equal over the reals or for neutral initial values"


def rule_of(operations: Sequence[str], needs: tuple[Kind, ...] | None) -> str:
    """Returns why XLA does not define a result; empty if it does, as far as is known."""
    if len(operations) == 1 and operations[0].startswith("select-and-scatter"):
        return _TIES
    if needs is None or len(operations) != 1:
        return ""
    (opcode, element_type, *_), of = operations[0].split(" "), operations[0].partition(" of ")[2]
    if "denormals" in needs:
        return _DENORMAL
    if opcode in ("divide", "remainder") and element_type in INTEGERS:
        return _DIVISION
    if opcode == "convert" and element_type in INTEGERS and of not in INTEGERS:
        return _RANGE
    if opcode == "convolution" and element_type not in INTEGERS:
        return _ZEROS
    if opcode == "reduce-precision" and "NaN" in needs:
        return _NO_NAN
    if opcode == "bitcast-convert" and "NaN" in needs:
        return _BITS
    if element_type in COMPLEX or of in COMPLEX:
        return _COMPLEX
    return _ZERO if set(needs) == {"zeros"} and element_type not in INTEGERS else ""


def from_json(content: Mapping[str, Any]) -> Explained:
    """Returns the finding that was written as JSON."""
    lists = ("operations", "needs")
    tuples = {name: None if content[name] is None else tuple(content[name]) for name in lists}
    return Explained(**{**content, **tuples})
