"""Proof that a network of minima and maxima sorts, by the zero-one principle.

A network that sorts all rows of zeros and ones sorts all rows (D. E. Knuth, The Art of Computer
Programming, volume 3, section 5.3.4). Wires that no exchange has joined yet are independent, so the
rows that can occur are those of each group of joined wires, of which a merging network has few.
"""

from __future__ import annotations

import re
from functools import partial

import jax.numpy as jnp

from benchmarks.speed_rules.lowering import array, lowered
from hlograph.errors import HloError
from tests.proofs.floats.programs import Pair, applied
from tests.proofs.instructions import Computation, Instruction, Program

Exchange = tuple[int, int]
"""Numbers of the wire that takes the minimum, and of the one that takes the maximum."""

Group = tuple[tuple[int, ...], set[tuple[int, ...]]]
"""Wires that exchanges have joined, and the rows that can occur in them."""

_MOST_ROWS = 1 << 16


def of_length(length: int) -> Pair:
    """Returns a sort of integers of so many elements, before and after ``sort-as-network``.

    Raises:
        HloError: The rule does not apply.
    """
    text = lowered(partial(jnp.sort, axis=0), array(length, 16, dtype="int32"))
    pair = applied("sort-as-network", text)
    if pair is None:
        raise HloError(f"expected sort-as-network to apply to {length} elements")
    return pair


def exchanges_of(pair: Pair) -> tuple[int, list[Exchange]]:
    """Reads the network of a module after ``sort-as-network``.

    Returns:
        The number of wires, and the exchanges in an order that joins wires as late as possible.

    Raises:
        HloError: The module has another form.
    """
    main = Program.of(pair.after).main
    keys = main.all("slice")[0].operands[0]
    slices = [each for each in main.all("slice") if each.operands[0] == keys]
    wires = {each.name: i for i, each in enumerate(sorted(slices, key=_starts))}
    greatest = {each.operands: each for each in main.all("maximum")}
    exchanges, pending = [], main.all("minimum")
    joined = {wire: {wire} for wire in wires.values()}

    def size(exchange: Instruction) -> int:
        low, high = (joined[wires[name]] for name in exchange.operands)
        return 0 if low is high else len(low) + len(high)

    while pending:
        ready = [each for each in pending if all(name in wires for name in each.operands)]
        least = min(ready, key=size)
        pending.remove(least)
        low, high = (wires[name] for name in least.operands)
        exchanges.append((low, high))
        both = joined[low] | joined[high]
        if joined[low] is not joined[high]:
            joined |= dict.fromkeys(both, both)
        wires |= {least.name: low, greatest[least.operands].name: high}
    outputs = [_wire_of(main, name, wires) for name in main.all("concatenate")[0].operands]
    if outputs != list(range(len(slices))):
        raise HloError(f"expected the wires in their order, got {outputs}")
    return len(slices), exchanges


def _starts(piece: Instruction) -> list[int]:
    return [int(start) for start in re.findall(r"\[(\d+):", piece.attributes["slice"])]


def _wire_of(main: Computation, name: str, wires: dict[str, int]) -> int:
    """Returns the wire of whose last key an output is computed."""
    pending = [name]
    while pending[-1] not in wires:
        instruction = main.instructions[pending.pop()]
        if instruction.opcode not in ("constant", "parameter"):
            pending.extend(instruction.operands)
    return wires[pending[-1]]


def unsorted_row(count: int, exchanges: list[Exchange]) -> tuple[int, ...] | None:
    """Returns a row of zeros and ones that a network leaves unsorted; None if it sorts all.

    Args:
        count: Number of wires.
        exchanges: The exchanges.

    Raises:
        HloError: Too many rows can occur in one group of wires.
    """
    groups: dict[int, Group] = {wire: ((wire,), {(0,), (1,)}) for wire in range(count)}
    for low, high in exchanges:
        wires, rows = _joined(groups[low], groups[high])
        first, second = wires.index(low), wires.index(high)
        after = set()
        for row in rows:
            values = list(row)
            values[first], values[second] = sorted((row[first], row[second]))
            after.add(tuple(values))
        groups |= dict.fromkeys(wires, (wires, after))
    for wires, rows in groups.values():
        if len(wires) != count:
            raise HloError(f"expected exchanges that join all wires, got {wires} of {count}")
        for row in rows:
            ordered = [row[wires.index(wire)] for wire in range(count)]
            if ordered != sorted(ordered):
                return tuple(ordered)
    return None


def _joined(one: Group, two: Group) -> Group:
    if one[0] == two[0]:
        return one
    if len(one[1]) * len(two[1]) > _MOST_ROWS:
        raise HloError(f"expected a merging network, got {len(one[1])} times {len(two[1])} rows")
    return (*one[0], *two[0]), {(*a, *b) for a in one[1] for b in two[1]}
