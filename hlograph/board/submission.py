"""Submissions to the board, each of them one JSON file."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from hlograph.decisions.trajectory import Trajectory
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from hlograph.execution.equivalence import Verdict
    from hlograph.plans import Plan

Category = Literal["policy", "search", "reference order"]
"""What made the results of a submission."""

CATEGORIES: tuple[Category, ...] = get_args(Category)
"""The categories."""

MAX_BYTES = 64 << 20
"""Largest size of a submission's file."""

MAX_STEPS = 10_000
"""Largest number of steps on one benchmark."""

_KIND, _VERSION = "hlograph submission", 1
_NAME = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
_COMMIT = re.compile(r"([0-9a-f]{7,40}(\+changes)?)?")
_MAX_TEXT = 1_000
_OUTPUTS: tuple[Verdict, ...] = ("equal", "close", "not comparable")

T = TypeVar("T")


class SubmissionError(HloError):
    """Raised when a submission is malformed, or when it is not what its replay gives."""


@dataclass(frozen=True)
class SubmittedTrajectory:
    """A trajectory on a benchmark of the corpus.

    Attributes:
        trajectory: The steps, and the op count after each.
        outputs: Verdict on the outputs of the result beside those of the benchmark.
    """

    trajectory: Trajectory
    outputs: Verdict

    def __post_init__(self) -> None:
        """Checks its texts, steps and op counts.

        Raises:
            SubmissionError: A text has other characters, there are too many steps, or an op count
                is below 1.
        """
        each = self.trajectory
        _check_texts(each.benchmark, each.start_fingerprint, each.fingerprint, *each.passes)
        if len(each.passes) > MAX_STEPS:
            raise SubmissionError(
                f"expected at most {MAX_STEPS:,} steps on {each.benchmark}, got "
                f"{len(each.passes):,}"
            )
        if (least := min(each.start_op_count, *each.op_counts, 1)) < 1:
            raise SubmissionError(f"expected op counts above 0 on {each.benchmark}, got {least}")

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return self.trajectory.benchmark

    @property
    def op_count(self) -> int:
        """Op count of the result."""
        return (self.trajectory.start_op_count, *self.trajectory.op_counts)[-1]

    def to_json(self) -> dict[str, Any]:
        """Returns the trajectory and the verdict as one JSON object."""
        return asdict(self.trajectory) | {"outputs": self.outputs}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> SubmittedTrajectory:
        """Returns the trajectory that ``to_json`` wrote.

        Raises:
            HloError: It is none; the message says why.
        """
        return cls(Trajectory.from_json(json.dumps(content)), _outputs(content))


