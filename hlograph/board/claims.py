"""Reads what users have to submit: steps on benchmarks, and what these are said to lead to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hlograph import corpus
from hlograph.board.submission import SubmissionError, SubmittedTrajectory
from hlograph.corpus import Benchmark
from hlograph.decisions.trajectory import Trajectory
from hlograph.errors import HloError
from hlograph.execution.equivalence import Verdict
from hlograph.explorer.results.studies import FILES
from hlograph.plans import Plan
from hlograph.storage.checked_file import read_checked_json
from hlograph.transforms.pipelines import pipelines

_STUDY = ("study", 1)
_FORMS = (
    "a run's folder or its study.json, a file with the JSON of a trajectory in each line, a plan, "
    "a CSV with the columns of datasets/best_known.csv, or the name of a reference pipeline"
)


@dataclass(frozen=True)
class ClaimedSteps:
    """Steps on a benchmark, and what is claimed of them. What is None is not claimed.

    Attributes:
        benchmark: Name of the benchmark in the corpus.
        passes: Names of the passes, places of the rewrites or names of pipelines, in order.
        op_counts: Op count at the start, and after each step.
        start_fingerprint: Fingerprint of the benchmark.
        fingerprint: Fingerprint of the result.
        outputs: Verdict on the result's outputs.
    """

    benchmark: str
    passes: tuple[str, ...]
    op_counts: tuple[int | None, ...]
    start_fingerprint: str | None = None
    fingerprint: str | None = None
    outputs: Verdict | None = None

    @classmethod
    def of(cls, trajectory: Trajectory, outputs: Verdict | None = None) -> ClaimedSteps:
        """Returns all that a trajectory claims."""
        return cls(
            trajectory.benchmark,
            trajectory.passes,
            (trajectory.start_op_count, *trajectory.op_counts),
            trajectory.start_fingerprint,
            trajectory.fingerprint,
            outputs,
        )

    @classmethod
    def to(cls, op_count: int | None, benchmark: str, passes: Sequence[str]) -> ClaimedSteps:
        """Returns the claim that passes lead to an op count."""
        between = (None,) * len(passes)
        return cls(benchmark, tuple(passes), (*between, op_count))

    def unreplayed(self) -> SubmittedTrajectory:
        """Returns the steps as a submission names them, without what they lead to."""
        ones = (1,) * len(self.passes)
        trajectory = Trajectory(self.benchmark, "", 1, self.passes, ones, "")
        return SubmittedTrajectory(trajectory, "not comparable")


@dataclass(frozen=True)
class Claims:
    """Holds what sources claim.

    Attributes:
        steps: Steps on benchmarks.
        plans: Plans, each with the name of its program in the corpus.
        commit: Commit that a study was made at; empty if there is no study.
        command: Command that made the study.
    """

    steps: tuple[ClaimedSteps, ...] = ()
    plans: tuple[tuple[str, Plan], ...] = ()
    commit: str = ""
    command: str = ""

    def __or__(self, other: Claims) -> Claims:
        """Returns the claims of both."""
        return Claims(
            self.steps + other.steps,
            self.plans + other.plans,
            self.commit or other.commit,
            self.command or other.command,
        )

    def only(self, names: Iterable[str]) -> Claims:
        """Returns the claims on some benchmarks."""
        wanted = set(names)
        return replace(
            self,
            steps=tuple(each for each in self.steps if each.benchmark in wanted),
            plans=tuple(pair for pair in self.plans if pair[0] in wanted),
        )


def claims_of(
    source: str, benchmarks: Iterable[str], method: str | None, seed: int | None
) -> Claims:
    """Reads what a source claims.

    Args:
        source: Path of a file or folder, or name of a reference pipeline.
        benchmarks: Benchmarks to run a reference pipeline on.
        method: Method of a study; None if it has only one.
        seed: Seed of a study; None if the method has only one.

    Raises:
        HloError: It is nothing that can be submitted; the message says why.
        OSError: It cannot be read.
    """
    path = Path(source)
    if source in pipelines and not path.exists():
        return Claims(tuple(ClaimedSteps.to(None, name, [source]) for name in benchmarks))
    if path.is_dir():
        inside = [path / name for name in FILES if (path / name).is_file()]
        if not inside:
            raise SubmissionError(f"expected {' or '.join(FILES)} in {path}, found none")
        path = inside[0]
    if not path.is_file():
        raise SubmissionError(f"expected {_FORMS}, got {source!r}")
    try:
        if path.name in FILES:
            return _of_study(path, method, seed)
        text = path.read_text(encoding="utf-8")
        return Claims(tuple(_of_rows(text))) if path.suffix == ".csv" else _of_json(path, text)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, HloError):
            raise
        raise SubmissionError(f"expected {_FORMS}, and {path} is none: {error!r}") from error


def _of_json(path: Path, text: str) -> Claims:
    """Returns the claims of a plan, or of lines with a trajectory each."""
    first, _ = json.JSONDecoder().raw_decode(text.lstrip())
    kind = first.get("kind") if isinstance(first, dict) else None
    if kind == "hlograph plan":
        plan = Plan.from_json(text)
        return Claims(plans=((_program_of(plan, path), plan),))
    if kind == "hlograph submission":
        raise SubmissionError(f"{path} is a submission already: hlograph board verify replays it")
    lines = (line for line in text.splitlines() if line.strip())
    return Claims(tuple(ClaimedSteps.of(Trajectory.from_json(line)) for line in lines))


def _of_rows(text: str) -> Iterator[ClaimedSteps]:
    """Yields the claims of the rows of best-known counts."""
    for row in csv.DictReader(io.StringIO(text)):
        claim = ClaimedSteps.to(int(row["op_count"]), row["benchmark"], row["passes"].split())
        yield replace(claim, start_fingerprint=row["fingerprint"])


def _of_study(path: Path, method: str | None, seed: int | None) -> Claims:
    """Returns the outcomes of one method with one seed; one that failed its check is no steps."""
    content = read_checked_json(path, *_STUDY)
    trials = content["trials"]
    chosen = [
        trial
        for trial in trials
        if method in (None, trial["method"]) and seed in (None, trial["seed"])
    ]
    if len({(trial["method"], trial["seed"]) for trial in chosen}) != 1:
        have = "; ".join(dict.fromkeys(f"{t['method']!r} with seed {t['seed']}" for t in trials))
        raise SubmissionError(
            f"expected --method and --seed to choose one trial of {path}, which has {have}"
        )
    made = content.get("made") or {}
    steps = tuple(claim for trial in chosen for claim in _of_trial(trial))
    return Claims(steps, commit=made.get("commit") or "", command=made.get("command") or "")


def _of_trial(trial: dict[str, Any]) -> Iterator[ClaimedSteps]:
    checks = trial["checks"] or [{}] * len(trial["outcomes"])
    for outcome, check in zip(trial["outcomes"], checks, strict=True):
        name, passes, count = outcome["benchmark"], outcome["passes"], outcome["op_count"]
        if check.get("problem"):
            passes, count = (), outcome["start"]
        elif outcome.get("packed"):
            raise SubmissionError(f"no steps lead to the result on {name}, so it has no replay")
        yield ClaimedSteps.to(count, name, passes)


def _program_of(plan: Plan, path: Path) -> str:
    """Returns the name in the corpus of the program that a plan is for."""
    benchmarks: list[Benchmark] = [*corpus.load("speed"), *corpus.load()]
    names = [b.name for b in benchmarks if b.fingerprint == plan.fingerprint]
    if not names:
        raise SubmissionError(
            f"expected a plan for a program of the corpus, and {path} is for {plan.program} with "
            f"the fingerprint {plan.fingerprint or 'of no engine'}: hlograph corpus export --set "
            "speed writes programs to make plans for"
        )
    return names[0]
