"""Measurements of plans, which are kept."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.measuring.trial import Outcome
from hlograph.measuring.verification import Checks
from hlograph.optimization.report import outcome_to_json
from hlograph.optimization.rules import rules_digest, rules_of
from hlograph.plans import Measured, Plan
from hlograph.storage.cache import cache_folder

# What outcomes of one file have in common, and what a plan has before it is measured.
_LEFT_OUT = ("kind", "version", "machine", "measured")

# A plan with many decisions is compressed; a short one can be read in the file.
_LONG = 1000  # letters


class Measurements:
    """Outcomes of one key, a line for each, written as soon as they are known and never removed.

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
        self.path = (folder or cache_folder() / "measurements") / f"{key}.jsonl"

    def read(self) -> list[Outcome]:
        """Returns all outcomes with this version of hlograph, from old to new."""
        return [outcome for outcome, rules in self._read() if rules in ("", rules_digest())]

    def _read(self) -> list[tuple[Outcome, str]]:
        """Returns all outcomes, from old to new, and the code that each was measured with."""
        try:
            lines = self.path.read_text(errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in filter(None, lines):
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, HloError):
                content = json.loads(line)
                rules, inputs = content.pop("rules", ""), content.pop("inputs", None)
                if inputs is None or inputs == self._inputs:
                    found.append((_outcome_of(content), rules))
        return found

    def known(self) -> list[Outcome]:
        """Returns the outcomes that a search need not measure again, from old to new.

        These are the newest outcome of each plan and all that were thorough. Accidents are left
        out, so that their plans get another chance.
        """
        return without_old(self.read())

    def refuse(self, plan: Plan) -> bool:
        """Returns True if a plan's outputs were refused when it was last compared.

        Comparisons by any version of hlograph count.
        """
        outcomes = [one for one, _ in self._read() if one.plan.digest == plan.digest]
        checks = [one.checks for one in outcomes if one.checks]
        return bool(checks) and not checks[-1].accepted

    def add(self, outcome: Outcome) -> None:
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


def without_old(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Returns outcomes without accidents, and without those that a newer one of the plan replaces.

    Thorough outcomes are all kept, because a race asks how often a plan has lost.
    """
    lasting = [outcome for outcome in outcomes if not outcome.accident]
    newest = {o.plan.digest: number for number, o in enumerate(lasting) if not o.thorough}
    return [o for n, o in enumerate(lasting) if o.thorough or newest[o.plan.digest] == n]


def _is_refused_on_inputs(outcome: Outcome) -> bool:
    """Returns True if outputs were refused on the job's inputs, or on those with other values.

    The last sample is the one that they were refused on. Random ones are the same for all jobs.
    """
    checks = outcome.checks
    return checks is not None and not checks.accepted and "random" not in checks.samples[-1]


def _digest_of(given: Sequence[Array] | None) -> str:
    if given is None:
        return "random"
    digest = hashlib.sha256()
    for array in given:
        digest.update(f"{array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()[:12]


def _line_of(outcome: Outcome, inputs: str) -> str:
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
        kept["rules"] = rules
    if inputs:
        kept["inputs"] = inputs
    return json.dumps({"plan": packed, **kept}, separators=(",", ":"))


def _compressed(text: str) -> str:
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def _decompressed(text: str) -> dict[str, Any]:
    try:
        return json.loads(zlib.decompress(base64.b85decode(text)))
    except zlib.error as error:
        raise ValueError(f"this plan is damaged: {error}") from error


def _outcome_of(content: dict[str, Any]) -> Outcome:
    fields = dict(content)
    measured, checks = fields.pop("measured", None), fields.pop("checks", None)
    changes = {opcode: (one, two) for opcode, (one, two) in fields.pop("changes", {}).items()}
    return Outcome(
        plan=_plan_of(fields.pop("plan")),
        measured=Measured(**measured) if measured else None,
        checks=Checks(**{**checks, "samples": tuple(checks["samples"])}) if checks else None,
        changes=changes,
        **fields,
    )


def _plan_of(packed: str | dict[str, Any]) -> Plan:
    content = _decompressed(packed) if isinstance(packed, str) else packed
    return Plan.from_json(json.dumps({**json.loads(Plan().to_json()), **content}))
