"""Searches: the one interface of all of them, and each of them by its name.

A search is asked for things to try, and told what came of them. Over passes and over rewrites, what
it tries is a move in a state, and what comes of it is a state. Over plans, it tries a plan, and is
told how fast that was: these are the methods of ``hlograph.optimize``. Who asks decides how many to
try at once, and for how long.
"""

from __future__ import annotations

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from importlib.metadata import EntryPoints, entry_points
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from hlograph._native import check_engine, has_engine
from hlograph.errors import HloError, UnknownNameError

Try = TypeVar("Try")
"""Type of what is tried."""
Result = TypeVar("Result")
"""Type of what comes of it."""
TryOut = TypeVar("TryOut", covariant=True)
ResultIn = TypeVar("ResultIn", contravariant=True)

Searched = Literal["plans", "passes", "rewrites"]
"""Process that a search is about."""


class Search(Protocol[TryOut, ResultIn]):
    """Says what to try next, and is told what came of it; also of what others tried, over plans."""

    def ask(self, most: int = 1) -> Sequence[TryOut]:
        """Returns the next things to try, at most so many; none if there are none now."""
        ...

    def tell(self, results: Sequence[ResultIn]) -> None:
        """Takes note of results."""
        ...


class OneByOne(ABC, Generic[Try, Result]):
    """Search that thinks of one thing at a time."""

    @abstractmethod
    def _next(self) -> Try | None:
        """Returns the next thing to try; None if there is none now."""

    @abstractmethod
    def _take(self, result: Result) -> None:
        """Takes note of a result."""

    def ask(self, most: int = 1) -> list[Try]:
        """Returns the next things to try, at most so many; none if there are none now."""
        return list(islice(iter(self._next, None), most))

    def tell(self, results: Sequence[Result]) -> None:
        """Takes note of results, one after the other."""
        for result in results:
            self._take(result)


class Stepwise(Generic[Try, Result]):
    """Search that is written as a generator: it yields batches to try, and is sent their results.

    Args:
        steps: The generator. The search ends with it.
    """

    def __init__(self, steps: Generator[Sequence[Try], list[Result], Any]) -> None:
        self._steps, self._results = steps, list[Result]()
        self._batch: Sequence[Try] = ()
        self._asked, self._begun = 0, False

    def ask(self, most: int = 1) -> Sequence[Try]:
        """Returns the next of a batch, at most so many; none at the end, or if results are due."""
        if not self._begun or (self._batch and len(self._results) == len(self._batch)):
            self._go_on()
        asked = self._batch[self._asked : self._asked + most]
        self._asked += len(asked)
        return asked

    def tell(self, results: Sequence[Result]) -> None:
        """Takes note of the results of what was asked for, in its order."""
        self._results += results

    def _go_on(self) -> None:
        results = self._results if self._begun else None
        self._begun, self._results, self._asked = True, [], 0
        try:
            self._batch = self._steps.send(results)  # pyright: ignore[reportArgumentType]
        except StopIteration:
            self._batch = ()


class RegisteredSearch(NamedTuple):
    """A search by its name.

    Attributes:
        make: Function that makes it, or ``package.module:function`` of one, which is imported when
            it is needed. Over plans it takes a program, a numerics class and perhaps a ``seed``;
            over passes and rewrites a space and a random generator, and a policy's heuristic.
        policy: Whether it takes a policy.
        draws: True if its results depend on a seed, beyond which of equal states comes first.
        on_request: True if it is tried only if it is named.
        engine: True if it needs the engine, and is tried only where that is installed.
    """

    make: str | Callable[..., Any]
    policy: Literal["no", "may", "must"] = "no"
    draws: bool = True
    on_request: bool = False
    engine: bool = False


_METHODS = "hlograph.optimization.methods"
_SEARCH = "hlograph.experiments.search"

