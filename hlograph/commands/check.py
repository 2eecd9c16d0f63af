"""Compares what jaxlib computes with what a file of StableHLO expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hlograph.commands.command import Answer, Command, one_line
from hlograph.commands.sources import SourceName
from hlograph.commands.text_tables import counted, table
from hlograph.errors import HloError


@dataclass(frozen=True, kw_only=True)
class CheckFile(Command):
    """Compares what jaxlib computes with what a file of StableHLO expects.

    The file is one of StableHLO's own tests, or like them: functions without arguments, with
    check.expect_eq, check.expect_almost_eq, check.expect_close, or custom calls of these names.
    """

    source: SourceName
    """A file with StableHLO, of one test or several."""

    def run(self) -> Answer:
        """Runs the tests; see the class."""
        from hlograph.isolation import Remote, WorkerLimits
        from hlograph.measuring.checking import CheckingWorker
        from hlograph.reading.sources import tests_of

        worker = Remote(CheckingWorker, WorkerLimits(), ("hlograph.measuring.checking",))
        contents: list[dict[str, Any]] = []
        try:
            for name, stablehlo in tests_of(self.source):
                try:
                    comparisons = worker.call(CheckingWorker.check, stablehlo)
                except HloError as error:
                    contents.append({"test": name, "checks": 0, "error": one_line(error)})
                    continue
                wrong = [one.difference for one in comparisons if one.difference]
                contents.append({"test": name, "checks": len(comparisons), "differences": wrong})
        finally:
            worker.close()
        held = sum(content.get("differences") == [] for content in contents)
        rows = [("test", "checks", "result"), *map(_row, contents)]
        said = f"{counted(held, 'test')} of {len(contents)} as expected"
        content = {"tests": contents, "passed": held}
        return Answer(f"{table(rows, right=(1,))}\n{said}", content, int(held < len(contents)))


def _row(content: dict[str, Any]) -> tuple[str, str, str]:
    if "error" in content:
        return content["test"], "", f"not run: {content['error']}"
    wrong = "; ".join(content["differences"])
    return (
        content["test"],
        str(content["checks"]),
        f"different: {wrong}" if wrong else "as expected",
    )
