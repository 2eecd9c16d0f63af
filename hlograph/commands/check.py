"""Compares what jaxlib computes with what a file expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hlograph.commands.command import Answer, Command, one_line
from hlograph.commands.sources import SourceName
from hlograph.commands.text_tables import counted, table
from hlograph.errors import HloError
from hlograph.storage.locations import as_location


@dataclass(frozen=True, kw_only=True)
class CheckFile(Command):
    """Compares what jaxlib computes with what a file expects.

    The file is one of StableHLO's own tests, or like them: functions without arguments, with
    check.expect_eq, check.expect_almost_eq, check.expect_close, or custom calls of these names. Or
    it is an HloSnapshot, whose results are expected of its module on its inputs.
    """

    source: SourceName
    """A file with StableHLO, of one test or several, or an HloSnapshot."""

    def run(self) -> Answer:
        """Runs the tests; see the class."""
        from hlograph.isolation import Remote, WorkerLimits
        from hlograph.measuring.checking import CheckingWorker

        tests = self._tests()
        worker = Remote(CheckingWorker, WorkerLimits(), ("hlograph.measuring.checking",))
        contents: list[dict[str, Any]] = []
        try:
            for name, check, *values in tests:
                try:
                    comparisons = worker.call(check, *values)
                except HloError as error:
                    contents.append({"test": name, "checks": 0, "error": one_line(error)})
                    continue
                wrong = [str(result) for result in comparisons if result.difference]
                contents.append({"test": name, "checks": len(comparisons), "differences": wrong})
        finally:
            worker.close()
        held = sum(content.get("differences") == [] for content in contents)
        rows = [("test", "checks", "result"), *map(_row, contents)]
        said = f"{counted(held, 'test')} of {len(contents)} as expected"
        content = {"tests": contents, "passed": held}
        return Answer(f"{table(rows, right=(1,))}\n{said}", content, int(held < len(contents)))

    def _tests(self) -> list[tuple[Any, ...]]:
        """Returns the name of each test, the worker's method that checks it, and its arguments."""
        from hlograph.measuring.checking import CheckingWorker
        from hlograph.plans import Program
        from hlograph.reading.sources import inputs_in, results_in, tests_of

        location = as_location(self.source)
        if (results := results_in(location)) is None:
            return [(name, CheckingWorker.check, text) for name, text in tests_of(location)]
        program = Program.of(location)
        inputs = inputs_in(location) or []
        return [(program.name, CheckingWorker.check_snapshot, program, inputs, results)]


def _row(content: dict[str, Any]) -> tuple[str, str, str]:
    if "error" in content:
        return content["test"], "", f"not run: {content['error']}"
    wrong = "; ".join(content["differences"])
    return (
        content["test"],
        str(content["checks"]),
        f"different: {wrong}" if wrong else "as expected",
    )
