"""Methods by name: those of hlograph, of installed packages, and of the user's own modules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoints, entry_points

from hlograph.errors import HloError, UnknownNameError
from hlograph.optimization.methods.flag_sets import flag_sets
from hlograph.optimization.methods.forms import forms
from hlograph.optimization.methods.greedy import greedy
from hlograph.optimization.methods.joint import joint
from hlograph.optimization.methods.pipelines import pipelines
from hlograph.optimization.methods.protocol import MakeMethod

GROUP = "hlograph.methods"
"""Group of the entry points by which packages add methods."""

_METHODS: dict[str, MakeMethod] = {
    "forms": forms,
    "flags": flag_sets,
    "passes": pipelines,
    "greedy": greedy,
    "joint": joint,
}
_ON_REQUEST = {
    "policy": "hlograph.experiments.search.tuning.deciding:policy",
    "decisions-greedy": "hlograph.experiments.search.tuning.deciding:greedy",
}
"""Methods that play trained networks, which import torch: they are tried if they are named."""

_ADDED: set[str] = set()


def register(name: str, make: MakeMethod) -> None:
    """Adds a method in this process, for all later calls of ``hlograph.optimize``.

    Args:
        name: Name of the method; a method of that name is replaced.
        make: Function that makes it for a program.
    """
    _METHODS[name] = make
    _ADDED.add(name)


def names() -> list[str]:
    """Returns the names of the methods that a search tries if none is chosen.

    Those of installed packages are included.
    """
    return [*_METHODS, *(entry.name for entry in _entries() if entry.name not in _METHODS)]


def methods(chosen: Iterable[str] | None = None) -> dict[str, MakeMethod]:
    """Returns methods by name.

    Args:
        chosen: Names of methods, or ``package.module:function`` of functions that make one. None
            chooses all of ``names``; ``policy`` and ``decisions-greedy``, which play trained
            networks, are taken only if they are chosen.

    Raises:
        UnknownNameError: There is no such method.
        HloError: A method cannot be imported.
    """
    return {name: _find(name) for name in (names() if chosen is None else chosen)}


def check_importable(chosen: Iterable[str] | None) -> None:
    """Checks that another process finds chosen methods.

    Raises:
        HloError: One was added in this process alone.
    """
    if added := _ADDED.intersection(chosen or ()):
        raise HloError(
            f"expected methods that another process can import, got {', '.join(sorted(added))}, "
            "which hlograph.optimization.methods.register added in this one: name them as "
            "package.module:function"
        )


def _find(name: str) -> MakeMethod:
    if name in _METHODS:
        return _METHODS[name]
    importable = _ON_REQUEST.get(name, name)
    if ":" in importable:
        module, _, attribute = importable.partition(":")
        return _imported(name, lambda: getattr(importlib.import_module(module), attribute))
    for entry in _entries():
        if entry.name == name:
            return _imported(name, entry.load)
    raise UnknownNameError.of("method", name, [*names(), *_ON_REQUEST])


def _entries() -> EntryPoints:
    return entry_points(group=GROUP)


def _imported(name: str, load: Callable[[], MakeMethod]) -> MakeMethod:
    try:
        return load()
    except Exception as error:  # whatever the import of a package raises
        raise HloError(f"the method {name!r} cannot be imported: {error!r}") from error
