"""The cache of searches: plans, all measurements, and recipes for other versions of a program.

All entries have one kind of key, whose parts have names (``CacheKey``). Beside the key of the job,
an entry says which code carried its plan out (``rules_digest``), and a refusal which inputs it is
about. What differs is left out, and the log ``hlograph.cache`` says in which part.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import importlib.util
import json
import logging
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hlograph import plans, transforms
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.host import host
from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.optimization.program_space import ProgramSpace
from hlograph.optimization.report import outcome_of, outcome_to_json
from hlograph.plans import Plan
from hlograph.plans.knobs import Point, Recipe, values_of
from hlograph.storage.locations import (
    Location,
    as_location,
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
_PLAN = ".plan.json"

# Entry of a file beside those of its plan: the code that carried it out when it was measured.
_RULES = "rules"

# Entry of an outcome: the host that it was measured on.
_HOST = "host"

# Fields of a plan that are not stored with each outcome: those that are the same for all outcomes
# of a file, and those that measuring sets.
_LEFT_OUT = ("kind", "version", "machine", "measured", "kept_memory")

# A plan with many decisions is compressed; a short one can be read in the file.
_LONG = 1000  # letters


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


@functools.cache
def rules_digest() -> str:
    """Returns a digest of the code that says what steps, layouts and placements do.

    What was found with one version of it may not hold with another. Flags are carried out by jaxlib
    alone.
    """
    digest = hashlib.sha256()
    spec = importlib.util.find_spec("hlograph._xla")
    code = [Path(spec.origin)] if spec is not None and spec.origin is not None else []
    for package in (plans, transforms):
        code += sorted(Path(package.__path__[0]).rglob("*.py"))
    for path in code:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def rules_of(plan: Plan) -> str:
    """Returns the digest of the code that carries out a plan; empty for flags alone."""
    return rules_digest() if plan.steps or plan.layouts or plan.placements else ""


class Store:
    """A folder or URL with one plan for each key, and one recipe for each name of a program.

    A folder takes 512 MB at most, or ``$HLOGRAPH_CACHE_MB``: beyond that, what was not used for the
    longest time is removed when a plan is stored.

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
        """Bytes of a folder's files; 0 for a URL."""
        return folder_size(self.location) if isinstance(self.location, Path) else 0

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
        content = {**json.loads(plan.to_json()), _RULES: rules_of(plan)}
        write_bytes(self._file(key), (json.dumps(content, indent=2) + "\n").encode())
        if isinstance(self.location, Path):
            remove_oldest(self.location, _most_bytes())

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
            return Plan.from_json(data), json.loads(data).get(_RULES, "")
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
        return join(self.location, f"{named}.recipe.json")


def _other_objective(job: Job) -> str:
    """Returns a job's objective, if it is not the time."""
    return "" if job.objective == "time" else f" {job.objective}"


def _most_bytes() -> int:
    """Returns the bytes that each folder of the cache may take; ``$HLOGRAPH_CACHE_MB`` or 512."""
    return int(float(os.environ.get("HLOGRAPH_CACHE_MB", 512)) * 1e6)


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


