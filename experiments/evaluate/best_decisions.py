"""Decisions of the fastest plans that were measured, kept as data beside the corpus."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hlograph import corpus
from hlograph.errors import DamagedFileError
from hlograph.storage.atomic_write import write_text_atomically

FILE = Path(__file__).parents[2] / "datasets" / "best_decisions.jsonl"


@dataclass(frozen=True)
class BestDecisions:
    """The decisions of the fastest measured plan of a program, in the order to take them.

    Attributes:
        benchmark: Name of the program in the corpus.
        fingerprint: Fingerprint of its module at the time of the measurement.
        decisions: Names of actions of ``hlograph.decisions.plan_states``; none where jaxlib's
            default was the fastest.
        ratio: jaxlib's default / plan, in the slower of two fresh processes; 1 for the default.
        low: Lower end of its 95 % interval.
        high: Upper end of the interval.
        method: Method of the search that found the plan.
        measured: Number of plans that this search had measured.
        jaxlib: Version of jaxlib.
        cpu: Name of the CPU.
    """

    benchmark: str
    fingerprint: str
    decisions: tuple[str, ...]
    ratio: float
    low: float
    high: float
    method: str
    measured: int
    jaxlib: str
    cpu: str

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "BestDecisions":
        """Returns the decisions that a line of the file has."""
        return cls(**{**content, "decisions": tuple(content["decisions"])})

    def improves(self, old: "BestDecisions | None") -> bool:
        """Returns True if its plan is faster than another one of the same program for certain.

        Decisions about another module by the same name are always replaced.
        """
        return old is None or old.fingerprint != self.fingerprint or self.low > old.ratio


def read(path: Path = FILE) -> dict[str, BestDecisions]:
    """Returns all decisions, by program; none if there is no such file.

    Raises:
        DamagedFileError: A line is none of this file's.
    """
    if not path.exists():
        return {}
    entries = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = BestDecisions.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(f"line {number} of {path} is damaged: {error!r}") from error
        entries[entry.benchmark] = entry
    return entries


def current(benchmarks: Sequence[str], path: Path = FILE) -> dict[str, BestDecisions]:
    """Returns the decisions about those benchmarks that the corpus has unchanged, by name."""
    recorded = read(path)
    fingerprints = {b.name: b.fingerprint for b in corpus.load("speed")}
    return {
        name: recorded[name]
        for name in benchmarks
        if name in recorded and recorded[name].fingerprint == fingerprints.get(name)
    }


def write(new: Iterable[BestDecisions], path: Path = FILE) -> int:
    """Adds decisions that improve the known ones, and returns their number.

    Raises:
        OSError: The file cannot be written; what was there before is unchanged.
    """
    recorded, improved = read(path), 0
    for entry in new:
        if entry.improves(recorded.get(entry.benchmark)):
            recorded[entry.benchmark] = entry
            improved += 1
    lines = [json.dumps(asdict(recorded[name])) for name in sorted(recorded)]
    write_text_atomically(path, "".join(f"{line}\n" for line in lines))
    return improved
