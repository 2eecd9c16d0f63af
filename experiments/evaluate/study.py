"""The result of one experiment in one file: trials of several methods on the same benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.evaluate.benchmarks import Reference
from experiments.evaluate.evaluation import Check, Outcome
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import Location
from hlograph.storage.provenance import provenance

STUDY = "study.json"
_KIND, _VERSION = "study", 1


@dataclass(frozen=True)
class Trial:
    """Results of one method with one seed on a group of benchmarks."""

    method: str
    """Name that tables and pictures show."""
    seed: int
    group: str
    """The benchmarks, such as "gpt2-train test-unseen"."""
    outcomes: Sequence[Outcome]
    checks: Sequence[Check] = ()
    """Checks of the outcomes, in their order; empty if they were not checked."""
    seconds: Sequence[float] = ()
    """Wall time that each outcome took to find; empty if not measured."""
    curves: Mapping[str, Sequence[tuple[int, float, int]]] = field(default_factory=dict)
    """Improvements of a search, by benchmark: pass calls, seconds, op count."""
    training: Sequence[tuple[int, Mapping[str, float]]] = ()
    """Pass calls trained on, and by reference the count ratio on validation modules after them."""

    @property
    def key(self) -> str:
        """Key of the trial in a study's measurements."""
        return trial_key(self.group, self.method, self.seed)

    def counted(self) -> list[Outcome]:
        """Returns the outcomes. One that failed its check counts as no passes."""
        if not self.checks:
            return list(self.outcomes)
        return [o.unless(c) for o, c in zip(self.outcomes, self.checks, strict=True)]


@dataclass(frozen=True)
class Study:
    """An experiment's result, from which its tables and pictures are made."""

    name: str
    """Name of the experiment, such as "figure2"; it decides what the report draws."""
    preset: str
    settings: Mapping[str, Any]
    references: Mapping[str, Reference]
    """Start and references of all benchmarks of all trials, by benchmark."""
    trials: Sequence[Trial]
    best_known: Mapping[str, int] = field(default_factory=dict)
    """Least known op count, by benchmark that has one."""
    measurements: Mapping[str, Any] = field(default_factory=dict)
    """Results that are no trials, such as run times."""
    notes: Sequence[str] = ()
    """Notes for the reader, such as what was left out and what failed."""
    made: Mapping[str, Any] = field(default_factory=provenance)
    """Command, commit, machine and versions."""

    def groups(self) -> list[str]:
        """Returns the names of the groups of benchmarks, in the order of the trials."""
        return list(dict.fromkeys(trial.group for trial in self.trials))

    def methods(self, group: str) -> list[str]:
        """Returns the names of the methods that were tried on a group."""
        return list(dict.fromkeys(t.method for t in self.trials if t.group == group))

    def of(self, method: str, group: str) -> list[Trial]:
        """Returns the trials of a method on a group, one for each seed."""
        return [t for t in self.trials if t.method == method and t.group == group]

    def save(self, folder: Path) -> None:
        """Writes the study into a folder, with a checksum, atomically.

        Raises:
            OSError: It cannot be written.
        """
        write_checked_json(folder / STUDY, _KIND, _VERSION, asdict(self))

    @classmethod
    def load(cls, path: Location) -> "Study":
        """Reads a study that ``save`` wrote.

        Args:
            path: The file.

        Raises:
            DamagedFileError: The file is cut off or altered, or no study of this version.
            OSError: It cannot be read.
        """
        content = read_checked_json(path, _KIND, _VERSION)
        content.pop("checksum", None)
        return cls(
            **content
            | {
                "references": {k: Reference(**v) for k, v in content["references"].items()},
                "trials": [_trial(trial) for trial in content["trials"]],
            }
        )


def trial_key(group: str, method: str, seed: int) -> str:
    """Returns ``Trial.key`` before there is a trial."""
    return f"{group}: {method}, seed {seed}"


def _trial(content: dict[str, Any]) -> Trial:
    return Trial(
        **content
        | {
            "outcomes": [Outcome.from_json(o) for o in content["outcomes"]],
            "checks": [Check(**c) for c in content["checks"]],
            "curves": {k: [tuple(p) for p in v] for k, v in content["curves"].items()},
            "training": [(steps, ratios) for steps, ratios in content["training"]],
        }
    )