SEARCHES: dict[Searched, dict[str, RegisteredSearch]] = {
    "plans": {
        "recipes": RegisteredSearch(f"{_METHODS}.recipes:Recipes"),
        "forms": RegisteredSearch(f"{_METHODS}.forms:Forms", engine=True),
        "flags": RegisteredSearch(f"{_METHODS}.known_plans:FlagSets"),
        "passes": RegisteredSearch(f"{_METHODS}.known_plans:pipelines", engine=True),
        "greedy": RegisteredSearch(f"{_METHODS}.known_plans:greedy"),
        "joint": RegisteredSearch(f"{_METHODS}.coordinate:JointSearch.of_program"),
        "enzyme": RegisteredSearch(f"{_METHODS}.enzyme:EnzymePatterns", on_request=True),
        # Single searches over knobs, of which joint has two, those that libraries drive, and those
        # that play trained networks, which import torch.
        **{
            name: RegisteredSearch(make, on_request=True)
            for name, make in {
                "predicted": f"{_METHODS}.predicted:Predicted.of_program",
                "knobs-coordinate": f"{_METHODS}.coordinate:Coordinate.of_program",
                "knobs-evolution": f"{_METHODS}.evolution:Evolution.of_program",
                "knobs-random": f"{_METHODS}.evolution:Random.of_program",
                "knobs-one-plus-one": f"{_SEARCH}.tuning.libraries:OnePlusOne.of_program",
                "knobs-tpe": f"{_SEARCH}.tuning.libraries:TPE.of_program",
                "policy": f"{_SEARCH}.tuning.deciding:policy",
                "policy-op-counts": f"{_SEARCH}.tuning.deciding:op_counts",
            }.items()
        },
    },
    "passes": {
        "random": RegisteredSearch(f"{_SEARCH}.episodes:random_search"),
        "greedy": RegisteredSearch(f"{_SEARCH}.beam:greedy_search", draws=False),
        "beam-4": RegisteredSearch(f"{_SEARCH}.beam:beam_4", draws=False),
        "beam-16": RegisteredSearch(f"{_SEARCH}.beam:beam_16", draws=False),
        "evolution": RegisteredSearch(f"{_SEARCH}.evolution:evolution"),
        "local": RegisteredSearch(f"{_SEARCH}.local:local_search"),
        "policy-greedy": RegisteredSearch(f"{_SEARCH}.episodes:greedy_episode", "must", False),
        "policy": RegisteredSearch(f"{_SEARCH}.episodes:policy_episodes", "must"),
        "policy-beam": RegisteredSearch(f"{_SEARCH}.beam:policy_beam", "must", False),
        "mcts": RegisteredSearch(f"{_SEARCH}.puct:mcts_passes", "must", False),
    },
    "rewrites": {
        "random": RegisteredSearch(f"{_SEARCH}.episodes:random_rewrites"),
        "greedy": RegisteredSearch(f"{_SEARCH}.rewriting.estimates:greedy_rewrites", draws=False),
        "beam-4": RegisteredSearch(f"{_SEARCH}.rewriting.estimates:beam_4", draws=False),
        "mcts": RegisteredSearch(f"{_SEARCH}.rewriting.estimates:mcts_rewrites", "may", False),
        "policy": RegisteredSearch(f"{_SEARCH}.rewriting.guide:policy_episode", "must", False),
    },
}
"""The searches that come with the project, by process and name; ``register`` adds others.

Those over passes and over rewrites are not in the wheel.
"""

_ADDED: set[str] = set()


def register(name: str, make: Callable[..., Any], searched: Searched = "plans") -> None:
    """Adds a search in this process, for example a method for later calls of ``hlograph.optimize``.

    Args:
        name: Name of the search; one of that name is replaced.
        make: Function that makes it; see ``RegisteredSearch``.
        searched: The process that it is about.
    """
    SEARCHES[searched][name] = RegisteredSearch(make)
    _ADDED.add(name)


def names(searched: Searched = "plans", *, guided: bool = False) -> list[str]:
    """Returns the names of searches, without those that are tried only if they are named.

    Where the engine is not installed, searches that need it are left out.

    Those of installed packages are included.

    Args:
        searched: The process that they are about.
        guided: True returns those that take a policy, False those that do without.
    """
    registered = SEARCHES[searched]
    without = ("may", "must") if guided else ("no", "may")
    own = [
        name
        for name, search in registered.items()
        if search.policy in without
        and not search.on_request
        and (has_engine() or not search.engine)
    ]
    others = [] if guided else [each.name for each in _entries(searched)]
    return [*own, *(name for name in others if name not in registered)]


def maker(name: str, searched: Searched = "plans", seed: int = 0) -> Callable[..., Any]:
    """Returns the function that makes a search; see ``RegisteredSearch``.

    Args:
        name: Name of the search, or ``package.module:function``.
        searched: The process that it is about.
        seed: Seed, for a function with a parameter ``seed``.

    Raises:
        UnknownNameError: There is no such search.
        HloError: It cannot be imported.
        EngineUnavailableError: It needs the engine, which is not installed.
    """
    registered = SEARCHES[searched]
    make = registered[name].make if name in registered else name
    if name in registered and registered[name].engine:
        check_engine()
    if isinstance(make, str):
        module, _, attribute = make.partition(":")
        entry = next((each for each in _entries(searched) if each.name == name), None)
        if attribute:
            make = _imported(name, lambda: attrgetter(attribute)(importlib.import_module(module)))
        elif entry is not None:
            make = _imported(name, entry.load)
        else:
            available = dict.fromkeys([*names(searched), *registered])
            raise UnknownNameError.of("method", name, available)
    try:
        takes_seed = "seed" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # an object without a signature
        takes_seed = False
    return partial(make, seed=seed) if takes_seed else make


def check_importable(chosen: Iterable[str] | None) -> None:
    """Checks that another process finds chosen searches.

    Raises:
        HloError: One was added in this process alone.
    """
    if added := _ADDED.intersection(chosen or ()):
        raise HloError(
            f"expected methods that another process can import, got {', '.join(sorted(added))}, "
            "which hlograph.optimization.methods.register added in this one: name them as "
            "package.module:function"
        )


def _entries(searched: Searched) -> EntryPoints:
    """Returns the entry points of installed packages, such as those of ``hlograph.methods``."""
    return entry_points(
        group="hlograph.methods" if searched == "plans" else f"hlograph.searches.{searched}"
    )


def _imported(name: str, load: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    try:
        return load()
    except HloError:
        raise
    except Exception as error:  # whatever the import of a package raises
        raise HloError(f"the method {name!r} cannot be imported: {error!r}") from error
