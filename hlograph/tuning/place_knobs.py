"""Knobs of fusion and kernels, by kinds of places of an optimized module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from hlograph.plans import jaxlib_modules
from hlograph.plans.literals import literals
from hlograph.plans.placement import Decision, Placement
from hlograph.plans.placing import with_old_literals
from hlograph.plans.placing.carrying_out import written
from hlograph.plans.placing.places import PlacementDecision, decided_in, place_all
from hlograph.reading.hlo_editing import ModuleText
from hlograph.tuning.knobs import Knob, Stage

_STAGES: Mapping[Decision, Stage] = {
    "fuse": "fusion",
    "unfuse": "fusion",
    "partitions": "kernel",
    "library": "kernel",
    "one-kernel": "kernel",
}
# Libraries take single operations, so they come before fusions change these; partitions are those
# of what the fusions leave, and a loop as one kernel needs its final body.
_ORDER: Sequence[Decision] = ("library", "unfuse", "fuse", "partitions", "one-kernel")

# A knob about less of the time than this has nothing to win.
_LEAST_SHARE = 0.01


class PlaceKnobs:
    """Knobs about the places of one optimized module.

    Args:
        proto: Serialized ``HloModuleProto`` of the optimized module.
    """

    def __init__(self, proto: bytes) -> None:
        self._proto = proto
        self._module = ModuleText.parse(jaxlib_modules.text_of(proto, literals=False))
        self._decided: dict[str, dict[str, PlacementDecision]] = {}
        for one in decided_in(self._module):
            self._decided.setdefault(_name(one), {})[one.decision] = one

    @property
    def decided(self) -> Mapping[str, Mapping[str, PlacementDecision]]:
        """Decisions by the name of the knob and the value."""
        return self._decided

    def knobs(self, shares: Mapping[str, float] | None) -> Iterator[Knob]:
        """Yields the knobs that are about a part of the time.

        Args:
            shares: Share of the time of each instruction, with all that it calls, by name; see
                ``hlograph.measuring.compiled.Shares``. None if it is not known.
        """
        for name, values in self._decided.items():
            places = {place for one in values.values() for place in one.places}
            share = 1.0 if shares is None else sum(shares.get(place, 0.0) for place in places)
            if share >= _LEAST_SHARE:
                about = next(iter(values.values())).about
                yield Knob(name, tuple(values), min(share, 1.0), len(places), about)

    def placements(self, values: Mapping[str, str]) -> tuple[Placement, ...]:
        """Returns the placements for values of knobs, without those that no longer apply.

        Values that this module does not have decide nothing.

        Raises:
            PlanError: jaxlib does not read the module with the placements.
        """
        kept, module = self._carried_out(values)
        if kept:
            written(module)
        return tuple(kept)

    def placed(self, values: Mapping[str, str]) -> bytes:
        """Returns the module with the placements for values of knobs.

        Raises:
            PlanError: jaxlib does not read the module with the placements.
        """
        kept, module = self._carried_out(values)
        return with_old_literals(written(module), module, self._literals) if kept else self._proto

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the optimized module."""
        return jaxlib_modules.fingerprint(self._proto)

    @cached_property
    def _literals(self) -> dict[str, bytes]:
        return literals(self._proto)

    def _carried_out(self, values: Mapping[str, str]) -> tuple[list[Placement], ModuleText]:
        """Returns the placements that apply, and the module with them."""
        chosen = [
            placement
            for name, value in values.items()
            if value in self._decided.get(name, {})
            for placement in self._decided[name][value].placements
        ]
        if not chosen:
            return [], self._module
        chosen.sort(key=lambda placement: _ORDER.index(placement.decision))
        module = self._module.copy()
        return place_all(module, chosen), module

    def values_of(self, placements: Iterable[Placement]) -> dict[str, str]:
        """Returns the values of knobs that make placements, those at all their places."""
        chosen = set(placements)
        values: dict[str, str] = {}
        for name, decided in self._decided.items():
            made = [one for one in decided.values() if chosen.issuperset(one.placements)]
            if made:
                values[name] = max(made, key=lambda one: len(one.placements)).decision
        return values


def _name(one: PlacementDecision) -> str:
    return f"{_STAGES[one.placements[0].decision]} {one.kind}"
