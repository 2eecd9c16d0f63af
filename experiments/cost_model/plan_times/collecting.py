"""Collection of recordings of one program."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any

from experiments.cost_model.plan_times.recorder import MakeRecorder, Record, Unchanged
from experiments.cost_model.plan_times.recording import Recording, append, file_of, read
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Limits, OneWorker
from hlograph.plans import Plan
from hlograph.programs import Program
from hlograph.transforms.rules import rules
from hlograph.tuning.knobs import Knob, Point
from hlograph.tuning.questions import KnobsAt, PlanBy
from hlograph.tuning.recipe import Recipe
from hlograph.tuning.searcher import Result, Searcher
from hlograph.tuning.searchers import Evolution, Random
from hlograph.tuning.versions import STEPS

_LIMITS = Limits(seconds=120.0, idle_seconds=3600.0, memory=16 << 30)
_PRELOADED = ("experiments.cost_model.plan_times.recorder",)

# Points that failed or made no new code, for each that was recorded, after which a program ends.
_MOST_WASTED = 3


class RecordedSpace:
    """The space of a program, whose knobs are those of its default compilation.

    To list the knobs of each version would take longer than to record it. Values that a version
    does not have decide nothing.

    Args:
        knobs: These knobs.
        steps: Values of one more knob: steps in front of the compilation.
    """

    def __init__(self, knobs: Sequence[Knob], steps: Sequence[str]) -> None:
        values = tuple(dict.fromkeys(steps))
        self._knobs = [*([Knob(STEPS, values, about="rules")] if values else []), *knobs]

    def knobs(self, point: Point) -> Sequence[Knob]:
        """Returns the knobs, whatever point is asked about."""
        del point
        return self._knobs


def collect(
    name: str,
    make: MakeRecorder,
    plans: int,
    seed: int,
    folder: Path,
    searcher: Callable[[Program], AbstractContextManager[Searcher]] | None = None,
) -> Counter[str]:
    """Records plans of one program until a number of them is in its file.

    They are the default, and those that random search and evolution propose in turns, or those of
    another searcher.

    Args:
        name: Name of the program.
        make: Makes the function that records, in a worker process.
        plans: Number of recordings.
        seed: Seed of the searches.
        folder: Folder of the run.
        searcher: Returns another searcher for the program; None takes these two.

    Returns:
        Numbers of points that were recorded, made no new code, or failed, by reason.

    Raises:
        HloError: The program does not compile, or takes too long.
    """
    file, counts = file_of(folder, name), Counter[str]()
    known = list(read(file))
    with ExitStack() as stack:
        worker = stack.enter_context(closing(OneWorker(make, _LIMITS, _PRELOADED)))
        # Asked of every program: the worker refuses those that take too long.
        knobs = _asked(worker, KnobsAt(Point()))
        if searcher:
            searchers = deque[Searcher]([stack.enter_context(searcher(make.program))])
        else:
            space = RecordedSpace(knobs, _steps(worker))
            # A run that goes on draws other points than it did before.
            seeds = seed + 1000 * len(known)
            searchers = deque[Searcher]([Random(space, seeds), Evolution(space, seeds)])
        for one in known:
            _tell(searchers, one.point, one)
        # Searchers take the default for known.
        first = [] if any(one.point == Point() for one in known) else [Point()]
        wasted = 0
        while len(known) + counts["recorded"] < plans and wasted <= _MOST_WASTED * plans:
            if first:
                point = first.pop()
            else:
                point = searchers[0].ask()
                searchers.rotate()
            if point is None:
                break
            answer = worker.ask(Record(point))
            kind = _tell(searchers, point, answer)
            counts[kind] += 1
            wasted += kind != "recorded"
            if isinstance(answer, Recording):
                append(file, answer)
    return counts


def _tell(searchers: Sequence[Searcher] | deque[Searcher], point: Point, answer: Any) -> str:
    """Tells searchers of an answer, and returns what became of the point."""
    if isinstance(answer, Recording):
        ratios = [default / plan for default, plan in answer.turns]
        kind, result = "recorded", Result(answer.ratio, min(ratios), max(ratios))
    elif isinstance(answer, Unchanged):
        kind, result = "known code", Result(answer.ratio, answer.ratio, answer.ratio)
    else:
        kind = "lost" if isinstance(answer, WorkerLostError) else str(answer)[:80]
        result = Result(0.0)
    for one in searchers:
        one.tell(point, result)
    return kind


def _steps(worker: OneWorker) -> list[str]:
    """Returns the steps of each rule for time that applies, and of a standard order of passes."""
    found = []
    for name in ("xla-simplify", *(rule.name for rule in rules.for_time)):
        prepared = (name,) if name == "xla-simplify" else ("call-inliner", name)
        plan = worker.ask(PlanBy(Recipe(prepared)))
        if isinstance(plan, Plan) and len(plan.steps) >= len(prepared):
            found.append(json.dumps(plan.steps))
    return found


def _asked(worker: OneWorker, question: Any) -> Any:
    answer = worker.ask(question)
    if isinstance(answer, HloError):
        raise answer
    return answer
