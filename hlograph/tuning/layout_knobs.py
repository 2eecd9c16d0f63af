"""Knobs of layouts: the orders in memory of what dots and convolutions read and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hlograph.measuring.compiled import kinds_of
from hlograph.plans import jaxlib_modules
from hlograph.plans.placing.places import Kinds
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape
from hlograph.tuning.knobs import Knob

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
        for home, one in module.instructions():
            if one.opcode in ("dot", "convolution"):
                self._add(kinds.of(home, one), home, one)

    def knobs(self, hot: Mapping[str, float] | None) -> Iterator[Knob]:
        """Yields the knobs.

        Args:
            hot: Share of the time in the kernels that contain each kind of instruction; see
                ``hlograph.measuring.compiled.Shares``. None if it is not known.
        """
        for name, (values, one) in self._knobs.items():
            kind, opcode = kinds_of(one.opcode, one.shape)
            share = 1.0 if hot is None else hot.get(kind, hot.get(opcode, 0.0))
            yield Knob(name, values, share, len(self._places[name]), f"{one.opcode} {one.shape}")

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

    def _add(self, kind: str, home: Computation, one: Instruction) -> None:
        for role, name in (*((str(n), o) for n, o in enumerate(one.operands)), (_RESULT, one.name)):
            orders = tuple(_orders(home.by_name[name].shape))
            if orders:
                knob = f"layout {kind} {role}"
                self._knobs.setdefault(knob, (orders, one))
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
            moved = [channels, *(one for one in reversed(range(4)) if one != channels)]
            if moved not in (order, swapped):
                yield "{" + ",".join(map(str, moved)) + "}"