class Measurements:
    """Outcomes of one key, a line for each, written as soon as they are known.

    No line is removed; the oldest files go when all files take too much; see ``Store``.

    Several processes may append at the same time, also while others read. A line that was cut off
    or damaged is left out.

    An outcome of a plan with steps, layouts or placements counts for the code of hlograph that it
    was measured with; that the plan's outputs were refused counts until they are accepted.

    Jobs of a key may have other inputs. An outcome whose outputs were refused on them counts for
    these inputs alone.

    Args:
        key: Key of the job.
        folder: Folder of all files; None is ``measurements`` in hlograph's cache.
        given: Inputs of the job.
    """

    def __init__(
        self, key: str, folder: Path | None = None, given: Sequence[Array] | None = None
    ) -> None:
        self._writable, self._given = True, given
        self._key, self._folder = key, folder
        self.path = (folder or cache_folder() / "measurements") / f"{key}.jsonl"

    def beside(self, reference: Plan) -> Measurements:
        """Returns the outcomes of plans that were measured beside another reference."""
        return Measurements(f"{self._key}-{reference.digest}", self._folder, self._given)

    def read(self) -> list[PlanMeasurement]:
        """Returns all outcomes with this version of hlograph, from old to new."""
        lines = self._read()
        return [outcome for outcome, rules, _ in lines if rules in ("", rules_digest())]

    def last_here(self, plan: Plan) -> PlanMeasurement | None:
        """Returns the newest outcome of a plan on this host; None if it was not tried here.

        Comparisons by any version of hlograph count; see ``Store.get``.
        """
        here = host().key
        outcomes = [
            outcome
            for outcome, _, where in self._read()
            if outcome.plan.digest == plan.digest and where == here
        ]
        return outcomes[-1] if outcomes else None

    def _read(self) -> list[tuple[PlanMeasurement, str, str]]:
        """Returns all outcomes, from old to new, and the code and the host that measured each."""
        try:
            lines = self.path.read_text(errors="replace").splitlines()
        except OSError:
            return []
        outcomes = []
        for line in filter(None, lines):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, HloError):
                content = json.loads(line)
                rules, inputs = content.pop(_RULES, ""), content.pop("inputs", None)
                where = content.pop(_HOST, "")
                if inputs is None or inputs == self._inputs:
                    outcome = outcome_of(_plan_of(content.pop("plan")), content)
                    outcomes.append((outcome, rules, where))
        return outcomes

    def known(self) -> list[PlanMeasurement]:
        """Returns the outcomes that a search need not measure again, from old to new.

        These are the newest outcome of each plan and all that were thorough. Accidents are left
        out, so that their plans get another chance.
        """
        return without_old(self.read())

    def refuse(self, plan: Plan) -> bool:
        """Returns True if a plan's outputs were refused when it was last compared.

        Comparisons by any version of hlograph count.
        """
        outcomes = [outcome for outcome, _, _ in self._read() if outcome.plan.digest == plan.digest]
        checks = [outcome.checks for outcome in outcomes if outcome.checks]
        return bool(checks) and not checks[-1].accepted

    def add(self, outcome: PlanMeasurement) -> None:
        """Appends an outcome, and waits until it is on the disk.

        A disk that cannot be written costs the measurements, not the search; a warning says so
        once.
        """
        if self._writable:
            try:
                inputs = self._inputs if _is_refused_on_inputs(outcome) else ""
                self._append(_line_of(outcome, inputs))
            except OSError as error:
                self._writable = False
                warnings.warn(f"cannot write the measurements: {error}", stacklevel=2)

    @functools.cached_property
    def _inputs(self) -> str:
        return _digest_of(self._given)

    def _append(self, line: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            remove_oldest(self.path.parent, _most_bytes())
        # The first newline ends a line that was cut off. One write of the whole line keeps it apart
        # from those of other processes.
        content = f"\n{line}\n".encode()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            written = os.write(file, content)
            if written < len(content):
                raise OSError(f"wrote {written} of {len(content)} bytes to {self.path}")
            os.fsync(file)
        finally:
            os.close(file)


def without_old(outcomes: Sequence[PlanMeasurement]) -> list[PlanMeasurement]:
    """Returns outcomes without accidents, and without those that a newer one of the plan replaces.

    Thorough outcomes are all kept, because a race asks how often a plan has lost.
    """
    lasting = [outcome for outcome in outcomes if not outcome.accident]
    newest = {o.plan.digest: number for number, o in enumerate(lasting) if not o.thorough}
    return [o for n, o in enumerate(lasting) if o.thorough or newest[o.plan.digest] == n]


def _is_refused_on_inputs(outcome: PlanMeasurement) -> bool:
    """Returns True if outputs were refused on the job's inputs, or on those with other values.

    The last sample is the one that they were refused on. Random ones are the same for all jobs.
    """
    checks = outcome.checks
    return checks is not None and not checks.accepted and "random" not in checks.samples[-1]


def _digest_of(given: Sequence[Array] | None) -> str:
    """Returns a digest of a job's inputs."""
    if given is None:
        return "random"
    digest = hashlib.sha256()
    for array in given:
        digest.update(f"{array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()[:12]


def _digest(data: bytes, digits: int) -> str:
    return hashlib.sha256(data).hexdigest()[:digits]


def _log_difference(key: str, other: str) -> None:
    """Logs in which part two keys of one program differ."""
    with contextlib.suppress(ValueError):  # the name of another file
        differing = CacheKey(key).differences(other)
        if "program" not in differing:
            _LOG.debug("%s: not used: another %s: %s", key, " and ".join(differing), other)


def _line_of(outcome: PlanMeasurement, inputs: str) -> str:
    content = json.loads(outcome_to_json(outcome))
    plan = {
        name: value
        for name, value in content.pop("plan").items()
        if value and name not in _LEFT_OUT
    }
    text = json.dumps(plan, separators=(",", ":"))
    packed = plan if len(text) <= _LONG else _compressed(text)
    kept = {name: value for name, value in content.items() if value}
    if rules := rules_of(outcome.plan):
        kept[_RULES] = rules
    if inputs:
        kept["inputs"] = inputs
    kept[_HOST] = host().key
    return json.dumps({"plan": packed, **kept}, separators=(",", ":"))


def _compressed(text: str) -> str:
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def _decompressed(text: str) -> dict[str, Any]:
    try:
        return json.loads(zlib.decompress(base64.b85decode(text)))
    except zlib.error as error:
        raise ValueError(f"this plan is damaged: {error}") from error


def _plan_of(packed: str | dict[str, Any]) -> Plan:
    content = _decompressed(packed) if isinstance(packed, str) else packed
    return Plan.from_json(json.dumps({**json.loads(Plan().to_json()), **content}))
