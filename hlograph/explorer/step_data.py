"""The data of steps: what each of them did, and a file for each that changed something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hlograph.explorer.difference import difference_of
from hlograph.explorer.instructions import Instructions
from hlograph.explorer.step_runs import StepRun
from hlograph.module import Module


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


def steps_data(
    start: Module, steps: Iterable[StepRun], prefix: str = "steps"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Takes steps, and returns the data of the page and its files by name.

    Args:
        start: The module before the first step.
        steps: The steps.
        prefix: First part of the names of files.

    Returns:
        ``program`` (the module's name), ``start_op_count`` and ``steps``, as
        ``StepData.describe`` has them; and the files.
    """
    data = StepData(start, prefix)
    described = [data.describe(step) for step in steps]
    page = {"program": start.name, "start_op_count": start.op_count, "steps": described}
    return page, data.files
