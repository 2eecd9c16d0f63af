"""Writes a folder that shows where two jaxlibs differ, and needs neither program nor hlograph."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hlograph.comparing.side import Interpreter, labels_of
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.measured import Measured
from hlograph.plans import Program, jaxlib_modules
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

_FILE = "before_optimizations{}.hlo"
_SCRIPT = Path(__file__).with_name("reproduce.py")


@dataclass(frozen=True)
class Case:
    """A program that two jaxlibs compile differently.

    Attributes:
        programs: The program of each side; mostly one and the same.
        sample: Kind of its inputs (``hlograph.measuring.samples``), of seed 0.
        inputs: Its inputs.
        outputs: Outputs of both sides.
        finals: HLO text of both final modules.
        measured: Times of both.
        checks: Comparison of the outputs, as words.
        is_whole: True if it is the whole program, as no part shows the difference.
    """

    programs: tuple[Program, Program]
    sample: str
    inputs: Sequence[Array]
    outputs: tuple[Sequence[Array], Sequence[Array]]
    finals: tuple[str, str]
    measured: Measured
    checks: str
    is_whole: bool

    @property
    def files(self) -> tuple[str, str]:
        """Names of the files of the programs."""
        if self.programs[0] is self.programs[1]:
            return _FILE.format(""), _FILE.format("")
        return _FILE.format("_this"), _FILE.format("_other")

    def write(
        self, folder: Path, sides: tuple[Interpreter, Interpreter], report: str, content: Any
    ) -> None:
        """Writes the case, with a script that runs it.

        Args:
            folder: The folder, which is made.
            sides: Both sides.
            report: The whole comparison, as text.
            content: The same as JSON.

        Raises:
            OSError: A file cannot be written.
        """
        for name, program in zip(self.files, self.programs, strict=True):
            write_text_atomically(folder / name, jaxlib_modules.text_of(program.hlo))
        for side, final, outputs in zip(sides, self.finals, self.outputs, strict=True):
            write_text_atomically(folder / f"after_optimizations_{side.name}.hlo", final)
            write_bytes_atomically(folder / f"outputs_{side.name}.npz", _stored(outputs))
        write_bytes_atomically(folder / "inputs.npz", _stored(self.inputs))
        case = {
            "inputs": [array.dtype.name for array in self.inputs],
            "outputs": [array.dtype.name for array in self.outputs[0]],
            "sample": self.sample,
        }
        write_text_atomically(folder / "case.json", json.dumps(case, indent=2) + "\n")
        write_text_atomically(folder / "reproduce.py", _SCRIPT.read_text())
        write_text_atomically(folder / "comparison.json", json.dumps(content, indent=2) + "\n")
        write_text_atomically(folder / "README.md", self._readme(sides, report))

    def _readme(self, sides: tuple[Interpreter, Interpreter], report: str) -> str:
        this, other = sides
        labels = labels_of(this, other)
        measured = self.measured
        what = "The program" if self.is_whole else "A part of the program"
        files = " and ".join(f"`{name}`" for name in dict.fromkeys(self.files))
        return f"""# {labels[0]} and {labels[1]} differ

{what} is in {files}. Times are medians over {measured.pairs} turns:

| | time of a run |
|---|---|
| {labels[0]} | {measured.default_seconds * 1e6:.2f} µs |
| {labels[1]} | {measured.seconds * 1e6:.2f} µs |

The time under {labels[0]} over that under {labels[1]} is {measured.ratio:.3f}, with a 95 %
interval from {measured.low:.3f} to {measured.high:.3f}. Outputs: {self.checks}.

`after_optimizations_*.hlo` are the final modules, and `inputs.npz` has the inputs (of the sort
"{self.sample}"). To see it again, run the script, which needs jax alone:

```sh
{_command(this, self.files[0])}
{_command(other, self.files[1])}
```

## {this.name}

{_versions(this)}

## {other.name}

{_versions(other)}

## The whole comparison

```text
{report}
```
"""


def _command(side: Interpreter, file: str) -> str:
    variables = (f"{name}={shlex.quote(value)} " for name, value in side.environment.items())
    return f"{''.join(variables)}{shlex.quote(side.python)} reproduce.py {file}"


def _versions(side: Interpreter) -> str:
    lines = [f"- {name}: {value}" for name, value in side.versions.to_json().items()]
    lines += [f"- {name}={value}" for name, value in side.environment.items()]
    return "\n".join(lines)


def _stored(arrays: Sequence[Array]) -> bytes:
    """Returns a file of arrays, those of types that numpy lacks as integers."""
    file = io.BytesIO()
    plain = {
        f"a{number}": array if array.dtype.isbuiltin == 1 else array.view(f"u{array.itemsize}")
        for number, array in enumerate(each.copy(order="C") for each in arrays)
    }
    np.savez(file, **plain)  # pyright: ignore[reportArgumentType]
    return file.getvalue()
