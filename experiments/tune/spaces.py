"""Sizes of the spaces of a run's programs."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from experiments.evaluate.results import markdown_table
from experiments.evaluate.run_folder import file_stem
from experiments.tune.programs import TunedProgram
from hlograph.errors import HloError
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Numerics, Program
from hlograph.plans.knobs import STAGES, Knob, Point
from hlograph.storage.atomic_write import write_text_atomically

# The knob of steps has the plans of other methods as values, which are found in a search.
_STAGES = tuple(stage for stage in STAGES if stage != "steps")


@dataclass(frozen=True)
class SpaceSize:
    """Size of the space of one program, as jaxlib compiles it by default.

    Attributes:
        knobs: Number of knobs by stage. Those about less than 1 % of the time are not counted.
        digits: Logarithm to base 10 of the number of points.
        error: The reason why the knobs were not listed; empty if they were.
    """

    knobs: Mapping[str, int]
    digits: float
    error: str = ""

    @classmethod
    def of(cls, knobs: Sequence[Knob]) -> "SpaceSize":
        """Returns the size of a space with these knobs."""
        digits = sum(math.log10(1 + len(knob.values)) for knob in knobs)
        return cls(dict(Counter(knob.stage for knob in knobs)), digits)


def measure_spaces(programs: Iterable[TunedProgram], numerics: Numerics, folder: Path) -> None:
    """Lists the knobs of programs whose sizes are not known yet, and writes their sizes.

    Args:
        programs: The programs.
        numerics: Class of results.
        folder: Folder of the run.
    """
    by_name = {program.name: program for program in programs}
    missing = [program for name, program in by_name.items() if not _file(folder, name).exists()]
    for program in tqdm(missing, unit="program", desc="list knobs", disable=None):
        size = _measured(program, numerics)
        write_text_atomically(_file(folder, program.name), json.dumps(asdict(size)) + "\n")


def spaces_table(names: Iterable[str], folder: Path) -> str:
    """Returns the sizes that are known as a table in Markdown; empty if none is.

    Args:
        names: Names of the programs.
        folder: Folder of the run.
    """
    rows = [
        _row(name, SpaceSize(**json.loads(_file(folder, name).read_text())))
        for name in dict.fromkeys(names)
        if _file(folder, name).exists()
    ]
    heads = ("program", *_STAGES, "points")
    return markdown_table(heads, rows) if rows else ""


def _row(name: str, size: SpaceSize) -> tuple[str, ...]:
    if size.error:
        return (name, *("" for _ in _STAGES), size.error)
    return (name, *(str(size.knobs.get(stage, 0)) for stage in _STAGES), f"10^{size.digits:.0f}")


def _measured(program: TunedProgram, numerics: Numerics) -> SpaceSize:
    try:
        space = ProgramSpace(Program.of(program.load()), numerics)
        try:
            return SpaceSize.of(space.knobs(Point()))
        finally:
            space.close()
    except HloError as error:
        return SpaceSize({}, math.nan, str(error))


def _file(folder: Path, name: str) -> Path:
    return folder / "spaces" / f"{file_stem(name)}.json"
