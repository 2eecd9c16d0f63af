"""Methods by name: those of hlograph, of installed packages, and of the user's own modules."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import EntryPoints, entry_points
from operator import attrgetter

from hlograph.errors import HloError, UnknownNameError
from hlograph.optimization.methods.forms import Forms
from hlograph.optimization.methods.greedy import greedy
from hlograph.optimization.methods.joint import JointSearch
from hlograph.optimization.methods.known_plans import FlagSets, pipelines
from hlograph.optimization.methods.protocol import MakeMethod, Method

GROUP = "hlograph.methods"
"""Group of the entry points by which packages add methods."""

_METHODS: dict[str, MakeMethod] = {
    "forms": Forms,
    "flags": FlagSets,
    "passes": pipelines,
    "greedy": greedy,
    "joint": JointSearch.of_program,
}
_TUNING = "hlograph.experiments.search.tuning"
_ON_REQUEST = {
    "knobs-coordinate": "hlograph.optimization.methods.coordinate:Coordinate.of_program",
    "knobs-evolution": "hlograph.optimization.methods.evolution:Evolution.of_program",
    "knobs-random": "hlograph.optimization.methods.evolution:Random.of_program",
    "knobs-one-plus-one": f"{_TUNING}.libraries:OnePlusOne.of_program",
    "knobs-tpe": f"{_TUNING}.libraries:TPE.of_program",
    "policy": f"{_TUNING}.deciding:policy",
    "policy-op-counts": f"{_TUNING}.deciding:op_counts",
    "decisions-greedy": f"{_TUNING}.deciding:greedy",
}
"""Methods that are tried if they are named.

These are single searches over knobs, which ``joint`` has two of, those that libraries drive, and
those that play trained networks, which import torch.
"""

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


def methods(chosen: Iterable[str] | None = None, seed: int = 0) -> dict[str, MakeMethod]:
    """Returns methods by name.

    Args:
        chosen: Names of methods, or ``package.module:function`` of functions that make one. None
            chooses all of ``names``, without those that are tried only if they are named.
        seed: Seed of those that have a parameter ``seed``.

    Raises:
        UnknownNameError: There is no such method.
        HloError: A method cannot be imported.
    """
    chosen = names() if chosen is None else chosen
    return {name: _seeded(_find(name), seed) for name in chosen}


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
        return _imported(name, lambda: attrgetter(attribute)(importlib.import_module(module)))
    for entry in _entries():
        if entry.name == name:
            return _imported(name, entry.load)
    raise UnknownNameError.of("method", name, [*names(), *_ON_REQUEST])


def _seeded(make: Callable[..., Method], seed: int) -> MakeMethod:
    try:
        takes_seed = "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # an object without a signature
        takes_seed = False
    return partial(make, seed=seed) if takes_seed else make


def _entries() -> EntryPoints:
    return entry_points(group=GROUP)


def _imported(name: str, load: Callable[[], MakeMethod]) -> MakeMethod:
    try:
        return load()
    except Exception as error:  # whatever the import of a package raises
        raise HloError(f"the method {name!r} cannot be imported: {error!r}") from error
