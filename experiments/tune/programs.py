"""The programs of a run: of the speed set, or files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from experiments.evaluate.speed_programs import Split, chosen_programs, names_per_family
from hlograph.corpus import Benchmark
from hlograph.errors import HloError
from hlograph.module import Module

PER_FAMILY = 2
"""Programs that are taken of each family of a split, if no names are given."""


@dataclass(frozen=True)
class FileProgram:
    """A program of a file, in any format that ``hlograph.Module.read`` reads."""

    path: Path
    content: bytes = field(repr=False)
    """Bytes of the file, which other machines may not have."""

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def family(self) -> str:
        """The word "file"."""
        return "file"

    def load(self) -> Module:
        """Returns the program.

        Raises:
            HloParseError: The file holds no HLO module.
        """
        return Module.read(self.content)


class TunedProgram(Protocol):
    """A program to race on: a benchmark, a file, or another one that can be loaded."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def family(self) -> str:
        """Its family."""
        ...

    def load(self) -> Module:
        """Returns it.

        Raises:
            HloError: It cannot be read.
        """
        ...


def programs_of(
    names: Sequence[str], split: Split | None, per_family: int | None
) -> list[Benchmark | FileProgram]:
    """Returns the programs that a command line names.

    Args:
        names: Names or globs of programs of the speed set, and paths of files. With none, the
            programs of the split are taken.
        split: Split of the speed set; None takes all splits, if there are names.
        per_family: Number of programs of each family. None takes all that the names match, and
            ``PER_FAMILY`` without names.

    Raises:
        HloError: There is no such program, or neither a name nor a split was given.
    """
    if not names and split is None:
        raise HloError(
            "expected programs: names or globs of the speed set, files, or a split such as "
            "--split test"
        )
    files: dict[str, FileProgram] = {}
    benchmarks: dict[str, Benchmark] = {}
    order: dict[str, None] = {}
    for name in names or ["*"]:
        if Path(name).is_file():
            files[name] = FileProgram(Path(name), Path(name).read_bytes())
            order[name] = None
        else:
            matched = chosen_programs(split, [name], None)
            benchmarks |= {benchmark.name: benchmark for benchmark in matched}
            order |= dict.fromkeys(benchmark.name for benchmark in matched)
    number = PER_FAMILY if per_family is None and not names else per_family
    if number is not None:
        taken = names_per_family(benchmarks.values(), number)
        benchmarks = {name: benchmarks[name] for name in taken}
    programs = {**benchmarks, **files}
    return [programs[name] for name in order if name in programs]
