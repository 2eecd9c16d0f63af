"""Shortens the findings of a pass campaign: first the passes, then the module.

    python -m tests.campaigns.fuzz_minimise runs/fuzz-seed0-.../report.json

For each group of findings it writes the shortest list of passes and the smallest module that still
show the same kind of defect, as HLO text for a regression test. Everything runs in an isolated
worker, since some of the defects end the process. Ctrl-C ends it early, with the smallest modules
so far.
"""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from tqdm import tqdm

from hlograph import Module
from hlograph.comparing.minimising import shortest
from hlograph.errors import HloError, WorkerLostError
from hlograph.isolation import FlightRecorder, Pool, WorkerLimits, WorkerPool
from hlograph.storage.atomic_write import write_text_atomically
from tests.campaigns.framework.module_sets import load
from tests.campaigns.framework.tasks import INTERRUPTED, progress
from tests.campaigns.fuzz_passes import lost_kind
from tests.campaigns.passes.checks import CheckedModule
from tests.campaigns.passes.records import FindingError, Tally

_LINE = re.compile(r"^  (ROOT )?(?P<name>[\w.-]+) = (?P<shape>\(.*?\)|\S+) (?P<opcode>[\w-]+)\(")


def with_entry(text: str, number: int) -> str:
    """Returns the module with another computation as its entry; callees come before callers."""
    head, *computations = text.split("\n\n")
    chosen = computations[number].removeprefix("ENTRY ").rstrip("\n")
    head = re.sub(r"(HloModule \S+?),.*", r"\1", head)
    kept = [head, *computations[:number], f"ENTRY {chosen}\n"]
    return _without_dead_computations("\n\n".join(kept))


def _entry(text: str) -> tuple[list[str], int, int]:
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("ENTRY"))
    return lines, begin, next(n for n in range(begin, len(lines)) if lines[n] == "}")


def entry_instructions(text: str) -> list[str]:
    """Returns the names of the instructions of the entry, without parameters."""
    lines, begin, end = _entry(text)
    matches = (_LINE.match(line) for line in lines[begin + 1 : end])
    return [m["name"] for m in matches if m and m["opcode"] != "parameter"]


def cut(text: str, kept: frozenset[str]) -> str:
    """Returns the module with only some instructions in its entry.

    The others become parameters if a kept one uses them. The root is a tuple of all kept
    instructions that have no user. Computations without a caller are removed.
    """
    lines, begin, end = _entry(text)
    shapes: dict[str, str] = {}
    body: list[str] = []
    used: set[str] = set()
    for line in lines[begin + 1 : end]:
        match = _LINE.match(line)
        if match is None:
            continue
        shapes[match["name"]] = match["shape"]
        if match["name"] in kept:
            body.append(line.replace("ROOT ", "", 1))
            used |= set(re.findall(r"[\w.-]+", line[match.end() :]))
    names = [m["name"] for line in body if (m := _LINE.match(line))]
    free = [name for name in shapes if name in used and name not in kept]
    parameters = [f"  {name} = {shapes[name]} parameter({n})" for n, name in enumerate(free)]
    results = [name for name in names if name not in used]
    shape = ", ".join(shapes[name] for name in results)
    root = f"  ROOT the_root = ({shape}) tuple({', '.join(results)})"
    head = re.sub(r"(HloModule \S+?),.*", r"\1", lines[0])
    pieces = [head, *lines[1 : begin + 1], *parameters, *body, root, "}", *lines[end + 1 :]]
    return _without_dead_computations("\n".join(pieces) + "\n")


def _without_dead_computations(text: str) -> str:
    """Removes computations whose name occurs once: where they are defined."""
    while True:
        blocks = text.split("\n\n")
        words = re.findall(r"[\w.-]+", text)
        alive = [
            block
            for block in blocks
            if block.startswith(("HloModule", "ENTRY"))
            or words.count(block.lstrip("%\n").split(" ")[0]) > 1
        ]
        if len(alive) == len(blocks):
            return text
        text = "\n\n".join(alive)


_ATTRIBUTES = (r", metadata=\{[^}]*\}", r", sharding=\{.*?\}(?=[,\n])", r"(?<=\])\{[\d,]+\}")
"""Patterns of metadata, shardings and layouts."""


