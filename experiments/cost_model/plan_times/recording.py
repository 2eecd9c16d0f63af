"""Recordings: the final module of a plan, its time, and the times of its kernels."""

import base64
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from experiments.evaluate.run_folder import file_stem
from hlograph.plans.knobs import Point
from hlograph.storage.appended_lines import append_line, appended_lines


class KernelTime(NamedTuple):
    """Time of one instruction of a final module.

    Attributes:
        name: Name of the instruction; "outside kernels" for the rest of the run.
        calls: Number of times that it runs in a run.
        seconds: Seconds of all calls in a run.
    """

    name: str
    calls: float
    seconds: float


@dataclass(frozen=True)
class Recording:
    """One plan of a program, as it was compiled and run.

    Attributes:
        point: The decisions.
        flags: Flags of the compilation.
        module: Text of the final module, without metadata and large constants.
        turns: Seconds of one run of the default and of the plan, for each turn.
        kernels: Times of the kernels, the slowest first; empty if XLA's profiler recorded none.
        accounted: Share of a run's time that the profiler accounted for before the times of the
            kernels were scaled to add up to it.
        compile_seconds: Seconds of jaxlib's compilation.
        memory: Bytes of temporary buffers.
    """

    point: Point
    flags: dict[str, Any]
    module: str
    turns: tuple[tuple[float, float], ...]
    kernels: tuple[KernelTime, ...]
    accounted: float
    compile_seconds: float
    memory: int

    @property
    def ratio(self) -> float:
        """Median of the ratios default / plan."""
        return median(default / plan for default, plan in self.turns)

    def to_line(self) -> str:
        """Returns the recording as one line of text."""
        packed = base64.b85encode(zlib.compress(self.module.encode(), 6)).decode()
        content = {**asdict(self), "point": self.point.values, "module": packed}
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> "Recording":
        """Returns the recording that ``to_line`` wrote.

        Raises:
            ValueError: The line was cut off, or is something else.
        """
        try:
            fields = json.loads(line)
            fields["point"] = Point.of(fields["point"])
            fields["module"] = zlib.decompress(base64.b85decode(fields["module"])).decode()
            fields["turns"] = tuple((default, plan) for default, plan in fields["turns"])
            fields["kernels"] = tuple(KernelTime(*kernel) for kernel in fields["kernels"])
            return cls(**fields)
        except (KeyError, TypeError, zlib.error) as error:
            raise ValueError(f"expected a recording, got {line[:80]!r}") from error


def file_of(folder: Path, program: str) -> Path:
    """Returns the file of a program's recordings, which has a line for each."""
    return folder / "recordings" / f"{file_stem(program)}.jsonl"


def read(file: Path) -> Iterator[Recording]:
    """Yields the recordings of a file, from old to new, without lines that were cut off."""
    for line in appended_lines(file):
        try:
            yield Recording.from_line(line)
        except ValueError:
            continue


def append(file: Path, recording: Recording) -> None:
    """Appends a recording to a file."""
    append_line(file, recording.to_line())
