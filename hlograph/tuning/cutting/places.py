"""The heavy places of a version of a program, each with the knobs that its cut decides on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hlograph.plans.placement import Placement
from hlograph.plans.placing.kernels import inner_instructions
from hlograph.plans.placing.places import Decided
from hlograph.reading.hlo_editing import ModuleText
from hlograph.tuning.knobs import stage_of

LEAST_SHARE = 0.01
"""Share of the time below which a place is not worth a cut."""


class HeavyPlace(NamedTuple):
    """Instructions that do equal work, of which one is cut out and tuned.

    Attributes:
        kind: Their kind; see ``hlograph.plans.placing.places``.
        about: Opcode and shape.
        share: Share of the program's time of all of them, with the users that they may be fused
            into.
        places: Number of them.
        values: Values to try, by the names of the knobs.
        inside: Kinds of the other heavy places within, such as those in the body of a loop.
    """

    kind: str
    about: str
    share: float
    places: int
    values: Mapping[str, tuple[str, ...]]
    inside: frozenset[str]


class HeavyPlaces:
    """The heavy places of a version of a program.

    Args:
        module: The optimized module.
        decided: What can be decided about its places, by the name of the knob and the value.
        shares: Share of the time of each instruction, with all that it calls, by name.
    """

    def __init__(
        self,
        module: ModuleText,
        decided: Mapping[str, Mapping[str, Decided]],
        shares: Mapping[str, float],
    ) -> None:
        self._module, self._decided, self._shares = module, decided, shares
        self._instructions = {one.name: one for _, one in module.instructions()}
        self._known_inner: dict[str, frozenset[str]] = {}
        self._knobs: dict[str, list[str]] = {}
        for name in decided:
            self._knobs.setdefault(name.removeprefix(f"{stage_of(name)} "), []).append(name)
        self._names = {kind: self._all_names(kind) for kind in self._knobs}

    def heavy(self) -> list[HeavyPlace]:
        """Returns the heavy places, the heaviest first."""
        kinds = {name: kind for kind, names in self._names.items() for name in names}
        found = [self._place(kind, kinds) for kind in self._knobs]
        return sorted((p for p in found if p.share >= LEAST_SHARE), key=lambda p: -p.share)

    def region(self, kind: str) -> list[str]:
        """Returns the names of one place of a kind, and of the users that it may be fused into."""
        place = self._names[kind][0]
        placements = (p for name in self._knobs[kind] for p in self._placements(name, place))
        users = (p.value for p in placements if p.decision == "fuse")
        return list(dict.fromkeys((place, *users)))

    def placements(self, values: Mapping[str, str]) -> list[Placement]:
        """Returns the placements that values of knobs make at the place that is cut out."""
        found = []
        for name, value in values.items():
            kind = name.removeprefix(f"{stage_of(name)} ")
            if value in self._decided.get(name, {}):
                found += self._of(self._decided[name][value], self._names[kind][0])
        return found

    def _place(self, kind: str, kinds: Mapping[str, str]) -> HeavyPlace:
        names = self._names[kind]
        shares, place = self._shares, names[0]
        own = sum(shares.get(name, 0.0) for name in names)
        one = shares.get(place, 0.0)
        with_users = sum(shares.get(name, 0.0) for name in self.region(kind))
        values = {name: tuple(self._values(name, place)) for name in self._knobs[kind]}
        return HeavyPlace(
            kind,
            next(iter(self._decided[self._knobs[kind][0]].values())).about,
            min(own * with_users / one if one else own, 1.0),
            len(names),
            {name: found for name, found in values.items() if found},
            frozenset(kinds[name] for name in self._inner(place) if name in kinds),
        )

    def _all_names(self, kind: str) -> Sequence[str]:
        """Returns the names of the places of a kind, first the one with the most to decide."""
        counts: dict[str, int] = {}
        for knob in self._knobs[kind]:
            for one in self._decided[knob].values():
                for name in one.places:
                    counts[name] = counts.get(name, 0) + 1
        return sorted(counts, key=lambda name: -counts[name])

    def _values(self, knob: str, place: str) -> Iterator[str]:
        return (v for v, one in self._decided[knob].items() if self._of(one, place))

    def _placements(self, knob: str, place: str) -> Iterator[Placement]:
        return (p for one in self._decided[knob].values() for p in self._of(one, place))

    def _of(self, decided: Decided, place: str) -> list[Placement]:
        """Returns the placements of a decision at one place."""
        if place not in decided.places:
            return []
        names = {place, *self._inner(place)}
        return [one for one in decided.placements if one.instruction in names]

    def _inner(self, place: str) -> frozenset[str]:
        """Returns the names of the instructions of all computations that a place calls."""
        if place not in self._known_inner:
            inner = inner_instructions(self._module, self._instructions[place])
            self._known_inner[place] = frozenset(one.name for one in inner)
        return self._known_inner[place]
