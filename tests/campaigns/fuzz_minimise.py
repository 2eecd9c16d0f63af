"""Shortens the findings of a fuzz campaign: first the passes, then the module.

    python -m tests.campaigns.fuzz_minimise runs/fuzz-seed0-.../report.json

For each group of findings it writes the shortest list of passes and the smallest module that
still show the same kind of defect, as HLO text to make a regression test of. Everything runs in
an isolated worker, for some of the defects end the process.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import tyro

from hlograph import Module, corpus
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import FlightRecorder, Limits, Pool, WorkerPool
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.fuzz_passes import lost_kind
from tests.campaigns.passes.checks import CheckedModule
from tests.campaigns.passes.cut import cut, entry_instructions, with_entry
from tests.campaigns.passes.records import FindingError, Tally

T = TypeVar("T")


@dataclass(frozen=True)
class Trial:
    """A task: does a defect show?

    Attributes:
        module: Name of a corpus module, or HLO text.
        passes: Pass calls.
        before_last: Whether to return the text before the last pass instead.
    """

    module: str
    passes: tuple[str, ...]
    before_last: bool = False


class Prober:
    """Runs passes with all checks, in a worker process.

    Args:
        recorder: Where calls into XLA are noted.
    """

    def __init__(self, recorder: FlightRecorder) -> None:
        self._recorder = recorder

    def __call__(self, trial: Trial) -> str | None:
        """The kind of the defect that shows, or the text asked for; None for neither."""
        try:
            start = _module(trial.module)
            checked = CheckedModule("", start, self._recorder, random.Random(0), Tally())
            if trial.before_last:
                for name in trial.passes[:-1]:
                    checked.run(name)
                return checked.module.to_text()
            checked.verify()
        except (HloError, FindingError):
            return None  # not a valid module to begin with
        try:
            for name in trial.passes:
                checked.run(name)
            checked.verify()
            checked.check_replay()
            checked.check_round_trips()
        except FindingError as error:
            return error.finding.kind
        return None


class Minimiser:
    """Shortens one finding.

    Args:
        pool: Of one worker, a `Prober`.
        kind: The kind of defect that must go on to show.
    """

    def __init__(self, pool: Pool, kind: str) -> None:
        self._pool, self._kind = pool, kind

    def passes(self, module: str, names: Sequence[str]) -> tuple[str, ...]:
        """The shortest list found of passes that still shows the defect; empty if none does."""
        if not self._shows(module, names):
            return ()
        return tuple(shortest(names, lambda some: self._shows(module, some)))

    def module(self, text: str, names: Sequence[str]) -> str:
        """The smallest text found of a module on which the passes show the defect."""
        while True:
            smaller = self._with_parameters(self._of_one_computation(text, names), names)
            smaller = self._without_attributes(smaller, names)
            if len(smaller) >= len(text):
                return text
            text = smaller

    def text_before_last(self, module: str, names: Sequence[str]) -> str | None:
        """The module before the last pass, if the others run without a finding."""
        answer = self._ask(Trial(module, tuple(names), before_last=True))
        return None if isinstance(answer, WorkerLostError) else answer

    def _with_parameters(self, text: str, names: Sequence[str]) -> str:
        """Turns instructions of the entry into parameters, and drops what nothing uses then."""
        kept = shortest(
            entry_instructions(text),
            lambda some: self._shows(cut(text, frozenset(some)), names),
        )
        return cut(text, frozenset(kept))

    def _of_one_computation(self, text: str, names: Sequence[str]) -> str:
        """Makes the first computation on which the defect shows the entry."""
        variants = (with_entry(text, number) for number in range(text.count("\n}\n")))
        return next((variant for variant in variants if self._shows(variant, names)), text)

    def _without_attributes(self, text: str, names: Sequence[str]) -> str:
        """Drops attributes at the ends of lines: metadata, shardings, layouts."""
        for pattern in (
            r", metadata=\{[^}]*\}",
            r", sharding=\{.*?\}(?=[,\n])",
            r"(?<=\])\{[\d,]+\}",
        ):
            plain = re.sub(pattern, "", text)
            text = plain if self._shows(plain, names) else text
        return text

    def _shows(self, module: str, names: Sequence[str]) -> bool:
        answer = self._ask(Trial(module, tuple(names)))
        return (lost_kind(answer) if isinstance(answer, WorkerLostError) else answer) == self._kind

    def _ask(self, trial: Trial) -> str | WorkerLostError | None:
        ((_, answer),) = self._pool.map([trial])
        return answer


def shortest(items: Sequence[T], shows: Callable[[list[T]], bool]) -> list[T]:
    """Drops as many items as it can, in chunks that get smaller (Zeller's ddmin, complements).

    Args:
        items: For which `shows` is true.
        shows: Whether the defect shows with some of the items, in order.
    """
    kept, size = list(items), max(1, len(items) // 2)
    while True:
        before, at = len(kept), 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if shows(fewer):
                kept = fewer
            else:
                at += size
        if size > 1:
            size = (size + 1) // 2 if size > 2 else 1
        elif len(kept) == before:
            return kept


def _module(source: str) -> Module:
    if source.lstrip().startswith("HloModule"):
        return Module.from_text(source)
    return corpus.benchmark(source).load()


def main(report: tyro.conf.Positional[Path], out: Path | None = None) -> None:
    """Shortens one finding of each group.

    Args:
        report: report.json of a campaign.
        out: Folder for the modules; by default beside the report.
    """
    groups = json.loads(report.read_text(encoding="utf-8"))["findings"]
    out = out or report.parent
    with WorkerPool(Prober, 1, Limits(seconds=20)) as pool:
        for number, group in enumerate(groups):
            example = group["examples"][0]
            minimiser = Minimiser(pool, example["kind"])
            names = minimiser.passes(example["benchmark"], example["passes"])
            print(f"{example['kind']} on {example['benchmark']}: {' '.join(names) or 'not again'}")
            text = minimiser.text_before_last(example["benchmark"], names) if names else None
            if text is None:
                continue
            reduced = minimiser.module(text, names[-1:])
            path = out / f"finding-{number}.hlo"
            write_text_atomically(path, f"// {example['kind']}: {names[-1]}\n{reduced}")
            print(f"  {names[-1]} on {path}: {len(reduced.splitlines())} lines")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
