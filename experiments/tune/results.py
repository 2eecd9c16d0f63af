"""Results of races: a file for each, and a table of all."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

from experiments.evaluate.run_folder import file_stem
from hlograph.errors import DamagedFileError
from hlograph.plans import Plan
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.machine import Machine

_FUSION = ("fuse", "unfuse")


class CurvePoint(NamedTuple):
    """State of a race at a time."""

    seconds: float
    """Seconds since the race began."""
    plans: int
    """Number of measurements so far."""
    best: float
    """Largest ratio of a screening so far; 1 before any is faster than the default."""
    confirmed: float
    """Largest ratio that a final has confirmed so far; 1 before."""


@dataclass(frozen=True)
class RaceResult:
    """Result of a competitor on a program, with a seed."""

    competitor: str
    """Names of its methods, with commas between them."""
    seed: int
    program: str
    family: str
    method: str = ""
    """Method of the plan; empty if jaxlib's default is kept."""
    decisions: tuple[str, ...] = ()
    """Decisions of the plan."""
    numerics: str = ""
    """Class of the plan's results."""
    outputs: str = ""
    """Verdict of the comparison with the default's outputs; empty if the default is kept."""
    default_ms: float = math.nan
    """Time of the default, in milliseconds; nan if no plan was timed."""
    raced: float = 1.0
    """Ratio default / plan at the end of the race, in a fresh process; 1 if the default is kept."""
    ratio: float = 1.0
    """Ratio in a second measurement, later and in another process; 1 if the default is kept."""
    low: float = 1.0
    """Lower end of its 95 % bootstrap interval."""
    high: float = 1.0
    """Upper end of the interval."""
    control: float = 1.0
    """Ratio of the default to the default compiled again, beside it."""
    plans: int = 0
    """Number of plans that were measured."""
    seconds: float = 0.0
    """Duration of the race, in seconds."""
    verdict: str = ""
    """Verdict of references on jaxlib's default; empty if none was asked, and in old results."""
    judged: float | None = None
    """Seconds of the race until the verdict was known; None without a verdict."""
    judging_work: float | None = None
    """Share of the processes' time that references took; None if no plan was measured, and in old
    results."""
    judging_wall: float | None = None
    """Share of the race's time that references took, the plain one's divided by the number of
    worker processes that measure side by side; None as above."""
    error: str = ""
    """The reason why the program was not measured; empty if it was."""
    machine: Machine | None = None
    """Model of the machine that it was measured on; None in old results."""
    node: str = ""
    """Name of the node of the cluster; empty without a cluster."""
    repeat: int = 0
    """Number of the search, of several with equal settings."""
    curve: tuple[CurvePoint, ...] = ()
    """States of the race, each time that it had measured a plan."""
    plan: Plan | None = None
    """The plan, which has a file of its own; empty if jaxlib's default is kept, and None if the
    program was not measured."""

    @property
    def is_final(self) -> bool:
        """True if there is no plan to measure a second time, or it was."""
        return not self.method or bool(self.error) or self.low != self.high

    def save(self, folder: Path) -> None:
        """Writes the plan and the rest of the result to files of their own."""
        if self.plan is not None:
            self.plan.save(plan_file(folder, self.program))
        content = asdict(replace(self, plan=None))
        del content["plan"]
        write_text_atomically(result_file(folder, self.program), json.dumps(content, indent=2))

    @classmethod
    def load(cls, folder: Path, program: str) -> "RaceResult | None":
        """Returns the result of a program; None if there is none.

        Args:
            folder: Folder of the results of a competitor with a seed.
            program: Name of the program.

        Raises:
            DamagedFileError: The file is none of this version.
            PlanError: The plan cannot be read.
        """
        path, plan = result_file(folder, program), plan_file(folder, program)
        if not path.is_file():
            return None
        try:
            content = {"competitor": "", "seed": 0} | json.loads(path.read_text())
            curve = tuple(CurvePoint(*point) for point in content.pop("curve", ()))
            machine = content.pop("machine", None)
            measured_on = None if machine is None else Machine.from_json(machine)
            decisions = tuple(content.pop("decisions"))
            result = cls(**content, decisions=decisions, machine=measured_on, curve=curve)
        except (ValueError, TypeError, KeyError, DamagedFileError) as error:
            raise DamagedFileError(f"{path} is no result of this version: {error!r}") from error
        return replace(result, plan=Plan.load(plan)) if result.method or plan.is_file() else result


def decisions_of(plan: Plan) -> set[tuple[str, str]]:
    """Returns the decisions of a plan, whatever instructions they are about.

    Returns:
        Pairs of a stage of the compilation and a name: rules and passes, what has another layout,
        decisions of placements, and flags.
    """
    pairs = {("steps", step.partition("(")[0]) for step in plan.steps}
    for name in plan.layouts:
        subject, colon, _ = name.partition(":")
        pairs.add(("layout", f"{subject}s" if colon else "instructions"))
    for placement in plan.placements:
        stage = "fusion" if placement.decision in _FUSION else "kernel"
        value = f" {placement.value}" if placement.decision == "library" else ""
        pairs.add((stage, f"{placement.decision}{value}"))
    return pairs | {("flags", flag) for flag in plan.flags}


COLUMNS = tuple(field.name for field in fields(RaceResult) if field.name not in ("curve", "plan"))
"""Columns of the table of results."""


def result_file(folder: Path, program: str) -> Path:
    """Returns the file of a program's result, in the folder of a competitor and seed."""
    return folder / "programs" / f"{file_stem(program)}.json"


def plan_file(folder: Path, program: str) -> Path:
    """Returns the file of a program's plan, in the folder of a competitor and seed."""
    return folder / "plans" / f"{file_stem(program)}.plan.json"


def to_csv(results: Sequence[RaceResult]) -> str:
    """Returns all results as comma-separated values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(result) for result in results)
    return text.getvalue()


def _cells(result: RaceResult) -> list[str]:
    row = {name: getattr(result, name) for name in COLUMNS}
    row["decisions"] = "; ".join(result.decisions)
    return [_cell(value) for value in row.values()]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def by_machine(results: Sequence[RaceResult]) -> dict[Machine | None, list[RaceResult]]:
    """Returns the results of each model of machine; with a single model, or none, below None.

    Results without a machine, of programs that were not measured, are with each model.
    """
    machines = list(dict.fromkeys(result.machine for result in results if result.machine))
    if len(machines) <= 1:
        return {None: list(results)}
    return {
        machine: [result for result in results if result.machine in (machine, None)]
        for machine in machines
    }
