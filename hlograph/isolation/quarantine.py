"""Passes and rewrites that ended a worker, each with the module that it did so on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hlograph.errors import DamagedFileError
from hlograph.isolation.pass_call import Pair, PassCall
from hlograph.storage.atomic_write import write_bytes_atomically

_FIRST_LINE = "// hlograph reproducer, version 1; python -m hlograph.isolation.repro FILE runs it"

# What shells and file systems make something of; a listing names all its rules.
_NO_NAME = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100


class Quarantine:
    """Pairs of a state and a pass that are not to be tried again; immutable.

    Of rewrites, pairs of a benchmark and what is not to be tried on it (``PassCall.pair``).

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._passes: dict[str, frozenset[str]] = {}
        for where, name in pairs:
            self._passes[where] = self.passes_at(where) | {name}

    def passes_at(self, where: str) -> frozenset[str]:
        """Returns the names in quarantine at a state, by its fingerprint, or on a benchmark."""
        return self._passes.get(where, frozenset())

    def with_pairs(self, pairs: Iterable[Pair]) -> Quarantine:
        """Returns a quarantine with more pairs."""
        return Quarantine([*self, *pairs])

    def __iter__(self) -> Iterator[Pair]:
        for where in sorted(self._passes):
            for name in sorted(self._passes[where]):
                yield where, name

    def __len__(self) -> int:
        return sum(len(names) for names in self._passes.values())


@dataclass(frozen=True)
class Reproducer:
    """A pass or rewrite, the module that it ended a worker on, and how it did.

    Attributes:
        call: What it was, and where it was called.
        kind: ``crashed``, ``timed_out`` or ``out_of_memory``.
        message: What became of the worker.
        output: The end of what it wrote to stderr.
        seconds: How long it had run.
        module: HLO text of the module before it.
    """

    call: PassCall
    kind: str
    message: str
    output: str
    seconds: float
    module: str

    @property
    def file_name(self) -> str:
        """Name of its file: one for each state and pass."""
        name = _NO_NAME.sub(".", self.call.name)
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}-{_digest(name)[:8]}"
        return f"{self.call.fingerprint}-{name}.hlo"

    def save(self, folder: Path) -> Path:
        """Writes the reproducer as HLO text with a header in comments, which any tool reads.

        Returns:
            The file.

        Raises:
            OSError: It cannot be written.
        """
        described = asdict(self) | {"sha256": _digest(self.module)}
        del described["module"]
        header = f"{_FIRST_LINE}\n// {json.dumps(described)}\n"
        write_bytes_atomically(folder / self.file_name, (header + self.module).encode())
        return folder / self.file_name

    @classmethod
    def load(cls, path: Path) -> Reproducer:
        """Reads what ``save`` wrote.

        Raises:
            DamagedFileError: The file is something else, cut off, or altered.
            OSError: It cannot be read.
        """
        first, _, rest = path.read_bytes().decode("utf-8", "replace").partition("\n")
        if first != _FIRST_LINE:
            raise DamagedFileError(
                f"{path} is no reproducer of this version: expected the first line "
                f"{_FIRST_LINE!r}, got {first[:80]!r}"
            )
        line, _, module = rest.partition("\n")
        try:
            described: dict[str, Any] = json.loads(line.removeprefix("//"))
            digest = described.pop("sha256")
            call = described.pop("call")
            call["applied"] = tuple(call["applied"])
            reproducer = cls(call=PassCall(**call), module=module, **described)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFileError(f"{path} has a damaged header: {error!r}") from error
        if digest != _digest(module):
            raise DamagedFileError(f"{path} was cut off or altered: its checksum does not fit")
        return reproducer


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
