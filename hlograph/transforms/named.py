"""Sequences whose entries have names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, overload

from hlograph.errors import UnknownNameError


class Entry(Protocol):
    """Entry of a ``Named`` sequence."""

    @property
    def name(self) -> str:
        """Name of the entry, unique in the sequence."""
        ...

    @property
    def index(self) -> int:
        """Position of the entry in the sequence."""
        ...


E = TypeVar("E", bound=Entry)


class Named(Sequence[E], Generic[E]):
    """Immutable sequence of entries that can also be looked up by name.

    Args:
        kind: Kind of the entries for error messages, such as "pass".
        entries: The entries, in order.
    """

    def __init__(self, kind: str, entries: Sequence[E]) -> None:
        self._kind = kind
        self._entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in self._entries}

    @overload
    def __getitem__(self, key: int | str) -> E: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[E, ...]: ...
    def __getitem__(self, key: int | str | slice) -> E | tuple[E, ...]:
        if isinstance(key, str):
            try:
                return self._by_name[key]
            except KeyError:
                raise UnknownNameError.of(self._kind, key, self._by_name) from None
        return self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, value: object) -> bool:
        return value in self._by_name if isinstance(value, str) else value in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self._by_name)

    def __str__(self) -> str:
        return "\n".join(f"{entry.index:3d}  {entry}" for entry in self._entries)
