"""Steps on a module one by one: passes, pipelines, rewrites and episodes, and their page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlograph.errors import PassError, RewriteError
from hlograph.explorer.difference import difference_of
from hlograph.explorer.matching import Instructions
from hlograph.module import Module
from hlograph.transforms.pipelines import FIXED_POINT_LIMIT, FixedPoint, by_name, pipelines
from hlograph.transforms.registry import passes
from hlograph.transforms.rewriting import is_place


@dataclass(frozen=True)
class StepRun:
    """One step, and the module after it.

    Attributes:
        name: Name of the pass, place of the rewrite, or decision.
        seconds: Wall time in seconds.
        changed: True if the module is another one now.
        error: XLA's message if the step failed, or empty; the module is then as before.
        module: The module after the step; not to be changed.
    """

    name: str
    seconds: float
    changed: bool
    error: str
    module: Module


def check_names(names: Sequence[str]) -> None:
    """Checks that there are such passes and pipelines.

    Raises:
        UnknownNameError: There is no such pass or pipeline.
    """
    for name in names:
        if not is_place(name):
            by_name(name)


def run_steps(module: Module, names: Sequence[str]) -> Iterator[StepRun]:
    """Runs steps one after the other; those of a pipeline one by one.

    A step that fails leaves the module as it was, and the next one runs all the same.

    Args:
        module: The module; it is not changed.
        names: Names of passes and pipelines, and places of rewrites.

    Raises:
        UnknownNameError: There is no such pass, pipeline or rule.
        ValueError: A place is not written as one.
    """
    check_names(names)
    module = module.clone()
    for group, rounds in (part for name in names for part in _parts(name)):
        for _ in range(rounds):
            reports = False
            for name in group:
                step, reported = _run(module, name)
                module = step.module.clone()
                reports |= reported
                yield step
            if not reports:
                break


def run_step(module: Module, name: str) -> StepRun:
    """Runs a pass or applies a rewrite.

    Args:
        module: The module; it is changed in place, and is that of the step.
        name: Name of the pass, or place of the rewrite.
    """
    return _run(module, name)[0]


def _parts(name: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yields groups of steps, and how many rounds of each run unless one changes nothing."""
    if name not in pipelines:
        yield (name,), 1
        return
    for part in pipelines[name].steps:
        if isinstance(part, FixedPoint):
            yield tuple(entry.name for entry in part.steps), FIXED_POINT_LIMIT
        else:
            yield (part.name,), 1


def _run(module: Module, name: str) -> tuple[StepRun, bool]:
    """Returns the step, and whether it reported a change, which fixed points go by."""
    begin = time.perf_counter()
    try:
        if is_place(name):
            module.apply(name)
            return StepRun(name, time.perf_counter() - begin, True, "", module), True
        run = module.run_with_snapshot(passes[name])
    except (PassError, RewriteError) as error:
        return StepRun(name, time.perf_counter() - begin, False, str(error), module), False
    return StepRun(name, run.seconds, run.snapshot is not None, "", module), run.reported


class StepData:
    """Describes steps one after the other, each beside the state before it.

    Attributes:
        files: What changed in each step that changed something, by the name of its file; see
            ``hlograph.explorer.difference``.

    Args:
        start: The module before the first step.
        prefix: First part of the names of files.
    """

    def __init__(self, start: Module, prefix: str) -> None:
        self.files: dict[str, Any] = {}
        self._prefix, self._number = prefix, 0
        self._state = Instructions.of(start)

    @property
    def state(self) -> Instructions:
        """The instructions after the last step."""
        return self._state

    def describe(self, step: StepRun) -> dict[str, Any]:
        """Returns what a step did as JSON.

        The keys are ``name``, ``seconds``, ``changed``, ``error`` (a message or empty),
        ``op_count`` (after the step), the counts of ``ModuleDifference.counts``, and ``file``, the
        name of what changed, or None.
        """
        self._number += 1
        file: str | None = None
        counts: dict[str, int] = dict.fromkeys(("added", "removed", "modified", "renamed"), 0)
        if step.changed:
            after = Instructions.of(step.module)
            difference = difference_of(self._state, after)
            self._state, counts = after, difference.counts()
            file = f"{self._prefix}-{self._number}"
            self.files[file] = difference.content
        return {
            "name": step.name,
            "seconds": step.seconds,
            "changed": step.changed,
            "error": step.error,
            "op_count": len(self._state),
            **counts,
            "file": file,
        }


def steps_data(start: Module, steps: Iterable[StepRun]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Takes steps, and returns the data of the page and its files by name.

    Args:
        start: The module before the first step.
        steps: The steps.

    Returns:
        ``program`` (the module's name), ``start_op_count`` and ``steps``, as
        ``StepData.describe`` has them; and the files.
    """
    data = StepData(start, "steps")
    described = [data.describe(step) for step in steps]
    page = {"program": start.name, "start_op_count": start.op_count, "steps": described}
    return page, data.files
