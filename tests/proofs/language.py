"""The language of claims: arrays with named axes, as functions from indices to numbers.

An axis stands for any number of dimensions that an operation treats alike, as the batch dimensions
of a dot: for the row-major order of their elements is a bijection that these operations commute
with. So an equation that holds for one axis of every size holds for every rank. Axes along which
arrays are cut, joined, padded or reversed are single dimensions.

The order of dimensions, which an implementation has to keep track of, has no place in this
language. It is checked on the rules' own results by ``tests.proofs.modular``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from tests.proofs.sums import Formula, Number, Size, naming, number, plus, size_of, total

Indices = Mapping[str, Formula]
"""The index along each axis, by its name."""


@dataclass(frozen=True)
class Array:
    """An array of real numbers.

    Attributes:
        axes: Sizes by the names of the axes.
        at: Function that returns the number at indices, which may have further axes.
    """

    axes: Mapping[str, Size]
    at: Callable[[Indices], Number]

    def __add__(self, other: Array) -> Array:
        return _joined(self, other, lambda a, b: a + b)

    def __sub__(self, other: Array) -> Array:
        return _joined(self, other, lambda a, b: a - b)

    def __mul__(self, other: Array | int) -> Array:
        other = other if isinstance(other, Array) else constant(other)
        return _joined(self, other, lambda a, b: a * b)

    def __neg__(self) -> Array:
        return Array(self.axes, lambda i: -self.at(i))

    def renamed(self, **names: str) -> Array:
        """Returns the array with axes of other names, ``old=new``."""
        axes = {names.get(name, name): size for name, size in self.axes.items()}
        own = {name: names.get(name, name) for name in self.axes}
        return Array(axes, lambda i: self.at({name: i[new] for name, new in own.items()}))

    def indexed(
        self, axis: str, size: Size | Formula, index: Callable[[Indices], Formula]
    ) -> Array:
        """Returns an array with another axis of that name.

        Args:
            axis: Name of the axis.
            size: Its new size.
            index: Function from the new indices to the old index along the axis.
        """
        axes = {**self.axes, axis: size_of(size)}
        return Array(axes, lambda i: self.at({**i, axis: index(i)}))

    def without(self, axis: str, index: Callable[[Indices], Formula] | Formula) -> Array:
        """Returns the elements at an index along an axis, which may depend on the other ones."""
        axes = {name: size for name, size in self.axes.items() if name != axis}
        place = index if callable(index) else lambda i: index
        return Array(axes, lambda i: self.at({**i, axis: place(i)}))

    def where(self, holds: Callable[[Indices], Formula], **axes: Size) -> Array:
        """Returns the array with zeros where a condition on the indices does not hold.

        Args:
            holds: The condition.
            axes: Further axes, which the condition is about.
        """
        return Array({**self.axes, **axes}, lambda i: self.at(i).where(holds(i)))


def _joined(x: Array, y: Array, combine: Callable[[Number, Number], Number]) -> Array:
    return Array({**x.axes, **y.axes}, lambda i: combine(x.at(i), y.at(i)))


def constant(value: Any) -> Array:
    """Returns an array without axes."""
    return Array({}, lambda i: number(value))


def array(name: str, **axes: Size) -> Array:
    """Returns an array of any numbers."""
    function = z3.Function(name, *[z3.IntSort()] * len(axes), z3.RealSort())
    if not axes:
        return constant(z3.Real(name))
    return Array(axes, lambda i: number(function(*[_integer(i[axis]) for axis in axes])))


def integers(name: str, *axes: str) -> Callable[[Indices], Formula]:
    """Returns any integers, as a function of the indices along some axes."""
    function = z3.Function(name, *[z3.IntSort()] * len(axes), z3.IntSort())
    return lambda i: function(*[_integer(i[axis]) for axis in axes])


def summed(x: Array, *axes: str) -> Array:
    """Returns the sums along axes."""
    for axis in axes:
        x = _summed(x, axis)
    return x


def _summed(x: Array, axis: str) -> Array:
    rest = {name: size for name, size in x.axes.items() if name != axis}
    return Array(rest, lambda i: total(x.axes[axis], lambda k: x.at({**i, axis: k})))


def dot(x: Array, y: Array, *contracted: str) -> Array:
    """Returns the dot of two arrays; the axes that both have are batch axes, or contracted."""
    return summed(x * y, *contracted)


def concatenate(axis: str, *parts: Array) -> Array:
    """Returns the concatenation of arrays along an axis."""
    size = parts[0].axes[axis]
    for part in parts[1:]:
        size = size + part.axes[axis]

    def at(i: Indices) -> Number:
        result = Number(())
        offset: Formula = 0
        for part in parts:
            end = plus(offset, part.axes[axis].length)
            inside = z3.And(offset <= i[axis], i[axis] < end)
            result = result + part.at({**i, axis: i[axis] - offset}).where(inside)
            offset = end
        return result

    return Array({**parts[0].axes, axis: size}, at)


def cut(x: Array, axis: str, start: Formula, size: Size | Formula, stride: Formula = 1) -> Array:
    """Returns a slice along an axis."""
    return x.indexed(axis, size, lambda i: start + stride * i[axis])


def padded(x: Array, axis: str, low: Formula, high: Formula) -> Array:
    """Returns the array with zeros before and behind along an axis; fewer than none cut it."""
    inner = x.axes[axis].length
    size = low + inner + high
    return Array(
        {**x.axes, axis: size_of(size)},
        lambda i: x.at({**i, axis: i[axis] - low}).where(
            z3.And(i[axis] - low >= 0, i[axis] - low < inner)
        ),
    )


def spread(x: Array, axis: str, gap: int) -> Array:
    """Returns the array with zeros between neighbours along an axis, each at a multiple of gap."""
    inner = x.axes[axis].length
    return Array(
        {**x.axes, axis: size_of((inner - 1) * gap + 1)},
        lambda i: x.at({**i, axis: i[axis] / gap}).where(i[axis] % gap == 0),
    )


def reverse(x: Array, axis: str) -> Array:
    """Returns the array in reverse order along an axis."""
    last = x.axes[axis].length - 1
    return x.indexed(axis, x.axes[axis], lambda i: last - i[axis])


def pointwise(name: str, *operands: Array) -> Array:
    """Returns any function of the elements of arrays, the same for the same name."""
    function = z3.Function(name, *[z3.RealSort()] * (len(operands) + 1))
    axes: dict[str, Size] = {}
    for operand in operands:
        axes |= operand.axes

    def at(i: Indices) -> Number:
        return number(function(*[opaque(operand.at(i)) for operand in operands]))

    return Array(axes, at)


def chosen(holds: Callable[[Indices], Formula], x: Array, y: Array, **axes: Size) -> Array:
    """Returns the elements of ``x`` where a condition on the indices holds, otherwise of ``y``."""
    return x.where(holds, **axes) + y.where(lambda i: z3.Not(holds(i)), **axes)


def compared(x: Array, y: Array, compare: Callable[[Formula, Formula], Formula]) -> Any:
    """Returns a condition on indices: the comparison of the elements of two arrays."""
    return lambda i: compare(opaque(x.at(i)), opaque(y.at(i)))


def opaque(value: Number) -> Formula:
    """Returns the formula of a number, so that functions that are not linear can take it.

    A sum over a symbolic range becomes the value of a function of its free variables: the same one
    for sums that the prover knows to be equal, so that only equal sums are taken for equal.
    """
    if value.is_plain:
        return value.formula
    return naming.get()(value)


def _integer(value: Formula) -> Formula:
    return z3.IntVal(value) if isinstance(value, int) else value
