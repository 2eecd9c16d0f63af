"""Reports that call a pass of XLA wrong, and what the pass of the registry does on a small module.

A report has cases: small modules with the inputs on which a pass may go wrong. XLA's evaluator runs
each before and after the pass, in a process of its own, since some passes end theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hlograph import Module, PassError, VerificationError
from hlograph.errors import WorkerLostError
from hlograph.execution.equivalence.arrays import Array, signature_of
from hlograph.execution.equivalence.engines import Limits, make_runner
from hlograph.execution.equivalence.verdict import EngineName, difference
from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool

Outcome = Literal[
    "no such pass",
    "not tried",
    "unchanged",
    "equal",
    "refused",
    "rounding",
    "different",
    "invalid",
    "ends the process",
]
"""What became of a case, from best to worst.

``no such pass``: the registry lacks it. ``not tried``: it needs what is not at hand. ``refused``:
the pass returns an error and changes nothing. ``rounding``: finite numbers differ by a few ulp.
``different``: more than that differs. ``invalid``: XLA's verifier rejects the result.
"""

WORDS: dict[Outcome, str] = {
    "no such pass": "no such pass here",
    "not tried": "not tried",
    "unchanged": "no: the pass changes nothing",
    "equal": "no: every bit is the same",
    "refused": "no longer: the pass refuses the module",
    "rounding": "rounding only",
    "different": "yes",
    "invalid": "yes: the result is invalid",
    "ends the process": "yes: the process ends",
}
"""Whether a report is reproduced, in words, by outcome."""

_RANKS = get_args(Outcome)
_ROUNDING_ULP = 16.0


@dataclass(frozen=True)
class Case:
    """A module and its inputs.

    Attributes:
        text: HLO text.
        inputs: An array for each parameter.
        engine: What runs the module: XLA's evaluator, or code of XLA:CPU for operations that the
            evaluator lacks.
    """

    text: str
    inputs: tuple[Array, ...] = ()
    engine: EngineName = "evaluator"


@dataclass(frozen=True)
class Report:
    """A report that calls a pass wrong.

    Attributes:
        number: Repository and number, such as ``openxla/xla#47337``.
        upstream: XLA's name of the pass.
        claim: What the report says.
        passes: Passes of the registry that the report is about; empty if there is none.
        cases: Modules to try them on.
        outcome: What came of it, the worst of all cases and passes. A test holds it against a run.
        note: What explains the outcome, or why nothing is tried.
    """

    number: str
    upstream: str
    claim: str
    passes: tuple[str, ...]
    cases: tuple[Case, ...]
    outcome: Outcome
    note: str = ""

    @property
    def url(self) -> str:
        """Address of the report."""
        repository, _, number = self.number.partition("#")
        return f"https://github.com/{repository}/issues/{number}"


def try_pass(case: Case, name: str) -> Outcome:
    """Returns what a pass does to a case."""
    module = Module.from_text(case.text)
    module.verify()
    changed = module.clone()
    try:
        if not changed.run(name):
            return "unchanged"
        changed.verify()
    except VerificationError:
        return "invalid"
    except PassError:
        return "refused"
    expected, outputs = (_run(case, each) for each in (module, changed))
    types = [spec.element_type for spec in signature_of(module).results]
    differences = [difference(*each) for each in zip(expected, outputs, types, strict=True)]
    if all(each.bitwise for each in differences):
        return "equal"
    if any(each.misplaced or each.ulp > _ROUNDING_ULP for each in differences):
        return "different"
    # Zeros of another sign are equal as numbers, and differ by no rounding.
    return "rounding" if any(each.ulp for each in differences) else "different"


def _run(case: Case, module: Module) -> list[Array]:
    signature = signature_of(module)
    run = make_runner(case.engine, module, signature, Limits())
    return run([np.asarray(array) for array in case.inputs])


def outcomes(reports: Sequence[Report], workers: int = 1) -> list[Outcome]:
    """Returns what comes of each report, in their order.

    Args:
        reports: The reports.
        workers: Processes at a time.
    """
    tasks = [
        (number, case, name)
        for number, report in enumerate(reports)
        for case in report.cases
        for name in report.passes
    ]
    worst: list[Outcome] = [_untried(report) for report in reports]
    with WorkerPool(_make_worker, workers, WorkerLimits(seconds=60)) as pool:
        for place, answer in pool.map((case, name) for _, case, name in tasks):
            outcome: Outcome = "ends the process" if isinstance(answer, WorkerLostError) else answer
            number = tasks[place][0]
            if _RANKS.index(outcome) > _RANKS.index(worst[number]):
                worst[number] = outcome
    return worst


def _untried(report: Report) -> Outcome:
    return "not tried" if report.passes else "no such pass"


def _make_worker(recorder: FlightRecorder) -> Callable[[tuple[Case, str]], Outcome]:
    def work(task: tuple[Case, str]) -> Outcome:
        case, name = task
        recorder.begin(name.encode())
        try:
            return try_pass(case, name)
        finally:
            recorder.end()

    return work
