"""Passes that ended a worker, each with the module that it did so on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hlograph.atomic_write import write_bytes_atomically
from hlograph.errors import DamagedFileError
from hlograph.isolation.pass_call import PassCall

_FIRST_LINE = "// hlograph reproducer, version 1; python -m hlograph.repro FILE runs it"

Pair = tuple[str, str]
"""Fingerprint of a state and name of a pass."""


class Quarantine:
    """Pairs of a state and a pass that are not to be tried again; immutable.

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._passes: dict[str, frozenset[str]] = {}
        for fingerprint, name in pairs:
            self._passes[fingerprint] = self.passes_at(fingerprint) | {name}

    def passes_at(self, fingerprint: str) -> frozenset[str]:
        """Returns the names of the passes in quarantine at a state."""
        return self._passes.get(fingerprint, frozenset())

    def with_pairs(self, pairs: Iterable[Pair]) -> Quarantine:
        """Returns a quarantine with more pairs."""
        return Quarantine([*self, *pairs])

    def __iter__(self) -> Iterator[Pair]:
        for fingerprint in sorted(self._passes):
            for name in sorted(self._passes[fingerprint]):
                yield fingerprint, name

    def __len__(self) -> int:
        return sum(len(names) for names in self._passes.values())


@dataclass(frozen=True)
class Reproducer:
    """A pass, the module that it ended a worker on, and how it did.

    Attributes:
        call: The pass and where it was called.
        kind: ``crashed``, ``timed_out`` or ``out_of_memory``.
        message: What became of the worker.
        output: The end of what it wrote to stderr.
        seconds: How long the pass had run.
        module: HLO text of the module before the pass.
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
        return f"{self.call.fingerprint}-{self.call.name.replace(':', '.')}.hlo"

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


def _digest(module: str) -> str:
    return hashlib.sha256(module.encode()).hexdigest()
