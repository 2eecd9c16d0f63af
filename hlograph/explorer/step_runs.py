"""Runs passes, pipelines and rewrites on a module one by one, and keeps every state."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlograph.errors import PassError, RewriteError
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
    if is_place(name):
        step = _apply(module, name)
        return step, step.changed
    return _run_pass(module, name)


def _run_pass(module: Module, name: str) -> tuple[StepRun, bool]:
    begin = time.perf_counter()
    try:
        run = module.run_with_snapshot(passes[name])
    except PassError as error:
        return StepRun(name, time.perf_counter() - begin, False, str(error), module), False
    return StepRun(name, run.seconds, run.snapshot is not None, "", module), run.reported


def _apply(module: Module, place: str) -> StepRun:
    begin = time.perf_counter()
    error = ""
    try:
        module.apply(place)
    except RewriteError as failure:
        error = str(failure)
    return StepRun(place, time.perf_counter() - begin, not error, error, module)
