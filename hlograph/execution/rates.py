"""Predicted run times: amounts of work, from the native extension, times rates of a machine.

    >>> module = hlograph.Module.load("step.hlo")
    >>> module.seconds()
    0.000213
    >>> min(module.rewrites(), key=lambda rewrite: rewrite.seconds)

A prediction takes microseconds. It is rough: it is there to order rewrites and programs before the
best of them are measured. ``hlograph calibrate`` measures the rates of this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hlograph._native import native
from hlograph.errors import DamagedFileError, HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.locations import cache_folder
from hlograph.storage.machine import Machine, machine

if TYPE_CHECKING:
    from hlograph import _xla

_KIND, _VERSION = "rates", 1
_DEFAULT = Path(__file__).with_name("default_rates.json")


@cache
def features() -> tuple[str, ...]:
    """Returns the names of the features of work, in the order of their numbers."""
    return tuple(native().work_features())


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds of one unit of each feature, as measured on a machine.

    Attributes:
        machine: The machine.
        seconds: Seconds of one unit, in the order of ``features()``.
    """

    machine: Machine
    seconds: tuple[float, ...]

    def predict(self, work: Iterable[tuple[int, float]]) -> float:
        """Returns the seconds of some work: numbers of features, and their amounts."""
        return sum(amount * self.seconds[feature] for feature, amount in work)

    def predict_module(self, module: _xla.Module) -> float:
        """Returns the seconds of one run of a module."""
        return self.predict(native().work(module))

    @property
    def call(self) -> float:
        """Seconds of a program's call, whatever it computes; a part of each module's prediction."""
        return self.seconds[features().index("programs")]

    def to_json(self) -> dict[str, Any]:
        """Returns the rates as a JSON object, which ``from_json`` reads."""
        seconds = dict(zip(features(), self.seconds, strict=True))
        return {"machine": self.machine.to_json(), "seconds": seconds}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Returns the rates that ``to_json`` wrote.

        Raises:
            DamagedFileError: The content is something else, or has other features.
        """
        seconds = content.get("seconds")
        if not isinstance(seconds, dict) or seconds.keys() != set(features()):
            raise DamagedFileError(f"expected seconds of each feature, got {seconds!r:.200}")
        values = tuple(seconds[name] for name in features())
        if not all(isinstance(value, float | int) and 0 <= value < math.inf for value in values):
            raise DamagedFileError(f"expected seconds of at least 0, got {seconds!r:.200}")
        return cls(Machine.from_json(content.get("machine")), tuple(map(float, values)))

    def save(self, path: Path) -> None:
        """Writes the rates to a file.

        Raises:
            OSError: It cannot be written.
        """
        write_checked_json(path, _KIND, _VERSION, self.to_json())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads the rates from a file.

        Raises:
            DamagedFileError: The file is damaged, or of another version of hlograph.
            OSError: It cannot be read.
        """
        return cls.from_json(read_checked_json(path, _KIND, _VERSION))


@cache
def current_rates() -> Rates:
    """Returns the rates that ``store_rates`` stored for this machine, or else the default's.

    They are read once for each process.
    """
    here = machine()
    try:
        rates = Rates.load(rates_file(here))
    except (OSError, DamagedFileError):
        return default_rates()
    return rates if rates.machine == here else default_rates()


def rates_named(name: str) -> Rates:
    """Returns the rates of a file, or those that are stored here for a machine.

    Args:
        name: Path of a file that ``hlograph calibrate`` wrote, or the key of a machine, which is
            the name of its file in the cache folder.

    Raises:
        HloError: There is no such file and no such machine, or it is damaged.
        OSError: The file cannot be read.
    """
    if Path(name).is_file():
        return Rates.load(Path(name))
    stored = {path.stem: path for path in _folder().glob("*.json")}
    if name in stored:
        return Rates.load(stored[name])
    known = f"rates are stored of {', '.join(sorted(stored))}" if stored else "none are stored"
    raise HloError(
        f"expected a file that hlograph calibrate wrote, or the key of a machine whose rates are "
        f"in {_folder()}, got {name!r}; {known}"
    )


@cache
def default_rates() -> Rates:
    """Returns the rates that come with hlograph."""
    return Rates.load(_DEFAULT)


def store_rates(rates: Rates) -> Path:
    """Stores the rates of a machine in the cache folder, and returns the file.

    Raises:
        OSError: The file cannot be written.
    """
    path = rates_file(rates.machine)
    rates.save(path)
    current_rates.cache_clear()
    return path


def rates_file(here: Machine) -> Path:
    """Returns the file for the rates of a machine, which need not exist."""
    return _folder() / f"{here.key}.json"


def _folder() -> Path:
    return cache_folder() / "rates"
