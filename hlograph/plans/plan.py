"""The plan: all that is done to one program, and the speed that it was measured at."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from hlograph.errors import PlanError, PlanRefusedError
from hlograph.execution.measured import Measured
from hlograph.execution.process_memory import KeptMemory
from hlograph.plans import flags as flag_list
from hlograph.plans.flags import FlagValue
from hlograph.plans.layouts import check as check_layouts
from hlograph.plans.placement import Placement
from hlograph.storage.atomic_write import write_text_atomically
from hlograph.storage.locations import as_location, read_bytes
from hlograph.storage.machine import Machine, machine

if TYPE_CHECKING:
    from hlograph.plans.program import Program

Numerics = Literal["exact", "close", "fast"]
"""Class of a plan's results.

``exact``: every bit is that of the default. ``close``: results differ by rounding only, within the
tolerance of ``hlograph.execution.equivalence.verdict``. ``fast``: flags for fast math are
allowed, with which infinities and NaNs may differ.
"""

NUMERICS: tuple[Numerics, ...] = get_args(Numerics)
"""The classes, from strict to loose."""

KIND, VERSION = "hlograph plan", 1

# Between the names of the methods of a merged plan.
_JOINT = " + "
_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Plan:
    """Decisions about one program. The empty plan is jaxlib's default.

    Attributes:
        program: Name of the program's module.
        fingerprint: Fingerprint of that module, before the steps; empty if the plan was made
            without the engine.
        text_fingerprint: Fingerprint of that module as jaxlib prints it, with which the plan is
            found to fit without the engine; empty if it is not known.
        steps: Names of passes and pipelines, and places of rewrites, applied in order before
            XLA's own passes.
        layouts: Layouts of instructions by their name in the module after the steps, as
            minor-to-major orders such as ``{0,1}``. ``argument:N`` and ``result:N`` are
            the program's arguments and results, counted from 0 as leaves of its pytrees; an
            array of another layout is copied in each call, see ``compile_lowered``.
        flags: Flags of the compilation; see ``hlograph.plans.flags.FLAGS``.
        placements: Decisions about instructions of the optimized module.
        placed: Fingerprint of the optimized module that the placements are about; see
            ``compiling.optimized_module``. Empty without placements.
        numerics: Class of its results.
        method: Name of the method that proposed it.
        machine: Machine that it was measured on; None if it was not.
        measured: Its speed there; None if it was not measured.
        default_fault: Why jaxlib's default of the program must not stand, in words; empty if
            nothing is known against it.
        kept_memory: What it brought the function, which runs by this plan, that its process keeps
            freed memory; None if it was not measured, or brought nothing. It is no decision about
            the program, and an empty plan may have it.
    """

    program: str = ""
    fingerprint: str = ""
    steps: tuple[str, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=lambda: _NONE)
    flags: Mapping[str, FlagValue] = field(default_factory=lambda: _NONE)
    placements: tuple[Placement, ...] = ()
    placed: str = ""
    numerics: Numerics = "exact"
    method: str = ""
    machine: Machine | None = None
    measured: Measured | None = None
    text_fingerprint: str = ""
    default_fault: str = ""
    kept_memory: KeptMemory | None = None

    def __post_init__(self) -> None:
        """Freezes the mappings and checks the flags and the class.

        Raises:
            PlanError: A flag, its value or the numerics class is unknown, or a layout is malformed.
        """
        flag_list.check(self.flags)
        check_layouts(self.layouts)
        if self.numerics not in NUMERICS:
            raise PlanError(f"expected numerics of {', '.join(NUMERICS)}, got {self.numerics!r}")
        for name in ("layouts", "flags"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def is_empty(self) -> bool:
        """True if nothing is done: the program runs as jaxlib compiles it."""
        return not (self.steps or self.layouts or self.flags or self.placements)

    @property
    def num_decisions(self) -> int:
        """Number of steps, layouts, flags and placements."""
        return len(self.describe()) if not self.is_empty else 0

    @property
    def digest(self) -> str:
        """Hash of what is done, as 16 hexadecimal digits; equal plans have the same."""
        decisions = json.dumps(
            [
                self.steps,
                dict(sorted(self.layouts.items())),
                dict(sorted(self.flags.items())),
                [placement.to_json() for placement in self.placements],
                self.placed,
            ],
            separators=(",", ":"),
        )
        return hashlib.sha256(decisions.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        """Returns a hash of what is done; plans that differ in speed or method alone share it."""
        return hash(self.digest)

    def __or__(self, other: Plan) -> Plan:
        """Merges two plans of one program; where both decide the same, the right one holds.

        The result was not measured, and has the looser numerics class of both.

        Raises:
            PlanError: The plans are about different programs, or both have steps or placements
                that refer to different states of the module.
        """
        for attribute in ("fingerprint", "text_fingerprint", "steps", "placed"):
            mine, theirs = getattr(self, attribute), getattr(other, attribute)
            if mine and theirs and mine != theirs:
                raise PlanError(
                    f"expected the same {attribute} of both plans, got {mine!r} and {theirs!r}"
                )
        placements = {placed.subject: placed for placed in (*self.placements, *other.placements)}
        return Plan(
            program=other.program or self.program,
            fingerprint=other.fingerprint or self.fingerprint,
            steps=other.steps or self.steps,
            layouts={**self.layouts, **other.layouts},
            flags={**self.flags, **other.flags},
            placements=tuple(placements.values()),
            placed=other.placed or self.placed,
            numerics=NUMERICS[max(map(NUMERICS.index, (self.numerics, other.numerics)))],
            method=_JOINT.join(_parts(self.method) | _parts(other.method)),
            text_fingerprint=other.text_fingerprint or self.text_fingerprint,
        )

    def beside(self, reference: Plan) -> Plan:
        """Returns the plan with the decisions of a reference, where it has none of its own.

        The steps of the reference come first.
        """
        if reference.is_empty:
            return self
        flags = {**reference.flags, **self.flags}
        return replace(self, steps=(*reference.steps, *self.steps), flags=flags)

    def check(self, program: Program, *, here: bool = True) -> None:
        """Checks that the plan is one for a program on this machine.

        Args:
            program: The program.
            here: False does not ask for the machine that the plan was measured on.

        Raises:
            PlanRefusedError: It is not; the message says what differs.
        """
        if not self._is_about(program):
            mine, theirs = self.fingerprint, program.fingerprint
            if not (mine and theirs):
                mine, theirs = self.text_fingerprint or mine, program.text_fingerprint
            raise PlanRefusedError(
                f"this plan is for a program with fingerprint {mine} ({self.program}), and the "
                f"program has {theirs}: other shapes, types or code. Make a plan for it with "
                "hlograph.optimize"
            )
        if here and self.machine is not None and (difference := _differences(self.machine)):
            raise PlanRefusedError(
                f"this plan was measured elsewhere: {difference}. Its speed may not hold here: "
                "measure it again with measure_again=True, or make a plan here"
            )

    def _is_about(self, program: Program) -> bool:
        """Returns True if one of the fingerprints is the program's, or the plan has none."""
        if self.text_fingerprint and self.text_fingerprint == program.text_fingerprint:
            return True
        if self.fingerprint:
            return self.fingerprint == program.fingerprint
        return not self.text_fingerprint

    def describe(self) -> list[str]:
        """Returns what is done, one line for each decision."""
        lines = [f"step {step}" for step in self.steps]
        lines += [f"layout {name} = {layout}" for name, layout in self.layouts.items()]
        lines += [f"flag {name} = {value}" for name, value in self.flags.items()]
        lines += [str(placement) for placement in self.placements]
        return lines or ["nothing: jaxlib's default"]

    def summary(self) -> list[str]:
        """Returns what is done in few lines: places of one rule in a row are one line."""
        lines = []
        for name, places in groupby(self.steps, key=lambda step: step.partition("(")[0]):
            first, *more = places
            others = f", and {name} at {len(more)} more places" if more else ""
            lines.append(f"step {first}{others}")
        return [*lines, *(line for line in self.describe() if not line.startswith("step "))]

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # A mapping proxy cannot be pickled.
        return Plan.from_json, (self.to_json(),)

    def to_json(self) -> str:
        """Returns the plan as indented JSON."""
        content = {
            "kind": KIND,
            "version": VERSION,
            "program": self.program,
            "fingerprint": self.fingerprint,
            "text_fingerprint": self.text_fingerprint,
            "numerics": self.numerics,
            "method": self.method,
            "steps": list(self.steps),
            "layouts": dict(self.layouts),
            "flags": dict(self.flags),
            "placements": [placement.to_json() for placement in self.placements],
            "placed": self.placed,
            "machine": self.machine.to_json() if self.machine else None,
            "measured": asdict(self.measured) if self.measured else None,
            "default_fault": self.default_fault,
            "kept_memory": asdict(self.kept_memory) if self.kept_memory else None,
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """Returns the plan that ``to_json`` wrote.

        Raises:
            PlanError: The text is not a plan of a known version.
        """
        try:
            content = json.loads(text)
            form = content.get("kind"), content.get("version")
        except (ValueError, AttributeError) as error:
            raise PlanError(f"expected the JSON of a plan: {error}") from error
        if form != (KIND, VERSION):
            raise PlanError(f"expected a {KIND!r} of version {VERSION}, got {form}")
        try:
            return _plan_of(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PlanError(f"this plan is damaged: {error!r}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a JSON file."""
        write_text_atomically(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Reads a plan from a JSON file.

        Args:
            path: A path, or a URL that fsspec reads.

        Raises:
            PlanError: The file cannot be read or is not a plan.
        """
        try:
            return cls.from_json(read_bytes(as_location(path)))
        except OSError as error:
            raise PlanError(f"cannot read the plan {os.fspath(path)!r}: {error}") from error

    def measured_at(self, measured: Measured) -> Plan:
        """Returns the plan with its speed on this machine."""
        return replace(self, measured=measured, machine=machine())


def _plan_of(content: dict[str, Any]) -> Plan:
    measured, on, kept = content["measured"], content["machine"], content.get("kept_memory")
    return Plan(
        program=str(content["program"]),
        fingerprint=str(content["fingerprint"]),
        steps=tuple(map(str, content["steps"])),
        layouts={str(name): str(layout) for name, layout in content["layouts"].items()},
        flags=dict(content["flags"]),
        placements=tuple(map(Placement.from_json, content["placements"])),
        placed=str(content["placed"]),
        numerics=content["numerics"],
        method=str(content["method"]),
        machine=Machine.from_json(on) if on else None,
        measured=Measured(**measured) if measured else None,
        text_fingerprint=str(content.get("text_fingerprint", "")),
        default_fault=str(content.get("default_fault", "")),
        kept_memory=KeptMemory(**kept) if kept else None,
    )


def _parts(method: str) -> dict[str, None]:
    """Returns the methods that a method's name joins, in order."""
    return dict.fromkeys(filter(None, method.split(_JOINT)))


def _differences(other: Machine) -> str:
    here = asdict(machine())
    return "; ".join(
        f"{name} {value!r} there, {here[name]!r} here"
        for name, value in asdict(other).items()
        if value != here[name]
    )
