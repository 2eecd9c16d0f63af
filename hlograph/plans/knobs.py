"""Knobs, which list what a compilation leaves open, those of flags, and points, which set some.

A recipe is a point with steps, in words that hold in other versions of the program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hlograph.errors import HloError
from hlograph.plans.flag_effects import FLAG_VALUES, flags_without_effect
from hlograph.plans.flags import FLAGS, LIBRARIES, FlagValue
from hlograph.plans.plan import Numerics

Stage = Literal["steps", "layout", "fusion", "kernel", "flags"]
"""Stage of compilation that a knob belongs to.

``steps``: passes and rewrites before XLA's own. ``layout``: orders of dimensions in memory.
``fusion``: what is computed in one kernel. ``kernel``: library and partitions of a kernel, loops as
one kernel. ``flags``: flags of the compilation.
"""

STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages, in the order of compilation."""

KIND, VERSION = "hlograph recipe", 1
"""Kind and version of the files of recipes."""

DEFAULT = ""
"""Value of a knob that leaves the choice to jaxlib."""


@dataclass(frozen=True)
class Knob:
    """One choice.

    Attributes:
        name: Name, which is the same in each version of the program that has this choice. It begins
            with the stage.
        values: Values beside ``DEFAULT``, the most promising first.
        share: Share of the program's time that the choice is about, from 0 to 1.
        places: Number of places that it decides on together.
        about: Words for reports, such as the opcode and shape.
    """

    name: str
    values: tuple[str, ...]
    share: float = 1.0
    places: int = 1
    about: str = ""

    @property
    def stage(self) -> Stage:
        """The stage of compilation."""
        return stage_of(self.name)


def stage_of(name: str) -> Stage:
    """Returns the stage of the knob of a name.

    Raises:
        HloError: The name does not begin with a stage.
    """
    for stage in STAGES:
        if name.startswith(f"{stage} "):
            return stage
    raise HloError(f"expected a knob of the stages {', '.join(STAGES)}, got {name!r}")


