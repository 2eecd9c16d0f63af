"""Sequences whose entries have names as well as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, overload

from hlograph.errors import UnknownNameError
from hlograph.names import unknown


class Entry(Protocol):
    """What has a name, and a number that is its place in the sequence."""

    @property
    def name(self) -> str:
        """The name that finds it."""
        ...

    @property
    def index(self) -> int:
        """Its place."""
        ...


E = TypeVar("E", bound=Entry)


class Named(Sequence[E], Generic[E]):
    """A sequence of entries that are also found by name.

    Args:
        kind: What an entry is, for the message about a name that there is not, as "pass".
        entries: Them, in order.
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
                raise UnknownNameError(unknown(self._kind, key, self._by_name)) from None
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
