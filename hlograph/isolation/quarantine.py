"""Quarantine of calls that ended a worker, and files that reproduce them."""

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

# Characters that are special in shells and file systems.
_NO_NAME = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100


class Quarantine:
    """Immutable set of calls that are not repeated, because they ended a worker.

    A call is a pair of a state and a pass; for rewrites, of a benchmark and a place or a listing
    (``PassCall.pair``).

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._passes: dict[str, frozenset[str]] = {}
        for where, name in pairs:
            self._passes[where] = self.passes_at(where) | {name}

    def passes_at(self, where: str) -> frozenset[str]:
        """Returns the names in quarantine for the fingerprint of a state or for a benchmark."""
        return self._passes.get(where, frozenset())

    def with_pairs(self, pairs: Iterable[Pair]) -> Quarantine:
        """Returns a new quarantine with additional pairs."""
        return Quarantine([*self, *pairs])

    def __iter__(self) -> Iterator[Pair]:
        for where in sorted(self._passes):
            for name in sorted(self._passes[where]):
                yield where, name

    def __len__(self) -> int:
        return sum(len(names) for names in self._passes.values())


@dataclass(frozen=True)
class Reproducer:
    """A call that ended a worker, with the module on which it did.

    Attributes:
        call: The call.
        kind: ``crashed``, ``timed_out`` or ``out_of_memory``.
        message: Description of the loss.
        output: Last part of the worker's stderr.
        seconds: Duration of the call until the loss, in seconds.
        module: HLO text of the module before the call.
    """

    call: PassCall
    kind: str
    message: str
    output: str
    seconds: float
    module: str

    @property
    def file_name(self) -> str:
        """Name of the reproducer's file, unique for the state and the name of the call."""
        name = _NO_NAME.sub(".", self.call.name)
        if len(name) > _LONGEST_NAME:
            name = f"{name[:_LONGEST_NAME]}-{_digest(name)[:8]}"
        return f"{self.call.fingerprint}-{name}.hlo"

    def save(self, folder: Path) -> Path:
        """Writes the reproducer as HLO text with a header in comments.

        Returns:
            Path of the file.

        Raises:
            OSError: The file cannot be written.
        """
        described = asdict(self) | {"sha256": _digest(self.module)}
        del described["module"]
        header = f"{_FIRST_LINE}\n// {json.dumps(described)}\n"
        write_bytes_atomically(folder / self.file_name, (header + self.module).encode())
        return folder / self.file_name

    @classmethod
    def load(cls, path: Path) -> Reproducer:
        """Reads a file that ``save`` wrote.

        Raises:
            DamagedFileError: The file is something else, truncated, or altered.
            OSError: The file cannot be read.
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