@dataclass(frozen=True)
class Point:
    """A value for each of some knobs; all others have ``DEFAULT``. It can be a key of a mapping.

    A point may set knobs that a program does not have. Then they decide nothing, so that a point of
    one version of a program is a point of another one.

    Attributes:
        items: Names and values, sorted by name.
    """

    items: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Point:
        """Returns the point with these values."""
        return cls(tuple(sorted(item for item in values.items() if item[1] != DEFAULT)))

    @property
    def values(self) -> dict[str, str]:
        """The values by the names of their knobs, without those that are ``DEFAULT``."""
        return dict(self.items)

    def but(self, name: str, value: str) -> Point:
        """Returns the point with another value of one knob."""
        return Point.of({**self.values, name: value})

    def at(self, *stages: Stage) -> dict[str, str]:
        """Returns the values of the knobs of some stages."""
        return {name: value for name, value in self.items if stage_of(name) in stages}

    @property
    def version(self) -> Point:
        """The values that decide which kinds of places there are: steps, layouts and flags."""
        return Point.of(self.at("steps", "layout", "flags"))

    def to_json(self) -> str:
        """Returns the point as one line of JSON."""
        return json.dumps(self.values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Point:
        """Returns the point that ``to_json`` wrote.

        Raises:
            HloError: The text is no point.
        """
        try:
            values = json.loads(text)
            return cls.of({str(name): str(value) for name, value in values.items()})
        except (ValueError, AttributeError) as error:
            raise HloError(f"expected the JSON of a point, got {text[:200]!r}") from error


@dataclass(frozen=True)
class Recipe:
    """A plan for any version of a program, which takes of it what applies.

    The names of instructions and the fingerprints of modules differ between versions. The names of
    rules, flags, and the kinds of places do not.

    Attributes:
        steps: Names of passes, and of rules, which are applied at all places.
        point: Flags, layouts and decisions about kinds of places.
    """

    steps: tuple[str, ...] = ()
    point: Point = Point()

    @classmethod
    def of(cls, steps: Iterable[str], point: Point) -> Recipe:
        """Returns the recipe of a plan.

        Args:
            steps: The steps of the plan, with places.
            point: The point of the plan; its steps are left out.
        """
        names = dict.fromkeys(step.partition("(")[0] for step in steps)
        return cls(tuple(names), Point.of(point.at("layout", "fusion", "kernel", "flags")))

    @property
    def is_empty(self) -> bool:
        """True if nothing is done."""
        return not (self.steps or self.point.items)

    def to_json(self) -> str:
        """Returns the recipe as indented JSON."""
        content = {"kind": KIND, "version": VERSION, "steps": self.steps}
        return json.dumps({**content, "values": self.point.values}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Recipe:
        """Returns the recipe that ``to_json`` wrote.

        Raises:
            HloError: The text is no recipe of a known version.
        """
        try:
            content = json.loads(text)
            if (content["kind"], content["version"]) != (KIND, VERSION):
                raise ValueError("another kind or version")
            values = {str(name): str(value) for name, value in content["values"].items()}
            return cls(tuple(map(str, content["steps"])), Point.of(values))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HloError(f"expected the JSON of a recipe: {error!r}") from error


_LIBRARY = frozenset({"dot", "convolution", "reduce", "reduce-window"})
# Flags that matter only to programs with one of some opcodes.
_OPCODES: Mapping[str, frozenset[str]] = {
    "xla_cpu_small_while_loop_byte_threshold": frozenset({"while"}),
    LIBRARIES: _LIBRARY,
    "xla_cpu_experimental_onednn_fusion_type": frozenset({"dot"}),
    "xla_cpu_multi_thread_eigen": frozenset({"dot", "convolution"}),
}


def flag_knobs(
    opcodes: Iterable[str], hot: Mapping[str, float] | None, numerics: Numerics
) -> Iterator[Knob]:
    """Yields the knobs of flags for a program: those of flags that the installed jaxlib heeds.

    Args:
        opcodes: The opcodes of the program.
        hot: Share of the time in the kernels that contain each opcode; see
            ``hlograph.measuring.compiled.Shares``. None if it is not known.
        numerics: Class of the results; ``fast`` has knobs of fast math.
    """
    present, dead = frozenset(opcodes), flags_without_effect()
    for flag, values in FLAG_VALUES.items():
        opcodes = _OPCODES.get(flag, frozenset())
        allowed = numerics == "fast" or not FLAGS[flag].fast
        if flag not in dead and allowed and (not opcodes or opcodes & present):
            texts = tuple(map(json.dumps, values))
            yield Knob(f"flags {flag}", texts, share_of(opcodes, hot), about="the program")


def share_of(opcodes: frozenset[str], hot: Mapping[str, float] | None) -> float:
    """Returns the share of the time that a flag is about.

    Args:
        opcodes: The opcodes that it can matter to; empty for all.
        hot: See ``flag_knobs``.
    """
    if hot is None or not opcodes:
        return 1.0
    return min(sum(hot.get(name, 0.0) for name in opcodes), 1.0)


def flag_values() -> tuple[tuple[str, str], ...]:
    """Returns each name of a knob of flags with each of its values.

    They are the same, in the same order, with each version of jaxlib.
    """
    return tuple(
        (f"flags {flag}", json.dumps(value))
        for flag, values in FLAG_VALUES.items()
        for value in values
    )


def flags_of(values: Mapping[str, str]) -> dict[str, FlagValue]:
    """Returns the flags that the values of knobs set, but for those without effect here."""
    flags = {name.removeprefix("flags "): json.loads(value) for name, value in values.items()}
    dead = flags_without_effect() if flags else frozenset()
    return {name: value for name, value in flags.items() if name not in dead}


def values_of(flags: Mapping[str, FlagValue]) -> dict[str, str]:
    """Returns the values of knobs that set flags."""
    return {f"flags {name}": json.dumps(value) for name, value in flags.items()}
