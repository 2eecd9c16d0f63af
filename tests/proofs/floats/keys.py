"""Proofs that keys are ordered as what they stand for, for all bits of every type.

A rule for sorts replaces the comparator of a program by an order of keys that it computes. Both
are read from the modules, before and after the rule, as formulas over bit vectors, so what is
proved is what the rule builds. For all bits ``x``, ``y`` of elements and all positions ``i`` and
``j`` of a row:

- order: ``key(x, i) < key(y, j)`` if and only if a stable sort by the comparator puts ``x`` at
  ``i`` before ``y`` at ``j``. Of keys without positions: if ``x`` must come before ``y``.
- round trip: what the rule computes from a key is the element, or a NaN if that is one; and from a
  packed key its position.

Comparisons of floats hold as IEEE 754 has them, and again with all denormals taken for zeros, as
jaxlib runs its code. The order of top-k is that of XLA:CPU: the greatest first, of floats by their
bits as signed integers with the magnitude of negative ones reversed, and the first of equal ones
first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import z3
from jax import lax

from benchmarks.speed_rules.lowering import array, lowered
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS
from tests.proofs.floats.formulas import (
    compared,
    counterexample,
    formula,
    is_nan,
    total_order_key,
    width_of,
)
from tests.proofs.floats.programs import Pair, applied, retyped
from tests.proofs.instructions import Computation, Instruction, Program

# Greatest length of a row, kMaxRow in integer_keys.h.
_LONGEST_ROW = 2**30

Claim = tuple[str, Any]
"""A name, and a formula that must hold for all values of its variables."""


Formula = Callable[..., Any]


def _argsort(values: jax.Array, *, descending: bool) -> jax.Array:
    return jnp.argsort(values, axis=-1, descending=descending, stable=True)


def _pair(values: jax.Array) -> Any:
    positions = lax.broadcasted_iota(jnp.int32, values.shape, 1)
    return lax.sort((values, positions), num_keys=1)


def _sort(values: jax.Array, *, descending: bool) -> jax.Array:
    return jnp.sort(values, axis=-1, descending=descending, stable=True)


def _first(values: jax.Array, *, from_end: bool) -> jax.Array:
    order = jnp.argsort(values, axis=-1, stable=True)
    return order[:, -2:] if from_end else order[:, :2]


_SHORT = tuple(f"{sign}{width}" for width in (8, 16, 32) for sign in "su")
_HALVES = ("f32", "bf16", "f16")
_UP_AND_DOWN = ({"descending": False}, {"descending": True})

KEYS: dict[str, tuple[tuple[str, ...], tuple[Callable[..., Any], ...]]] = {
    "sort-by-packed-keys": (
        (*_HALVES, *_SHORT),
        (_pair, *(partial(_argsort, **options) for options in _UP_AND_DOWN)),
    ),
    "sort-by-integer-keys": (
        (*_HALVES, "f64"),
        tuple(partial(_sort, **options) for options in _UP_AND_DOWN),
    ),
    "sort-as-network": (
        (*_HALVES, "f64", *_SHORT, "s64", "u64"),
        tuple(partial(_sort, **options) for options in _UP_AND_DOWN),
    ),
    "sort-prefix-as-top-k": (
        (*_HALVES, *_SHORT),
        (partial(_first, from_end=False), partial(_first, from_end=True)),
    ),
    "top-k-by-float-keys": (_SHORT, (partial(lax.top_k, k=3),)),
    "top-k-by-packed-keys": ((*_HALVES, *_SHORT), (partial(lax.top_k, k=7),)),
    "top-k-of-groups": (("f32",), (partial(lax.top_k, k=2),)),
}
"""Element types in which the keys of each rule are proved, and functions with its pattern."""


def key_pairs(rule: str, element_type: str) -> Iterator[Pair]:
    """Returns programs of a rule in an element type, one for each kind of order.

    A sort of floats comes twice: with the comparator of JAX, by which all zeros are equal, and all
    NaNs; and with XLA's total order alone.
    """
    length = 130 if rule == "top-k-of-groups" else 8
    source = "f32" if element_type in FLOATS else element_type
    dtype = source.replace("f", "float").replace("s", "int").replace("u", "uint")
    dtype = dtype.replace("uintint", "uint")
    for function in KEYS[rule][1]:
        text = retyped(lowered(function, array(16, length, dtype=dtype)), element_type)
        for each in dict.fromkeys([text, by_total_order(text)]):
            pair = applied(rule, each)
            if pair is None:
                raise HloError(f"expected {rule} to apply to {element_type}:\n{each}")
            yield pair


def by_total_order(text: str) -> str:
    """Returns a program whose sorts compare floats as they are: zeros by sign, NaNs by bits."""

    def plain(match: re.Match[str]) -> str:
        names = dict(re.findall(r"(\S+) = \w+\[\] parameter\((\d)\)", match[0]))
        first, second = sorted(names, key=names.__getitem__)[:2]
        return re.sub(
            r"compare\(\S+, \S+\), (direction=\w+, type=TOTALORDER)",
            rf"compare({first}, {second}), \1",
            match[0],
        )

    return re.sub(r"^region[^\n]*\{\n.*?^\}", plain, text, flags=re.MULTILINE | re.DOTALL)


def claims(pair: Pair, *, flush: bool = False) -> Iterator[Claim]:
    """Returns what is to be proved of the keys of a program.

    Args:
        pair: The program.
        flush: True if comparisons take denormals for zeros, as code of jaxlib does.
    """
    of = partial(formula, flush=flush)
    before, after = Program.of(pair.before), Program.of(pair.after).main
    place = (before.main.all("sort") or before.main.all("topk"))[0]
    comes_first = partial(_comes_first, of, before, place)
    element_type = before.main.instructions[place.operands[0]].type
    if pair.rule in ("sort-prefix-as-top-k", "top-k-by-float-keys", "top-k-of-groups"):
        from_end = "[0:16], [6:8]" in str(before.main.all("slice"))
        return _by_top_k(of, after, comes_first, element_type, from_end=from_end)
    return _by_sort(of, after, comes_first, element_type)


def refuted(pair: Pair, *, flush: bool = False) -> str:
    """Returns the first claim that does not hold, with values that refute it; empty if all hold."""
    for name, claim in claims(pair, flush=flush):
        if values := counterexample(claim):
            return f"{name}: {values}"
    return ""


def _comes_first(of: Formula, program: Program, place: Instruction, x: Any, y: Any) -> Any:
    """Returns the formula that ``x`` must come before ``y`` wherever they are."""
    if place.opcode == "sort":
        comparator = program.computations[place.called("to_apply")]
        names = [parameter.name for parameter in comparator.parameters]
        return of(comparator, comparator.root, {names[0]: x, names[1]: y})
    element_type = program.main.instructions[place.operands[0]].type
    return compared("GT", x, y, element_type, total=True)


def _variables(element_type: str) -> tuple[Any, Any]:
    width = width_of(element_type)
    return z3.BitVec("x", width), z3.BitVec("y", width)


Order = Callable[[Any, Any], Any]


def _by_sort(
    of: Formula, main: Computation, comes_first: Order, element_type: str
) -> Iterator[Claim]:
    """Claims on keys that are sorted, with positions or without."""
    sorts = main.all("sort")
    # The keys of a network are cut into wires, the last exchanges of which are the outputs.
    sources = [sort.operands[0] for sort in sorts] or [main.all("slice")[0].operands[0]]
    results = sorts or main.all("minimum") + main.all("maximum")
    x, y = _variables(element_type)
    i, j = z3.BitVecs("i j", 64)
    parameter, iotas = main.parameters[0].name, main.all("iota")
    first, second = (
        of(main, sources[0], {parameter: v, **{iota.name: at for iota in iotas}})
        for v, at in ((x, i), (y, j))
    )
    rows = z3.And(i >= 0, i < _LONGEST_ROW, j >= 0, j < _LONGEST_ROW)
    if iotas:
        stable = z3.Or(comes_first(x, y), z3.And(z3.Not(comes_first(y, x)), i < j))
        yield "order", z3.Implies(rows, (first < second) == stable)
    else:
        yield "order", z3.Implies(comes_first(x, y), first < second)
    outputs = _outputs(main)
    for output in outputs:
        try:
            value = of(main, output.name, {result.name: first for result in results})
        except HloError:  # what is gathered at positions
            continue
        if iotas and output is outputs[-1]:
            yield "position", z3.Implies(rows, value == z3.Extract(31, 0, i))
        else:
            yield "round trip", z3.Implies(rows, _same(value, x, element_type))


def _by_top_k(
    of: Formula, main: Computation, comes_first: Order, element_type: str, *, from_end: bool
) -> Iterator[Claim]:
    """Claims on keys of which a top-k of floats takes the greatest."""
    x, y = _variables(element_type)
    for top_k in main.all("topk"):
        source = {main.parameters[0].name: x, **_rows_of_groups(of, main, x)}
        other = {main.parameters[0].name: y, **_rows_of_groups(of, main, y)}
        first, second = (of(main, top_k.operands[0], values) for values in (source, other))
        order = compared("LT" if from_end else "GT", first, second, "f32", total=True)
        yield "order", order == comes_first(x, y)
        for output in _outputs(main):
            try:
                value = of(main, output.name, {f"{top_k.name} 0": first})
            except HloError:
                continue
            yield "round trip", _same(value, x, element_type)
    for padding in main.all("pad"):
        least = of(main, padding.operands[1], {})
        yield "padding", total_order_key(least, "f32") <= total_order_key(x, "f32")


def _rows_of_groups(of: Formula, main: Computation, value: Any) -> dict[str, Any]:
    """Returns formulas of an element of a group, and of the key of a group with one element."""
    values = {gather.name: value for gather in main.all("gather")}
    parameter = main.parameters[0].name
    for reduce in main.all("reduce"):
        try:
            values[reduce.name] = of(main, reduce.operands[0], {parameter: value})
        except HloError:  # over numbers of groups
            continue
    return values


def _outputs(main: Computation) -> list[Instruction]:
    root = main.instructions[main.root]
    names = root.operands if root.opcode in ("tuple", "concatenate") else (root.name,)
    return [main.instructions[name] for name in names]


def _same(value: Any, x: Any, element_type: str) -> Any:
    if element_type not in FLOATS:
        return value == x
    both_nan = z3.And(is_nan(value, element_type), is_nan(x, element_type))
    return z3.Or(value == x, both_nan)
