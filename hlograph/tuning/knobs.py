"""Knobs, the choices that a program leaves open, and points, which set some of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from hlograph.errors import HloError

Stage = Literal["steps", "layout", "fusion", "kernel", "flags"]
"""Stage of compilation that a knob belongs to.

``steps``: passes and rewrites before XLA's own. ``layout``: orders of dimensions in memory.
``fusion``: what is computed in one kernel. ``kernel``: library and partitions of a kernel, loops as
one kernel. ``flags``: flags of the compilation.
"""

STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages, in the order of compilation."""

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
