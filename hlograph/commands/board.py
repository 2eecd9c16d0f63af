"""``hlograph board``: makes submissions to the board, and replays them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.board.submission import Category, Submission, SubmissionError, SubmittedPlan
from hlograph.commands.command import Answer, Command, OptionalFile, one_line
from hlograph.commands.text_tables import counted
from hlograph.corpus.shipped import CorpusSet, Split, load
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.board.claims import Claims

_SAID = 5
"""Differences that the message of a refusal names."""
_PACKAGES = ("hlograph", "jaxlib", "tensorflow-cpu")

_Number = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]
_Text = Annotated[str | None, tyro.conf.arg(metavar="TEXT", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class _ReplayCommand(Command):
    """Options of both commands."""

    samples: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Random inputs on which outputs are compared; 0 compares none."""
    workers: _Number = None
    """Number of worker processes; None is one a core."""

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            HloError: One of them has no meaning.
        """
        if self.samples < 0:
            raise HloError(f"--samples: expected 0 or more, got {self.samples}")
        if self.workers is not None and self.workers < 1:
            raise HloError(f"--workers: expected 1 or more, got {self.workers}")


@dataclass(frozen=True, kw_only=True)
class SubmitResults(_ReplayCommand):
    """Makes a submission of results, which are replayed on the way.

    A SOURCE is the folder of `python -m experiments.evaluate --out` or a study.json; a file with
    the JSON of a trajectory in each line, as environments give it; a plan for a program of the
    corpus; a CSV with the columns of datasets/best_known.csv; or the name of a reference pipeline.
    """

    source: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="SOURCE ...", help_behavior_hint=""),
    ] = ()
    """What to submit."""
    name: str
    """Name on the board: lower-case letters, digits, dots and hyphens."""
    authors: str
    """Who submits it."""
    category: Category = "policy"
    """What made the results."""
    about: str = ""
    """What it is, in one line."""
    method: _Text = None
    """Method of a study with several."""
    seed: _Number = None
    """Seed of a study with several."""
    set: Annotated[CorpusSet | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Set of the corpus; None takes modules of all."""
    split: Annotated[tuple[Split, ...], tyro.conf.arg(help_behavior_hint="")] = ()
    """Splits of the corpus; modules of others are left out."""
    like: OptionalFile = None
    """A submission; modules that it does not have are left out."""
    out: OptionalFile = None
    """File to write; None is NAME.json."""

    def run(self) -> Answer:
        """Replays the results, and writes the submission; see the class."""
        from hlograph.board.replaying import check_plan, replays

        claims = self._claims()
        draft = self._draft(claims)  # which refuses wrong texts before minutes of replays
        answers = replays(claims.steps, self.samples, self.workers) if claims.steps else []
        if refused := [str(answer) for answer in answers if isinstance(answer, HloError)]:
            raise SubmissionError(_refusal(refused, len(answers)))
        submission = replace(
            draft,
            trajectories=tuple(each for each in answers if not isinstance(each, HloError)),
            plans=tuple(check_plan(name, plan) for name, plan in claims.plans),
        )
        path = self.out or Path(f"{self.name}.json")
        submission.save(path)
        content = {"out": str(path), "modules": len(answers), "plans": len(claims.plans)}
        return Answer(f"{_told(submission)}, written to {path}", content)

    def _claims(self) -> Claims:
        from hlograph.board.claims import Claims, claims_of

        selected, claims = self._selected(), Claims()
        for source in self.source:
            claims |= claims_of(source, selected or (), self.method, self.seed)
        if selected is not None:
            claims = claims.only(selected)
        if not claims.steps and not claims.plans:
            raise SubmissionError(
                "expected a source with results on the modules that --set, --split and --like "
                "choose, got none; a reference pipeline needs one of these options"
            )
        return claims

    def _selected(self) -> list[str] | None:
        """Returns the names of the modules that the options choose; None if they choose none."""
        chosen = load(self.set, self.split or None).names if self.set or self.split else None
        if self.like is None:
            return chosen
        other = Submission.load(self.like)
        names = [each.benchmark for each in (*other.trajectories, *other.plans)]
        return names if chosen is None else [name for name in names if name in set(chosen)]

    def _draft(self, claims: Claims) -> Submission:
        """Returns the submission as it is before the replay."""
        from hlograph.storage.provenance import git_commit

        return Submission(
            name=self.name,
            category=self.category,
            authors=self.authors,
            about=self.about,
            commit=claims.commit or git_commit() or "",
            command=claims.command,
            versions=_versions(),
            trajectories=tuple(each.unreplayed() for each in claims.steps),
            plans=tuple(SubmittedPlan(name, plan, "not comparable") for name, plan in claims.plans),
        )


@dataclass(frozen=True, kw_only=True)
class VerifySubmissions(_ReplayCommand):
    """Replays submissions: op counts, fingerprints, and outputs beside those of the originals.

    The exit status is 1 if anything differs. Speeds of plans are claims of their machines.
    """

    file: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="FILE ...", help_behavior_hint=""),
    ] = ()
    """Submissions."""

    def run(self) -> Answer:
        """Replays the submissions; see the class."""
        if not self.file:
            raise HloError("expected at least one file with a submission")
        contents: list[dict[str, Any]] = []
        lines: list[str] = []
        for path in self.file:
            said, differing = self._verified(path)
            contents.append({"file": str(path), "differences": differing})
            lines += [f"{path}: {said}", *(f"  {line}" for line in differing)]
        failed = any(content["differences"] for content in contents)
        return Answer("\n".join(lines), contents, int(failed))

    def _verified(self, path: Path) -> tuple[str, list[str]]:
        """Returns a summary of a submission, and a line for each difference."""
        from hlograph.board.replaying import differences

        try:
            submission = Submission.load(path)
            differing = list(differences(submission, self.samples, self.workers))
        except (HloError, OSError) as error:
            return "not verified", [one_line(error)]
        number = len(submission.trajectories) + len(submission.plans)
        if differing:
            return f"{len(differing)} of {counted(number, 'result')} differ", differing
        how = "replayed" if self.samples else "replayed, without a comparison of outputs"
        return f"{_told(submission)}, {how}", []


def _told(submission: Submission) -> str:
    results = (*submission.trajectories, *submission.plans)
    compared = sum(each.outputs != "not comparable" for each in results)
    return (
        f"{submission.name}: {counted(len(results), 'result')}, {compared} of them with outputs "
        "equal or close to those of the originals"
    )


def _refusal(refused: Sequence[str], number: int) -> str:
    more = f"; and {len(refused) - _SAID} more" if len(refused) > _SAID else ""
    listed = "; ".join(refused[:_SAID])
    return f"refused: {len(refused)} of {counted(number, 'module')} differ: {listed}{more}"


def _versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
