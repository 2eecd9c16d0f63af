"""The cache of searches: plans, and recipes for other versions of a program.

Plans, recipes and ``measurements`` have one kind of key, whose parts have names (``CacheKey``).
Beside it, an entry says which code carried its plan out (``measurements.rules_digest``). What
differs is left out, and the log ``hlograph.cache`` says in which part.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization.measurements import RULES, rules_of
from hlograph.optimization.program_space import ProgramSpace
from hlograph.plans import Plan
from hlograph.plans.knobs import Point, Recipe, values_of
from hlograph.storage.locations import (
    Location,
    as_location,
    cache_bytes,
    cache_folder,
    folder_size,
    join,
    read_bytes,
    remove_oldest,
    write_bytes,
)
from hlograph.storage.machine import machine

EARLIER_VERSION = "earlier version"
"""Method of a plan by the recipe of an earlier version."""

_LOG = logging.getLogger("hlograph.cache")
_PARTS = ("program", "numerics", "machine")
_PLAN, _RECIPE = ".plan.json", ".recipe.json"
_OWN = (_PLAN, _RECIPE)


class CacheKey(str):
    """A key of named parts: a digest of the program, the numerics class, and that of the machine.

    It is part of the names of files. A change of the jaxlib, CPU, number of cores or XLA_FLAGS is
    another machine.
    """

    __slots__ = ()

    @classmethod
    def of(cls, job: Job) -> CacheKey:
        """Returns the key of a job on this machine."""
        return cls._of(job, job.program.fingerprint or job.program.text_fingerprint)

    @classmethod
    def all_of(cls, job: Job) -> tuple[CacheKey, ...]:
        """Returns the keys of a job: the one of here, and that of where the engine is missing."""
        return tuple(dict.fromkeys((cls.of(job), cls.without_engine(job))))

    @classmethod
    def without_engine(cls, job: Job) -> CacheKey:
        """Returns the key of a job where the engine is missing, which takes milliseconds."""
        return cls._of(job, job.program.text_fingerprint)

    @classmethod
    def _of(cls, job: Job, fingerprint: str) -> CacheKey:
        donated = ",".join(map(str, job.program.donated))
        program = _digest(f"{fingerprint} {donated}{_other_objective(job)}".encode(), 24)
        return cls("-".join((program, job.numerics, machine().key)))

    @property
    def parts(self) -> dict[str, str]:
        """The parts by name."""
        return dict(zip(_PARTS, self.split("-"), strict=True))

    def differences(self, other: str) -> list[str]:
        """Returns the names of the parts in which another key differs."""
        theirs = CacheKey(other).parts
        return [name for name, part in self.parts.items() if theirs[name] != part]


class Store:
    """A folder or URL with one plan for each key, and one recipe for each name of a program.

    Plans and recipes take 512 MB of a folder at most, or ``$HLOGRAPH_CACHE_MB``: beyond that, what
    was not used for the longest time is removed when a plan is stored.

    Args:
        location: A path, or a URL that fsspec reads and writes. None is the folder ``plans`` of
            hlograph's cache (``$HLOGRAPH_CACHE``, otherwise ``~/.cache/hlograph``).
    """

    def __init__(self, location: str | os.PathLike[str] | None = None) -> None:
        self.location: Location = (
            cache_folder() / "plans" if location is None else as_location(location)
        )

    @property
    def size(self) -> int:
        """Bytes of a folder's plans and recipes; 0 for a URL."""
        return folder_size(self.location, _OWN) if isinstance(self.location, Path) else 0

    @classmethod
    def of(cls, store: StoreLike) -> Store:
        """Returns a store, or the one at a location."""
        return store if isinstance(store, Store) else cls(store)

    def get(self, key: str) -> Plan | None:
        """Returns the plan of a key.

        Whether it fits the program and the machine is for the caller to check.

        Returns:
            The plan; None if there is none, it cannot be read, or it was compared and measured when
            another version of hlograph carried it out; see ``outdated``.
        """
        plan, rules = self._read(key)
        if plan is None:
            for other in self._keys():
                _log_difference(key, other)
            return None
        if rules != rules_of(plan):
            _LOG.debug("%s: not used: rules %s there, %s here", key, rules, rules_of(plan))
            return None
        return plan

    def __contains__(self, key: str) -> bool:
        """Returns True if there is a plan of a key, also one that ``get`` leaves out."""
        return self._read(key)[0] is not None

    def outdated(self, key: str) -> Plan | None:
        """Returns the plan of a key that ``get`` leaves out since hlograph was updated."""
        plan, rules = self._read(key)
        return plan if plan is not None and rules != rules_of(plan) else None

    def plans(self) -> Iterator[Plan]:
        """Yields the plans of a folder that this version of hlograph carries out as measured.

        Raises:
            HloError: The store is no folder.
        """
        for _, plan, rules in self._listed():
            if rules == rules_of(plan):
                yield plan

    def entries(self) -> Iterator[tuple[CacheKey, Plan]]:
        """Yields the keys and plans of a folder, also those of other versions of hlograph.

        Raises:
            HloError: The store is no folder.
        """
        for name, plan, _ in self._listed():
            if name.count("-") == len(_PARTS) - 1:  # not the name of another file
                yield CacheKey(name), plan

    def _listed(self) -> Iterator[tuple[str, Plan, str]]:
        """Yields the keys and plans of a folder, and the code that carried each plan out."""
        if not isinstance(self.location, Path):
            raise HloError(
                f"expected a store in a folder, whose plans are listed, got {self.location}"
            )
        for file in sorted(self.location.glob(f"*{_PLAN}")):
            key = file.name.removesuffix(_PLAN)
            plan, rules = self._read(key)
            if plan is not None:
                yield key, plan, rules

    def put(self, key: str, plan: Plan) -> None:
        """Stores a plan that was measured; one with the same key is replaced.

        Raises:
            OSError: The file cannot be written.
        """
        content = {**json.loads(plan.to_json()), RULES: rules_of(plan)}
        write_bytes(self._file(key), (json.dumps(content, indent=2) + "\n").encode())
        if isinstance(self.location, Path):
            remove_oldest(self.location, cache_bytes(), _OWN)

    def get_recipe(self, job: Job) -> Recipe | None:
        """Returns the recipe of the last version that has a program's name; None if there is none.

        Whatever machine that was on: a recipe is measured like any other plan.
        """
        try:
            return Recipe.from_json(read_bytes(self._recipe_file(job)))
        except (OSError, HloError):
            return None

    def put_recipe(self, job: Job, plan: Plan) -> None:
        """Stores the recipe of a program's plan, for later versions of the program.

        Raises:
            OSError: The file cannot be written.
        """
        try:
            recipe = recipe_of(job, plan)
        except HloError:  # what cannot be said in general holds for this version alone
            return
        write_bytes(self._recipe_file(job), recipe.to_json().encode())

    def _read(self, key: str) -> tuple[Plan | None, str]:
        try:
            data = read_bytes(file := self._file(key))
            if isinstance(file, Path):
                with contextlib.suppress(OSError):  # a store that others own
                    os.utime(file)  # plans in use stay; see `remove_oldest`
            return Plan.from_json(data), json.loads(data).get(RULES, "")
        except (OSError, HloError):
            return None, ""

    def _keys(self) -> list[str]:
        """Returns the keys of a folder's plans, if differences of keys are logged."""
        if not _LOG.isEnabledFor(logging.DEBUG) or not isinstance(self.location, Path):
            return []
        return sorted(file.name.removesuffix(_PLAN) for file in self.location.glob(f"*{_PLAN}"))

    def _file(self, key: str) -> Location:
        return join(self.location, f"{key}{_PLAN}")

    def _recipe_file(self, job: Job) -> Location:
        about = f"{job.program.name} {job.numerics}{_other_objective(job)}"
        named = _digest(about.encode(), 24)
        return join(self.location, f"{named}{_RECIPE}")


