"""Instructions cut out of an optimized module, as a module of their own.

Values from outside become parameters, and what others read becomes the result. The instructions
keep their names, so that placements about them apply to both modules.
"""

from __future__ import annotations

from collections.abc import Collection

from hlograph.plans import jaxlib_modules
from hlograph.plans.literals import literals, with_literals
from hlograph.plans.placing.kernels import inner_instructions
from hlograph.profiling.optimized_module import known_trips
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.tuning.cutting.entry import CutError, EntryMaker
from hlograph.tuning.cutting.repeating import repeat

__all__ = ["CutError", "Cutter", "parsed"]

# What depends on more than its operands, has effects, or may write where nothing says so.
_NEVER = frozenset(
    [
        "custom-call",
        "infeed",
        "outfeed",
        "send",
        "recv",
        "send-done",
        "recv-done",
        "rng-get-and-update-state",
        "partition-id",
        "replica-id",
        "async-start",
        "async-update",
        "async-done",
        "all-reduce",
        "all-gather",
        "all-to-all",
        "reduce-scatter",
        "collective-permute",
        "after-all",
    ]
)


class Cutter:
    """Cuts instructions out of an optimized module.

    Args:
        proto: Serialized ``HloModuleProto`` of the optimized module.
    """

    def __init__(self, proto: bytes) -> None:
        self.module = parsed(proto)
        self._literals = literals(proto)

    def cut(self, names: Collection[str], turns: int = 1) -> bytes:
        """Returns a module of some instructions of one computation.

        Args:
            names: Names of the instructions.
            turns: How often they run in a run of the module; see ``repeating``.

        Returns:
            The serialized ``HloModuleProto``, for ``hlograph.plans.carrier.compile_optimized``.

        Raises:
            CutError: The instructions are not of one computation, or one of them does not run as in
                the program without the rest of it: a loop whose number of turns is not known, a
                custom call, communication.
        """
        homes = {home.name: home for home, one in self.module.instructions() if one.name in names}
        found = [one for home in homes.values() for one in home.instructions if one.name in names]
        if len(homes) != 1 or len(found) != len(set(names)):
            raise CutError(
                f"expected instructions of one computation, got {', '.join(sorted(names))}, of "
                f"which {len(found)} are in {len(homes)} computations"
            )
        for one in found:
            self._check(one)
        (home,) = homes.values()
        entry = EntryMaker(self.module, home, found).computation()
        computations = {entry.name: entry}
        for one in found:
            self._add_called(one, computations)
        module = ModuleText("HloModule cut", computations)
        if turns > 1:
            repeat(module, turns)
        proto = jaxlib_modules.proto_of(str(module))
        origins = {i.name: i.origin for _, i in module.instructions() if i.opcode == "constant"}
        kept = {name: self._literals[old] for name, old in origins.items() if old in self._literals}
        return with_literals(proto, kept)

    def _check(self, one: Instruction) -> None:
        for part in (one, *inner_instructions(self.module, one)):
            if part.opcode in _NEVER:
                raise CutError(f"cannot cut out {one.name}: it has the {part.opcode} {part.name}")
            if part.opcode == "while" and _turns(part) is None:
                raise CutError(
                    f"cannot cut out {one.name}: how often the loop {part.name} turns depends on "
                    "values of the program"
                )

    def _add_called(self, one: Instruction, computations: dict[str, Computation]) -> None:
        for name in one.calls:
            if name not in computations:
                computations[name] = self.module.computations[name]
                for inner in self.module.computations[name].instructions:
                    self._add_called(inner, computations)


def parsed(proto: bytes) -> ModuleText:
    """Returns the model of a module's text, without large constants."""
    return ModuleText.parse(jaxlib_modules.text_of(proto, literals=False))


def _turns(loop: Instruction) -> int | None:
    """Returns how often a loop turns, as XLA has found out; None if it has not."""
    trips = known_trips(loop.attributes.get("backend_config", ""))
    return trips[0] if trips else None
