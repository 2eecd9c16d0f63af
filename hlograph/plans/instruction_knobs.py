"""Knobs about instructions, by their kinds: of layouts, and of fusion and kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from hlograph.plans import jaxlib_modules
from hlograph.plans.jaxlib_modules import literals_in
from hlograph.plans.knobs import Knob, Stage
from hlograph.plans.placement import Decision, Placement
from hlograph.plans.placing import with_old_literals
from hlograph.plans.placing.operations import kinds_of
from hlograph.plans.placing.placements import written
from hlograph.plans.placing.places import Kinds, PlacementDecision, decided_in, place_all
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape

# The stage of each kind of decision, in the order in which they are carried out. Libraries take
# single operations, so they come before fusions change these; partitions are those of what the
# fusions leave, and a loop as one kernel needs its final body.
_STAGES: Mapping[Decision, Stage] = {
    "library": "kernel",
    "unfuse": "fusion",
    "fuse": "fusion",
    "partitions": "kernel",
    "one-kernel": "kernel",
}
_ORDER = tuple(_STAGES)

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
        for decision in decided_in(self._module):
            self._decided.setdefault(_name(decision), {})[decision.decision] = decision

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
            places = {place for decision in values.values() for place in decision.places}
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
        return literals_in(self._proto)

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
            made = [value for value in decided.values() if chosen.issuperset(value.placements)]
            if made:
                values[name] = max(made, key=lambda value: len(value.placements)).decision
        return values


def _name(decision: PlacementDecision) -> str:
    return f"{_STAGES[decision.placements[0].decision]} {decision.kind}"


_RESULT = "result"
_LEAST_ELEMENTS = 1024


class LayoutKnobs:
    """Knobs of layouts of one module, before XLA's own passes.

    Args:
        proto: Serialized ``HloModuleProto`` of the module after the steps of a plan.
    """

    def __init__(self, proto: bytes) -> None:
        module = ModuleText.parse(jaxlib_modules.text_of(proto, literals=False))
        kinds = Kinds(module)
        self._places: dict[str, list[str]] = {}
        self._knobs: dict[str, tuple[tuple[str, ...], Instruction]] = {}
        for home, op in module.instructions():
            if op.opcode in ("dot", "convolution"):
                self._add(kinds.of(home, op), home, op)

    def knobs(self, hot: Mapping[str, float] | None) -> Iterator[Knob]:
        """Yields the knobs.

        Args:
            hot: Share of the time in the kernels that contain each kind of instruction; see
                ``hlograph.measuring.compiled.Shares``. None if it is not known.
        """
        for name, (values, op) in self._knobs.items():
            kind, opcode = kinds_of(op.opcode, op.shape)
            share = 1.0 if hot is None else hot.get(kind, hot.get(opcode, 0.0))
            yield Knob(name, values, share, len(self._places[name]), f"{op.opcode} {op.shape}")

    def layouts(self, values: Mapping[str, str]) -> dict[str, str]:
        """Returns the layouts of a plan by the names of instructions, for values of knobs."""
        return {
            instruction: value
            for name, value in values.items()
            for instruction in self._places.get(name, ())
        }

    def values_of(self, layouts: Mapping[str, str]) -> dict[str, str]:
        """Returns the values of knobs that set layouts, those of all their places."""
        return {
            name: found.pop()
            for name, places in self._places.items()
            if len(found := {layouts.get(place, "") for place in places}) == 1 and found != {""}
        }

    def _add(self, kind: str, home: Computation, op: Instruction) -> None:
        for role, name in (*((str(n), o) for n, o in enumerate(op.operands)), (_RESULT, op.name)):
            orders = tuple(_orders(home.by_name[name].shape))
            if orders:
                knob = f"layout {kind} {role}"
                self._knobs.setdefault(knob, (orders, op))
                self._places.setdefault(knob, []).append(name)


def _orders(shape: str) -> Iterator[str]:
    """Yields minor-to-major orders to try: the last two dimensions, or the channels, swapped."""
    array = array_shape(shape)
    if array is None or array.elements < _LEAST_ELEMENTS:
        return
    order = list(array.minor_to_major)
    if len(order) < 2:
        return
    swapped = [order[1], order[0], *order[2:]]
    yield "{" + ",".join(map(str, swapped)) + "}"
    if len(order) == 4:
        for channels in (1, 3):
            moved = [channels, *(axis for axis in reversed(range(4)) if axis != channels)]
            if moved not in (order, swapped):
                yield "{" + ",".join(map(str, moved)) + "}"
