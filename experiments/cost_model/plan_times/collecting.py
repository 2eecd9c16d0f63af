"""Collection of recordings of one program."""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from functools import partial
from pathlib import Path

from experiments.cost_model.plan_times.recorder import Recorder, Unchanged
from experiments.cost_model.plan_times.recording import Recording, append, file_of, read
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.optimization.methods.evolution import Evolution, Random
from hlograph.optimization.methods.knob_search import KnobSearch, PointSpeed
from hlograph.plans import Program
from hlograph.plans.knobs import Knob, Point, Recipe
from hlograph.plans.versions import STEPS
from hlograph.transforms.rules import rules

_LIMITS = WorkerLimits(seconds=120.0, idle_seconds=3600.0, memory=16 << 30)
_PRELOADED = ("experiments.cost_model.plan_times.recorder",)

# Points that failed or made no new code, for each that was recorded, after which a program ends.
_MOST_WASTED = 3


NextPoint = Callable[[], Point | None]
"""Function that returns the next point to record; None if there are no others."""


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
    program: Program,
    plans: int,
    seed: int,
    folder: Path,
    decided: Callable[[Program], AbstractContextManager[NextPoint]] | None = None,
    *,
    alone: bool = False,
    max_seconds: float = math.inf,
    max_compile_seconds: float = math.inf,
) -> Counter[str]:
    """Records plans of one program until a number of them is in its file.

    They are the default, and those that random search and evolution propose in turns, or those that
    another function returns, or those with one decision each.

    Args:
        name: Name of the program.
        program: The program.
        plans: Number of recordings.
        seed: Seed of the searches.
        folder: Folder of the run.
        decided: Returns what proposes points of the program instead of these searches.
        alone: True records each decision alone instead; see ``Recorder.single_decisions``.
        max_seconds: Seconds that a run may take by default.
        max_compile_seconds: Seconds that a compilation may take.

    Returns:
        Numbers of points that were recorded, made no new code, or failed, by reason.

    Raises:
        HloError: The program does not compile, or takes too long.
    """
    file, counts = file_of(folder, name), Counter[str]()
    recorded = list(read(file))
    limits = {"max_seconds": max_seconds, "max_compile_seconds": max_compile_seconds}
    make = partial(Recorder, program, **limits)
    with ExitStack() as stack:
        worker = stack.enter_context(closing(Remote(make, _LIMITS, _PRELOADED)))
        # Asked of every program: the worker refuses those that take too long.
        knobs = worker.call(Recorder.knobs, Point())
        searches: deque[KnobSearch] = deque()
        next_point: NextPoint | None = None
        if alone:
            known = {recording.point for recording in recorded}
            points = (
                point for point in worker.call(Recorder.single_decisions) if point not in known
            )
            next_point = partial(next, points, None)
        elif decided:
            next_point = stack.enter_context(decided(program))
        else:
            space = RecordedSpace(knobs, _steps(worker))
            # A run that goes on draws other points than it did before.
            seeds = seed + 1000 * len(recorded)
            searches += [Random(space, seeds), Evolution(space, seeds)]
        for recording in recorded:
            _note(searches, recording.point, recording)
        # Searches take the default for known.
        first = [] if any(r.point == Point() for r in recorded) else [Point()]
        wasted = 0
        while len(recorded) + counts["recorded"] < plans and wasted <= _MOST_WASTED * plans:
            if first:
                point = first.pop()
            elif next_point is not None:
                point = next_point()
            else:
                point = searches[0].propose()
                searches.rotate()
            if point is None:
                break
            try:
                answer = worker.call(Recorder.record, point)
            except HloError as error:
                answer = error
            kind = _note(searches, point, answer)
            counts[kind] += 1
            wasted += kind != "recorded"
            if isinstance(answer, Recording):
                append(file, answer)
    return counts


def _note(
    searches: deque[KnobSearch], point: Point, answer: Recording | Unchanged | HloError
) -> str:
    """Tells searches of an answer, and returns what became of the point."""
    if isinstance(answer, Recording):
        ratios = [default / plan for default, plan in answer.turns]
        kind, result = "recorded", PointSpeed(answer.ratio, min(ratios), max(ratios))
    elif isinstance(answer, Unchanged):
        kind, result = "known code", PointSpeed(answer.ratio, answer.ratio, answer.ratio)
    else:
        kind = "lost" if isinstance(answer, WorkerLostError) else str(answer)[:80]
        result = PointSpeed(0.0)
    for search in searches:
        search.note(point, result)
    return kind


def _steps(worker: Remote[Recorder]) -> list[str]:
    """Returns the steps of each rule for time that applies, and of a standard order of passes."""
    steps_of_rules = []
    for name in ("xla-simplify", *(rule.name for rule in rules.for_time)):
        prepared = (name,) if name == "xla-simplify" else ("call-inliner", name)
        with suppress(HloError):
            steps = worker.call(Recorder.steps_by, Recipe(prepared))
            if steps and len(json.loads(steps)) >= len(prepared):
                steps_of_rules.append(steps)
    return steps_of_rules