@dataclass(frozen=True)
class SubmittedPlan:
    """A plan for a program of the corpus, with the speed that it is said to have.

    Attributes:
        benchmark: Name of the program in the corpus.
        plan: The plan, with its machine and its speed there.
        outputs: Verdict on its outputs beside those of jaxlib's default.
    """

    benchmark: str
    plan: Plan
    outputs: Verdict

    def __post_init__(self) -> None:
        """Checks that the plan says how fast it is, and where.

        Raises:
            SubmissionError: It does not, or a text has other than printable characters.
        """
        _check_texts(self.benchmark, self.plan.fingerprint, str(self.plan.machine))
        measured = self.plan.measured
        if measured is None or self.plan.machine is None:
            raise SubmissionError(
                f"expected the plan of {self.benchmark} to have been measured, got one without a "
                "speed: hlograph optimize measures it"
            )
        for number in (measured.ratio, measured.low, measured.high):
            if not isinstance(number, int | float) or not 0 < number < math.inf:
                raise SubmissionError(
                    f"expected ratios above 0 in the plan of {self.benchmark}, got {number!r}"
                )

    @property
    def ratio(self) -> float:
        """Default / plan, as its machine measured it."""
        assert self.plan.measured is not None
        return self.plan.measured.ratio

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as a JSON object."""
        plan = json.loads(self.plan.to_json())
        return {"benchmark": self.benchmark, "plan": plan, "outputs": self.outputs}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> SubmittedPlan:
        """Returns the plan that ``to_json`` wrote.

        Raises:
            HloError: It is none, or was not measured.
        """
        from hlograph.plans import Plan  # which takes a while to import

        plan = Plan.from_json(json.dumps(content["plan"]))
        return cls(str(content["benchmark"]), plan, _outputs(content))


@dataclass(frozen=True)
class Submission:
    """Holds what one method did to programs of the corpus.

    Attributes:
        name: Its name on the board: lower-case letters, digits, dots and hyphens.
        category: What made it.
        authors: Who submits it.
        about: What it is, in one line.
        commit: Commit of the checkout that made the results; empty if there was none.
        command: Command that made them; empty if it is not known.
        versions: Versions of packages with which it was replayed when it was submitted.
        trajectories: The trajectories, at most one for each benchmark.
        plans: The plans, at most one for each program.
    """

    name: str
    category: Category
    authors: str
    about: str = ""
    commit: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    trajectories: tuple[SubmittedTrajectory, ...] = ()
    plans: tuple[SubmittedPlan, ...] = ()

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            SubmissionError: One of them is none that a board can show.
        """
        texts = (self.authors, self.about, self.command, *self.versions, *self.versions.values())
        _check_texts(self.name, *texts)
        if not _NAME.fullmatch(self.name):
            raise SubmissionError(
                "expected a name of lower-case letters, digits, dots and hyphens, got "
                f"{self.name!r}"
            )
        if self.category not in CATEGORIES:
            raise SubmissionError(
                f"expected a category of {', '.join(CATEGORIES)}, got {self.category!r}"
            )
        if not self.authors.strip():
            raise SubmissionError("expected the names of the authors, got none")
        if not _COMMIT.fullmatch(self.commit):
            raise SubmissionError(f"expected a commit of git, got {self.commit[:_MAX_TEXT]!r}")
        for entries in (self.trajectories, self.plans):
            names = Counter(entry.benchmark for entry in entries)
            if twice := [name for name, count in names.items() if count > 1]:
                raise SubmissionError(f"expected each program once, got {', '.join(twice[:5])}")
        if not self.trajectories and not self.plans:
            raise SubmissionError("expected at least one trajectory or plan, got none")

    def to_json(self) -> str:
        """Returns the submission as JSON, with a line for each trajectory and each plan."""
        head = {"kind": _KIND, "version": _VERSION}
        texts = ("name", "category", "authors", "about", "commit", "command")
        head |= {name: getattr(self, name) for name in texts} | {"versions": dict(self.versions)}
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        for name, entries in (("trajectories", self.trajectories), ("plans", self.plans)):
            listed = ",\n".join(json.dumps(entry.to_json()) for entry in entries)
            lines.append(f'"{name}": [\n{listed}\n]')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Submission:
        """Returns the submission that ``to_json`` wrote, whoever has changed it since.

        Raises:
            HloError: The text is no submission; the message says why.
        """
        try:
            content = json.loads(text)
            form = content.get("kind"), content.get("version")
        except (ValueError, AttributeError, RecursionError) as error:
            raise SubmissionError(f"expected the JSON of a submission: {error}") from error
        if form != (_KIND, _VERSION):
            raise SubmissionError(f"expected a {_KIND!r} of version {_VERSION}, got {form}")
        try:
            return cls(
                name=str(content["name"]),
                category=content["category"],
                authors=str(content["authors"]),
                about=str(content["about"]),
                commit=str(content["commit"]),
                command=str(content["command"]),
                versions={str(key): str(value) for key, value in content["versions"].items()},
                trajectories=_each(content, "trajectories", SubmittedTrajectory.from_json),
                plans=_each(content, "plans", SubmittedPlan.from_json),
            )
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise SubmissionError(f"this submission is damaged: {error!r}") from error

    def save(self, path: Path) -> None:
        """Writes the submission to a file, atomically."""
        write_text_atomically(path, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Submission:
        """Reads a submission from a file.

        Raises:
            HloError: The file is no submission; the message says why.
            OSError: The file cannot be read.
        """
        if (size := path.stat().st_size) > MAX_BYTES:
            raise SubmissionError(f"expected at most {MAX_BYTES:,} bytes in {path}, got {size:,}")
        try:
            return cls.from_json(path.read_bytes())
        except HloError as error:
            raise SubmissionError(f"{path}: {error}") from error


def _check_texts(*texts: str) -> None:
    """Checks that texts can be printed, and stand in a line of a table."""
    for text in texts:
        if not text.isprintable() or len(text) > _MAX_TEXT:
            raise SubmissionError(
                f"expected one line of at most {_MAX_TEXT} printable characters, got "
                f"{text[:_MAX_TEXT]!r}"
            )


def _outputs(content: Mapping[str, Any]) -> Verdict:
    outputs = content["outputs"]
    if outputs not in _OUTPUTS:
        raise SubmissionError(f"expected outputs of {', '.join(_OUTPUTS)}, got {outputs!r}")
    return outputs


def _each(
    content: Mapping[str, Any], name: str, read: Callable[[dict[str, Any]], T]
) -> tuple[T, ...]:
    """Returns the entries of a list; an error says which of them is wrong."""
    entries = []
    for number, entry in enumerate(content[name], 1):
        try:
            entries.append(read(entry))
        except HloError as error:
            raise SubmissionError(f"number {number} of its {name}: {error}") from error
    return tuple(entries)
