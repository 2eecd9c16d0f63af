"""The measurements of searches: outcomes of plans, kept for later searches.

An outcome says which code carried its plan out (``rules_digest``), and a refusal which inputs it is
about.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hlograph import plans, reading, transforms
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.host import host
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.report import outcome_of, outcome_to_json
from hlograph.plans import Plan
from hlograph.storage.locations import cache_bytes, cache_folder, remove_oldest

# Entry of a file beside those of its plan: the code that carried it out when it was measured.
RULES = "rules"

# Entry of an outcome: the host that it was measured on.
_HOST = "host"

# Fields of a plan that are not stored with each outcome: those that are the same for all outcomes
# of a file, and those that measuring sets.
_LEFT_OUT = ("kind", "version", "machine", "measured", "kept_memory")

_ENDING = ".jsonl"

# A plan with many decisions is compressed; a short one can be read in the file.
_LONG = 1000  # letters


@functools.cache
def rules_digest() -> str:
    """Returns a digest of the code that says what steps, layouts and placements do.

    What was found with one version of it may not hold with another. Flags are carried out by jaxlib
    alone.
    """
    digest = hashlib.sha256()
    specs = map(importlib.util.find_spec, ("hlograph._xla", "hlograph._custom_calls"))
    code = [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]
    for package in (plans, reading, transforms):
        code += sorted(Path(package.__path__[0]).rglob("*.py"))
    for path in code:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def rules_of(plan: Plan) -> str:
    """Returns the digest of the code that carries out a plan; empty for flags alone."""
    return rules_digest() if plan.steps or plan.layouts or plan.placements else ""


class Measurements:
    """Outcomes of one key, a line for each, written as soon as they are known.

    No line is removed; the oldest files go when all files take too much; see ``cache.Store``.

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
        self.path = (folder or cache_folder() / "measurements") / f"{key}{_ENDING}"

    def beside(self, reference: Plan) -> Measurements:
        """Returns the outcomes of plans that were measured beside another reference."""
        return Measurements(f"{self._key}-{reference.digest}", self._folder, self._given)

    def read(self) -> list[PlanMeasurement]:
        """Returns all outcomes with this version of hlograph, from old to new."""
        lines = self._read()
        return [outcome for outcome, rules, _ in lines if rules in ("", rules_digest())]

    def last_here(self, plan: Plan) -> PlanMeasurement | None:
        """Returns the newest outcome of a plan on this host; None if it was not tried here.

        Comparisons by any version of hlograph count; see ``cache.Store.get``.
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
                rules, inputs = content.pop(RULES, ""), content.pop("inputs", None)
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
            remove_oldest(self.path.parent, cache_bytes(), (_ENDING,))
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
        kept[RULES] = rules
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
