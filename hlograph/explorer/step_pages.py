"""Pages of steps: passes that are run, or the episode of an environment, from its trajectory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlograph import corpus
from hlograph.errors import HloError, UnknownNameError
from hlograph.explorer.site import Page
from hlograph.explorer.steps import StepRun, run_step, run_steps, steps_data
from hlograph.module import Module

_KEPT = "keep "  # what a decision about fusion begins with if it kept a pair apart
_PREPARATION = "call-inliner"  # which environments of rewrites for time run first

Replay = Callable[[Module, tuple[str, ...]], Iterator[StepRun]]
"""Type of a function that takes steps on a module."""


@dataclass(frozen=True)
class RecordedEpisode:
    """A trajectory as its file has it.

    Attributes:
        benchmark: Name of the corpus, or path.
        start_fingerprint: Fingerprint of the module at the start.
        start_op_count: Its op count.
        steps: Names of the steps.
        op_counts: Op count after each of them.
    """

    benchmark: str
    start_fingerprint: str
    start_op_count: int
    steps: tuple[str, ...]
    op_counts: tuple[int, ...]

    @classmethod
    def load(cls, path: Path) -> RecordedEpisode:
        """Reads a file.

        Raises:
            HloError: The file is no trajectory.
            OSError: It cannot be read.
        """
        try:
            fields = json.loads(path.read_text())
            episode = cls(
                str(fields["benchmark"]),
                str(fields["start_fingerprint"]),
                int(fields["start_op_count"]),
                tuple(map(str, fields["passes"])),
                tuple(map(int, fields["op_counts"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise HloError(f"expected the JSON of a trajectory in {path}: {error!r}") from error
        if len(episode.steps) != len(episode.op_counts):
            raise HloError(
                f"expected an op count for each of {len(episode.steps)} steps in {path}, got "
                f"{len(episode.op_counts)}"
            )
        return episode

    def program(self) -> Module:
        """Returns the module that the benchmark names.

        Raises:
            HloError: There is no such benchmark and no such file.
        """
        if Path(self.benchmark).is_file():
            return Module.load(self.benchmark)
        try:
            return corpus.benchmark(self.benchmark).load()
        except UnknownNameError as error:
            raise HloError(
                f"the trajectory is of {self.benchmark}, which is neither a file nor a name of the "
                "corpus; name its program"
            ) from error


def is_trajectory(path: Path) -> bool:
    """Returns True if a file has the fields of a trajectory."""
    try:
        fields = json.loads(path.read_text()) if path.suffix == ".json" else None
    except (OSError, ValueError):
        return False
    return isinstance(fields, dict) and {"passes", "start_fingerprint"} <= fields.keys()


def replay(episode: RecordedEpisode, program: Module) -> tuple[Module, Iterator[StepRun]]:
    """Returns the module at the start of an episode, and its steps, which are taken as they come.

    Which environment played the episode is not in the trajectory. The fingerprint at its start
    says how the program was prepared: not at all, by ``call-inliner``, by XLA:CPU's passes before
    fusion, or by all of jaxlib's.

    Args:
        episode: The episode.
        program: The program that was played.

    Raises:
        HloError: It is another program.
    """
    for prepare, take in _WAYS:
        start = prepare(program)
        if start.fingerprint() == episode.start_fingerprint:
            steps = take(start if take is not _decide else program, episode.steps)
            return start, _checked(episode, steps)
    raise HloError(
        f"the trajectory begins with a module of fingerprint {episode.start_fingerprint} and "
        f"{episode.start_op_count:,} instructions, and {episode.benchmark} has {program.op_count:,}"
        " and no preparation that leads there: it is another program or another XLA"
    )


def _checked(episode: RecordedEpisode, steps: Iterator[StepRun]) -> Iterator[StepRun]:
    for number, (step, expected) in enumerate(zip(steps, episode.op_counts, strict=True), 1):
        if step.module.op_count != expected:
            raise HloError(
                f"at step {number} ({step.name}) the trajectory has {expected:,} instructions, "
                f"the replay {step.module.op_count:,}: the linked XLA is another one"
            )
        yield step


def _take(start: Module, names: tuple[str, ...]) -> Iterator[StepRun]:
    """Runs passes, rewrites and decisions about fusion."""
    module = start.clone()
    for name in names:
        if name.startswith(_KEPT):
            step = StepRun(name, 0.0, False, "", module)
        else:
            step = run_step(module, name)
        module = step.module.clone()
        yield step


def _decide(program: Module, names: tuple[str, ...]) -> Iterator[StepRun]:
    """Takes decisions of tuning."""
    from hlograph.decisions.plan_states import PlanAction, PlanStates
    from hlograph.plans import Program
    from hlograph.plans.knobs import Point

    process, point = PlanStates(Program.of(program)), Point()
    state = process.state(point)
    for name in names:
        begin, error = time.perf_counter(), ""
        before = state.module.fingerprint()
        try:
            # What is possible depends on predicted times; what an action does, does not.
            point = process.after(point, PlanAction.named(name))
            state = process.state(point)
        except HloError as failure:
            error = str(failure)
        seconds = time.perf_counter() - begin
        changed = state.module.fingerprint() != before
        yield StepRun(name, seconds, changed, error, state.module)


def _as_it_is(program: Module) -> Module:
    return program


def _inlined(program: Module) -> Module:
    module = program.clone()
    module.run(_PREPARATION)
    return module


def _before_fusion(program: Module) -> Module:
    from hlograph.transforms.xla_cpu import before_fusion

    return before_fusion(program)


def _optimized(program: Module) -> Module:
    from hlograph.decisions.plan_states import PlanStates
    from hlograph.plans import Program
    from hlograph.plans.knobs import Point

    return PlanStates(Program.of(program)).state(Point()).module


_WAYS: tuple[tuple[Callable[[Module], Module], Replay], ...] = (
    (_as_it_is, _take),
    (_inlined, _take),
    (_before_fusion, _take),
    (_optimized, _decide),
)


Files = dict[str, Any]
"""Data files of a page by name."""


def passes_page(module: Module, names: Sequence[str]) -> tuple[Page, Files]:
    """Runs steps on a module, and returns the page that shows them.

    Args:
        module: The module; it is not changed.
        names: Names of passes and pipelines, and places of rewrites.

    Raises:
        UnknownNameError: There is no such pass, pipeline or rule.
    """
    return _page(module, run_steps(module, names), "passes")


def episode_page(path: Path) -> tuple[Module, Page, Files]:
    """Replays the trajectory in a file, and returns the module at its start, and the page.

    Raises:
        HloError: The file is no trajectory, or the replay differs from it.
        OSError: The file cannot be read.
    """
    episode = RecordedEpisode.load(path)
    start, steps = replay(episode, episode.program())
    return start, *_page(start, steps, f"trajectory of {episode.benchmark}")


def _page(start: Module, steps: Iterable[StepRun], what: str) -> tuple[Page, Files]:
    data, files = steps_data(start, steps)
    return Page("steps", "steps", "Steps", data | {"what": what}), files
