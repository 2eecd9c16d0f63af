"""Says by how much predicted run times are off, on programs that no rate was fitted to.

``python -m benchmarks.ranking --rates default --errors FILE`` measures those that come with
hlograph, of its rates and of predictions kernel by kernel (``hlograph.predict``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.machine import Machine

_KIND, _VERSION = "prediction errors", 1
_DEFAULT = Path(__file__).with_name("default_errors.json")
_QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """Measured over predicted seconds of programs, by percentile.

    Attributes:
        machine: The machine that was predicted and measured.
        programs: Number of programs.
        families: Number of families that they are from.
        low: One in twenty programs took less than this many times its predicted time.
        median: Half of them did.
        high: All but one in twenty did.
        shortest: Measured seconds of the program that ran shortest.
        longest: The same of the one that ran longest.
    """

    machine: Machine
    programs: int
    families: int
    low: float
    median: float
    high: float
    shortest: float
    longest: float

    @classmethod
    def of(
        cls,
        machine: Machine,
        families: Sequence[str],
        predicted: Sequence[float],
        measured: Sequence[float],
    ) -> Self:
        """Returns the errors of predictions.

        Args:
            machine: The machine that was predicted and measured.
            families: The family of each program.
            predicted: Predicted seconds of each.
            measured: Measured seconds of each.
        """
        factors = np.quantile(np.divide(measured, predicted), _QUANTILES)
        numbers = (float(f"{number:.3g}") for number in (*factors, min(measured), max(measured)))
        return cls(machine, len(families), len(set(families)), *numbers)

    def interval(self, seconds: float) -> tuple[float, float]:
        """Returns the seconds between which nine of ten programs of a predicted time ran."""
        return self.low * seconds, self.high * seconds

    def to_json(self) -> dict[str, Any]:
        """Returns the errors as a JSON object, which ``from_json`` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Returns the errors that ``to_json`` wrote.

        Raises:
            DamagedFileError: The content is something else.
        """
        names = [field.name for field in fields(cls) if field.name != "machine"]
        values = [content.get(name) for name in names]
        if not all(isinstance(value, float | int) and 0 < value < math.inf for value in values):
            raise DamagedFileError(f"expected numbers above 0, got {content!r:.200}")
        numbers: dict[str, Any] = dict(zip(names, values, strict=True))
        return cls(Machine.from_json(content.get("machine")), **numbers)

    def save(self, path: Path) -> None:
        """Writes the errors to a file.

        Raises:
            OSError: It cannot be written.
        """
        write_checked_json(path, _KIND, _VERSION, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads the errors from a file.

        Raises:
            DamagedFileError: The file is damaged, or of another version of hlograph.
            OSError: It cannot be read.
        """
        return cls.from_json(read_checked_json(path, _KIND, _VERSION))


@cache
def default_errors() -> PredictionErrors:
    """Returns the errors that come with hlograph: of its rates, on the machine they are from."""
    return PredictionErrors.load(_DEFAULT)
