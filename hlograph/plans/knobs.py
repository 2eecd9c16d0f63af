"""Knobs, which list what a compilation leaves open, those of flags, and points, which set some.

A recipe is a point with steps, in words that hold in other versions of the program.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from hlograph.errors import HloError
from hlograph.plans.flags import CONVOLUTIONS, DOTS, FLAGS, REDUCTIONS, FlagValue
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


class _FlagValues(NamedTuple):
    """A flag, its values, and the opcodes of which a program must have one."""

    flag: str
    values: tuple[FlagValue, ...]
    opcodes: frozenset[str] = frozenset()


_LIBRARY = frozenset({"dot", "convolution", "reduce", "reduce-window"})
_FLAG_VALUES = (
    _FlagValues("xla_cpu_small_while_loop_byte_threshold", (4_000_000, 0), frozenset({"while"})),
    _FlagValues(
        "xla_cpu_experimental_ynn_fusion_type",
        (f"{DOTS},{CONVOLUTIONS}", "", f"{DOTS},{REDUCTIONS}", REDUCTIONS),
        _LIBRARY,
    ),
    _FlagValues("xla_cpu_experimental_onednn_fusion_type", (DOTS,), frozenset({"dot"})),
    _FlagValues("xla_cpu_prefer_vector_width", (512, 128)),
    _FlagValues("xla_cpu_use_multi_output_fusion", (True,)),
    _FlagValues("xla_cpu_disable_new_fusion_emitters", (True,)),
    _FlagValues("xla_cpu_disable_tiled_emitter", (True,)),
    _FlagValues("xla_cpu_experimental_enable_tiling_propagation", (True,)),
    _FlagValues("xla_cpu_disable_loop_unrolling", (True,)),
    _FlagValues("xla_cpu_optimize_for_size", (True,)),
    _FlagValues("xla_cpu_scheduler_type", ("CPU_SCHEDULER_TYPE_CONCURRENCY_OPTIMIZED",)),
    _FlagValues("xla_cpu_multi_thread_eigen", (False,), frozenset({"dot", "convolution"})),
    _FlagValues("xla_cpu_enable_fast_math", (True,)),
)


def flag_knobs(
    opcodes: Iterable[str], hot: Mapping[str, float] | None, numerics: Numerics
) -> Iterator[Knob]:
    """Yields the knobs of flags for a program.

    Args:
        opcodes: The opcodes of the program.
        hot: Share of the time in the kernels that contain each opcode; see
            ``hlograph.measuring.compiled.Shares``. None if it is not known.
        numerics: Class of the results; ``fast`` has knobs of fast math.
    """
    present = frozenset(opcodes)
    for flag, values, opcodes in _FLAG_VALUES:
        allowed = numerics == "fast" or not FLAGS[flag].fast
        if allowed and (not opcodes or opcodes & present):
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
    """Returns each name of a knob of flags with each of its values, in a fixed order."""
    return tuple(
        (f"flags {flag}", json.dumps(value)) for flag, values, _ in _FLAG_VALUES for value in values
    )


def flags_of(values: Mapping[str, str]) -> dict[str, FlagValue]:
    """Returns the flags that the values of knobs set."""
    return {name.removeprefix("flags "): json.loads(value) for name, value in values.items()}


def values_of(flags: Mapping[str, FlagValue]) -> dict[str, str]:
    """Returns the values of knobs that set flags."""
    return {f"flags {name}": json.dumps(value) for name, value in flags.items()}