def _other_objective(job: Job) -> str:
    """Returns a job's objective, if it is not the time."""
    return "" if job.objective == "time" else f" {job.objective}"


StoreLike = Store | str | os.PathLike[str] | None


def plans_of_earlier_version(store: Store, job: Job) -> Iterator[Plan]:
    """Yields the plan by the recipe of an earlier version, if there is one and it does anything.

    A version has other shapes, one layer more, or other names within.
    """
    recipe = store.get_recipe(job)
    if recipe is None:
        return
    try:
        with contextlib.closing(ProgramSpace(job.program, job.numerics)) as space:
            plan = space.plan_by(recipe)
    except HloError:
        return
    if not plan.is_empty:
        yield replace(plan, method=EARLIER_VERSION)


def recipe_of(job: Job, plan: Plan) -> Recipe:
    """Returns the recipe of a plan of a program.

    Raises:
        HloError: The program does not compile with the plan.
    """
    if not (plan.placements or plan.layouts):
        return Recipe.of(plan.steps, Point.of(values_of(plan.flags)))
    with contextlib.closing(ProgramSpace(job.program, job.numerics)) as space:
        return space.recipe_of(plan)


def _digest(data: bytes, digits: int) -> str:
    return hashlib.sha256(data).hexdigest()[:digits]


def _log_difference(key: str, other: str) -> None:
    """Logs in which part two keys of one program differ."""
    with contextlib.suppress(ValueError):  # the name of another file
        differing = CacheKey(key).differences(other)
        if "program" not in differing:
            _LOG.debug("%s: not used: another %s: %s", key, " and ".join(differing), other)
