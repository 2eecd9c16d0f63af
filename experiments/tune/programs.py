"""The programs of a run: of the speed set, or files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.speed.programs import Split, chosen_programs
from hlograph.errors import HloError

if TYPE_CHECKING:
    from experiments.speed.trials import Subject
    from hlograph.module import Module


@dataclass(frozen=True)
class FileProgram:
    """A program of a file, of any kind that ``hlograph.Module.read`` reads."""

    path: Path
    content: bytes = field(repr=False)
    """Its bytes, since other machines may not have the file."""

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def family(self) -> str:
        """The word "file"."""
        return "file"

    def load(self) -> "Module":
        """Returns the program.

        Raises:
            HloParseError: The file holds no HLO module.
        """
        from hlograph.module import Module

        return Module.read(self.content)


def programs_of(
    names: Sequence[str], split: Split | None, per_family: int | None
) -> "list[Subject]":
    """Returns the programs that a command line names.

    Args:
        names: Names or globs of programs of the speed set, and paths of files. With none, the
            programs of the split are taken.
        split: Split of the speed set; None takes all splits, if there are names.
        per_family: Number of programs of each family, if there are no names; None takes all.

    Raises:
        HloError: There is no such program, or neither a name nor a split was given.
    """
    if not names:
        if split is None:
            raise HloError(
                "expected programs: names or globs of the speed set, files, or a split such as "
                "--split test"
            )
        return list(chosen_programs(split, ["*"], per_family))
    found: dict[str, Subject] = {}
    for name in names:
        if Path(name).is_file():
            found[name] = FileProgram(Path(name), Path(name).read_bytes())
        else:
            found |= {one.name: one for one in chosen_programs(split, [name], None)}
    return list(found.values())
