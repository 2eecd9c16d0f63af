"""Kinds of places: instructions of an optimized module that do equal work on equal shapes.

A decision about a kind holds wherever that work stands: in each layer of a network, and in another
version of the program, whatever the names of the instructions are there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlograph.errors import PlanError
from hlograph.plans.placement import Placement
from hlograph.plans.placing.library import check_no_library
from hlograph.plans.placing.operations import is_library_fusion, library_kind
from hlograph.plans.placing.partitions import check_one_kernel, inner_instructions
from hlograph.plans.placing.placements import place_one, placements_in
from hlograph.plans.placing.splitting import fusion_around
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText

_NAME = re.compile(r"%[^\s,{}()]+")
# What says nothing of the work: where it is divided, and in what order it runs.
_IGNORED = frozenset({"backend_config", "metadata", "control-predecessors", "frontend_attributes"})
_DIGITS = 12


@dataclass(frozen=True)
class PlacementDecision:
    """A decision about a kind of places, and the placements that carry it out in one module.

    Attributes:
        kind: Kind of the places.
        decision: Decision and value without names of instructions, such as ``partitions 2``.
        placements: One placement for each place.
        places: Names of the instructions at these places, which run as wholes.
        about: Opcode and shape of the places.
    """

    kind: str
    decision: str
    placements: tuple[Placement, ...]
    places: tuple[str, ...]
    about: str


def decided_in(module: ModuleText) -> list[PlacementDecision]:
    """Returns the decisions that apply to an optimized module, by kinds of places.

    Args:
        module: The module.
    """
    module.index()
    kinds, homes = Kinds(module), dict(_homes(module))
    placed: dict[tuple[str, str], list[tuple[Placement, str]]] = {}
    about: dict[str, str] = {}
    for placement in placements_in(module):
        (home, op), decision = _place(module, homes, placement)
        kind = kinds.of(home, op)
        about[kind] = f"{op.opcode} {op.shape}"
        if placement.decision == "fuse":
            decision = f"fuse {kinds.of(*homes[placement.value])}"
        placed.setdefault((kind, decision), []).append((placement, op.name))
    decided = [
        PlacementDecision(
            kind,
            decision,
            tuple(placement for placement, _ in several),
            tuple(dict.fromkeys(name for _, name in several)),
            about[kind],
        )
        for (kind, decision), several in placed.items()
    ]
    return [*_loops_without_libraries(module, kinds), *_into_all_users(decided), *decided]


def place_all(module: ModuleText, placements: Sequence[Placement]) -> list[Placement]:
    """Carries out those of some placements that apply, one after the other, and returns them.

    An earlier one may have taken what a later one is about.

    Args:
        module: The optimized module; it is changed.
        placements: The placements.
    """
    kept = []
    for placement in placements:
        try:
            place_one(module, placement)
        except PlanError:
            continue
        kept.append(placement)
    return kept


def _loops_without_libraries(module: ModuleText, kinds: Kinds) -> Iterator[PlacementDecision]:
    """Yields the decision to compile a loop as one kernel, in which no library is called any more.

    A call of a library in a loop of small arrays takes longer than what it computes.
    """
    loops_of: dict[str, list[tuple[Instruction, list[Instruction]]]] = {}
    for home, op in module.instructions():
        if op.opcode == "while" and (inner := _replaceable_libraries(module, home, op)):
            loops_of.setdefault(kinds.of(home, op), []).append((op, inner))
    for kind, loops in loops_of.items():
        calls = {fusion.name: None for _, inner in loops for fusion in inner}
        placements = [Placement(name, "library", "none") for name in calls]
        placements += [Placement(loop.name, "one-kernel") for loop, _ in loops]
        places = tuple(loop.name for loop, _ in loops)
        about = f"while {loops[0][0].shape}"
        yield PlacementDecision(
            kind, "one-kernel without libraries", tuple(placements), places, about
        )


def _replaceable_libraries(
    module: ModuleText, home: Computation, loop: Instruction
) -> list[Instruction]:
    """Returns the calls of libraries in a loop, if it could be one kernel without them."""
    calls = [op for op in inner_instructions(module, loop) if is_library_fusion(op)]
    try:
        check_one_kernel(module, home, loop, libraries=True)
        for op in calls:
            check_no_library(module, op)
    except PlanError:
        return []
    return calls


def _into_all_users(decided: Sequence[PlacementDecision]) -> Iterator[PlacementDecision]:
    """Yields the decision to fuse into all users, for kinds of places with several users."""
    users: dict[str, list[PlacementDecision]] = {}
    for decision in decided:
        if decision.decision.startswith("fuse "):
            users.setdefault(decision.kind, []).append(decision)
    for kind, several in users.items():
        if len(several) > 1:
            placements = tuple(placement for fused in several for placement in fused.placements)
            places = tuple(dict.fromkeys(name for fused in several for name in fused.places))
            yield PlacementDecision(kind, "fuse all", placements, places, several[0].about)


class Kinds:
    """Kinds of the instructions of one module.

    Args:
        module: The module, which must not change.
    """

    def __init__(self, module: ModuleText) -> None:
        self._module = module
        self._digests: dict[str, str] = {}

    def of(self, home: Computation, op: Instruction) -> str:
        """Returns the kind of an instruction, as 12 hexadecimal digits.

        Args:
            home: The computation of the instruction.
            op: The instruction.
        """
        shapes = home.by_name
        return _digest([*self._own(op), *(shapes[name].shape for name in op.operands)])

    def _own(self, op: Instruction) -> Iterator[str]:
        yield f"{op.shape} {op.opcode} {op.argument} {library_kind(op)}"
        for key, value in sorted(op.attributes.items()):
            if key not in _IGNORED:
                yield f"{key}={_NAME.sub('%', value)}"
        yield from map(self._content, op.calls)

    def _content(self, name: str) -> str:
        """Returns a digest of a computation without names."""
        if name not in self._digests:
            body = self._module.computations[name].instructions
            numbers = {op.name: str(number) for number, op in enumerate(body)}
            lines = [
                " ".join(
                    [str(op.is_root), *self._own(op), *(numbers[name] for name in op.operands)]
                )
                for op in body
            ]
            self._digests[name] = _digest(lines)
        return self._digests[name]


def _homes(module: ModuleText) -> Iterator[tuple[str, tuple[Computation, Instruction]]]:
    for home, op in module.instructions():
        yield op.name, (home, op)


def _place(
    module: ModuleText, homes: Mapping[str, tuple[Computation, Instruction]], placement: Placement
) -> tuple[tuple[Computation, Instruction], str]:
    """Returns the instruction that runs as a whole, and the decision without names."""
    home, op = homes[placement.instruction]
    words = [placement.decision, placement.value] if placement.value else [placement.decision]
    if placement.decision == "unfuse" and op.opcode != "fusion":
        words.append(str(home.instructions.index(op)))
        op, home = fusion_around(module, home, op.name)
    return (home, op), " ".join(words)


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]