@dataclass(frozen=True)
class Trial:
    """Task of a worker: to see if a defect appears.

    Attributes:
        module: Name of a module, or HLO text.
        passes: Pass calls.
        before_last: True to return the text of the module before the last pass instead.
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
        """Returns the kind of the defect, or the text that was asked for; None for neither."""
        is_text = trial.module.lstrip().startswith("HloModule")
        try:
            start = Module.from_text(trial.module) if is_text else load(trial.module)
            checked = CheckedModule("", start, self._recorder, random.Random(0), Tally())
            if trial.before_last:
                for name in trial.passes[:-1]:
                    checked.run(name)
                return checked.module.to_text()
            checked.verify()
        except (HloError, FindingError):
            return None  # the module is not valid
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
        pool: Pool of one worker, a `Prober`.
        kind: Kind of the defect that must still appear.
    """

    def __init__(self, pool: Pool, kind: str) -> None:
        self._pool, self._kind = pool, kind

    def passes(self, module: str, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the shortest list of passes that shows the defect; empty if none does."""
        if not self._shows(module, names):
            return ()
        return tuple(shortest(names, lambda some: self._shows(module, some)))

    def modules(self, text: str, names: Sequence[str]) -> Iterator[str]:
        """Yields the text, then smaller and smaller modules on which the passes show the defect."""
        smaller = text
        while True:
            yield (text := smaller)
            smaller = self._with_parameters(self._of_one_computation(text, names), names)
            for pattern in _ATTRIBUTES:
                plain = re.sub(pattern, "", smaller)
                smaller = plain if self._shows(plain, names) else smaller
            if len(smaller) >= len(text):
                return

    def text_before_last(self, module: str, names: Sequence[str]) -> str | None:
        """Returns the module before the last pass, if the others run without a finding."""
        answer = self._ask(Trial(module, tuple(names), before_last=True))
        return None if isinstance(answer, WorkerLostError) else answer

    def _with_parameters(self, text: str, names: Sequence[str]) -> str:
        """Replaces instructions of the entry by parameters and removes unused ones."""
        kept = shortest(
            entry_instructions(text), lambda some: self._shows(cut(text, frozenset(some)), names)
        )
        return cut(text, frozenset(kept))

    def _of_one_computation(self, text: str, names: Sequence[str]) -> str:
        """Makes the first computation that shows the defect the entry."""
        variants = (with_entry(text, number) for number in range(text.count("\n}\n")))
        return next((variant for variant in variants if self._shows(variant, names)), text)

    def _shows(self, module: str, names: Sequence[str]) -> bool:
        answer = self._ask(Trial(module, tuple(names)))
        return (lost_kind(answer) if isinstance(answer, WorkerLostError) else answer) == self._kind

    def _ask(self, trial: Trial) -> str | WorkerLostError | None:
        ((_, answer),) = self._pool.map([trial])
        return answer


def main(report: tyro.conf.Positional[Path], out: Path | None = None) -> int:
    """Shortens one finding of each group.

    Args:
        report: report.json of a campaign.
        out: Folder for the modules; by default beside the report.

    Returns:
        Exit status: 0, or 130 after Ctrl-C.
    """
    groups = json.loads(report.read_text(encoding="utf-8"))["findings"]
    out = out or report.parent
    try:
        with (
            WorkerPool(Prober, 1, WorkerLimits(seconds=20)) as pool,
            progress(len(groups), "finding") as bar,
        ):
            for number, group in enumerate(groups):
                _minimise(group["examples"][0], pool, out / f"finding-{number}.hlo")
                bar.update()
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _minimise(example: dict[str, Any], pool: Pool, path: Path) -> None:
    minimiser = Minimiser(pool, example["kind"])
    names = minimiser.passes(example["benchmark"], example["passes"])
    tqdm.write(f"{example['kind']} on {example['benchmark']}: {' '.join(names) or 'not again'}")
    text = minimiser.text_before_last(example["benchmark"], names) if names else None
    if text is None:
        return
    for smaller in minimiser.modules(text, names[-1:]):
        write_text_atomically(path, f"// {example['kind']}: {names[-1]}\n{smaller}")
        tqdm.write(f"  {names[-1]} on {path}: {len(smaller.splitlines())} lines")


if __name__ == "__main__":
    prog = "python -m tests.campaigns.fuzz_minimise"
    sys.exit(tyro.cli(main, prog=prog, description=__doc__))
