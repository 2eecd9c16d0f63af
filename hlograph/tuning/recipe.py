"""Recipes: plans for a version of a program, in words that hold in other versions.

The names of instructions and the fingerprints of modules differ between versions. The names of
rules, flags, and the kinds of places do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from hlograph.errors import HloError
from hlograph.tuning.knobs import Point

KIND, VERSION = "hlograph recipe", 1


@dataclass(frozen=True)
class Recipe:
    """A plan for any version of a program, which takes of it what applies.

    Attributes:
        steps: Names of passes, and of rules, which are applied at all places.
        point: Flags, layouts and decisions about kinds of places.
    """

    steps: tuple[str, ...] = ()
    point: Point = Point()  # noqa: RUF009 (points are frozen)

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
