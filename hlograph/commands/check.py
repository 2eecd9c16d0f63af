"""Checks what jaxlib computes: by references, or by what a file expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlograph.commands.command import Answer, OptionalFile, one_line
from hlograph.commands.sources import SourceCommand, SourceName, is_function, stem_of
from hlograph.commands.text_tables import counted, table
from hlograph.errors import HloError, HloParseError
from hlograph.storage.locations import as_location

if TYPE_CHECKING:
    from hlograph.measuring.references import Judgement
    from hlograph.measuring.trial import Job

# What marks an expectation of StableHLO's tests.
_EXPECTATION = b"check.expect"


@dataclass(frozen=True, kw_only=True)
class CheckProgram(SourceCommand):
    """Says whether jaxlib computes a program right on this machine.

    The program is run as jaxlib compiles it by default, and compared with references: jaxlib
    without library fusions and with its older emitters, the engine's XLA, and XLA's evaluator. If
    the default is wrong, or ends its process, the evidence is written to a folder.

    A file with tests like StableHLO's own, with check.expect_eq, check.expect_almost_eq,
    check.expect_close or custom calls of these names, is compared with what it expects. So is an
    HloSnapshot, whose results are expected of its module on its inputs.
    """

    source: SourceName
    """package.module:function, a file with HLO or StableHLO, or one that says what it expects."""
    out: OptionalFile = None
    """Folder of the evidence; by default NAME.fault, where NAME is that of the source."""

    def run(self) -> Answer:
        """Checks the program; see the class."""
        tests = None if is_function(self.source) else self._tests()
        return self._judged() if tests is None else self._tested(tests)

    def _judged(self) -> Answer:
        """Compares the program's default with references, on each of its usual inputs."""
        from hlograph.comparing.evidence import write_evidence
        from hlograph.measuring.references import judge_default

        job = self.job_of(self.source, "close")
        judgements: dict[str, Judgement] = {}
        for sample in _sample_names(job):
            judgements[sample] = judge_default(job, in_doubt=True, sample=sample)
            if judgements[sample].is_against_default:
                break
        *_, last = judgements.values()
        if not last.is_against_default:  # what does not agree on one of the samples counts
            last = next((each for each in judgements.values() if each.verdict != "agrees"), last)
        lines = [f"{job.program.name}: {last.reason}", table(_rows(judgements))]
        files: list[Path] = []
        if last.is_against_default:
            folder = self.out or Path(f"{stem_of(self.source)}.fault")
            files = write_evidence(job, last, folder)
            lines += [f"{line} avoids it" for line in (last.plan.describe() if last.plan else ())]
            lines.append(f"the evidence is in {folder}: {', '.join(file.name for file in files)}")
        content = {
            "program": job.program.name,
            "verdict": last.verdict,
            "samples": {name: _content(each) for name, each in judgements.items()},
            "files": [str(file) for file in files],
        }
        return Answer("\n".join(lines), content, int(last.verdict != "agrees"))

    def _tested(self, tests: list[tuple[Any, ...]]) -> Answer:
        from hlograph.isolation import Remote, WorkerLimits
        from hlograph.measuring.checking import CheckingWorker

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

    def _tests(self) -> list[tuple[Any, ...]] | None:
        """Returns the name of each test, the worker's method that checks it, and its arguments.

        None if the file does not say what it expects.
        """
        from hlograph.measuring.checking import CheckingWorker
        from hlograph.plans import Program
        from hlograph.reading.sources import inputs_in, results_in, tests_of

        location = as_location(self.source)
        if (results := results_in(location)) is not None:
            program = Program.of(location)
            inputs = inputs_in(location) or []
            return [(program.name, CheckingWorker.check_snapshot, program, inputs, results)]
        try:
            tests = tests_of(location)
        except HloParseError:
            return None
        if not any(_EXPECTATION in text for _, text in tests):
            return None
        return [(name, CheckingWorker.check, text) for name, text in tests]


def _sample_names(job: Job) -> list[str]:
    """Returns the names of the inputs that a program is checked on."""
    return [*(["given"] if job.given is not None else []), "random 0", "random 1"]


def _rows(judgements: Mapping[str, Judgement]) -> list[tuple[str, ...]]:
    """Returns a row for each implementation, with what it came to on each of the inputs."""
    names = dict.fromkeys(name for each in judgements.values() for name in each.implementations)
    heard = [
        (name, *(each.implementations.get(name, "not asked") for each in judgements.values()))
        for name in names
    ]
    return [("computed by", *(f"{sample} inputs" for sample in judgements)), *heard]


def _content(judgement: Judgement) -> dict[str, Any]:
    plan = judgement.plan
    avoided = [] if plan is None or plan.is_empty else plan.describe()
    return asdict(replace(judgement, plan=None)) | {"avoided_by": avoided}


def _row(content: dict[str, Any]) -> tuple[str, str, str]:
    if "error" in content:
        return content["test"], "", f"not run: {content['error']}"
    wrong = "; ".join(content["differences"])
    return (
        content["test"],
        str(content["checks"]),
        f"different: {wrong}" if wrong else "as expected",
    )
