"""Kernels as small programs, which XLA optimizes again, and changes of their shapes.

A kernel of an optimized module has fusions, bitcasts and layouts that only hold for its sizes. So
it is taken apart first; what XLA then makes of it in other sizes is what it makes of programs of
these sizes. A change replaces sizes and types wherever they stand in the text. XLA infers the
shapes that follow from operands, and its verifier refuses a text whose parts do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hlograph.errors import HloError
from hlograph.module import Module
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import ArrayShape, array_shape
from hlograph.reading.optimized_text import without_optimizations

_LAYOUT = re.compile(r"(?<=\])\{[\d,]*\}")
_ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
_SIZE = re.compile(r"\d+")
_HEADER = "HloModule kernel"

# Attributes whose numbers are sizes of arrays, or bounds within them.
_SIZED = ("slice", "dynamic_slice_sizes", "slice_sizes", "fft_length")

# XLA infers the shape of these from their operands and attributes, and the text need not say it.
_INFERRED = frozenset(
    ("concatenate", "convolution", "dot", "pad", "reduce", "reduce-window", "transpose")
)

# Whether multiples of sizes change, too, and whether XLA infers shapes, which its parser does in
# another process. The first way that fits counts.
_WAYS = ((True, False), (False, False), (True, True))

# Opcodes whose attributes or code depend on sizes in ways that no verifier knows.
_FIXED = frozenset(("custom-call", "all-reduce", "all-gather", "all-to-all", "reduce-scatter"))

# Multiples of a size below this are no products with it, but chance.
_LEAST_FACTOR = 8


@dataclass(frozen=True)
class Change:
    """Describes what is changed of a kernel.

    Attributes:
        sizes: New sizes of dimensions by the old ones, as text, so that it is JSON.
        types: New element types by the old ones.
        turned: Numbers of the parameters whose two minor dimensions change places in memory.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    turned: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what is changed as a JSON object; empty if nothing is."""
        return {name: value for name, value in asdict(self).items() if value}


def source_of(kernel: str) -> ModuleText:
    """Returns a kernel as a program without fusions, bitcasts, calls and layouts.

    Parameters and the result are row-major arrays with the dimensions in the order of memory;
    transposes in between, which cost nothing where XLA chooses layouts, give them their own order.

    Args:
        kernel: HLO text (``hlograph.profiling.kernel_modules``).

    Raises:
        HloError: XLA does not read it.
    """
    module = ModuleText.parse(kernel)
    _pass_in_memory_order(module, module.entry)
    text, _ = without_optimizations(str(module))
    flat = Module.from_text(text)
    flat.run("call-inliner")
    return resizable(flat)


def resizable(program: Module) -> ModuleText:
    """Returns the text of a program whose arrays have no layouts, so that sizes may change."""
    source = ModuleText.parse(program.to_text())
    source.header = _HEADER
    for _, op in source.instructions():
        op.shape = _LAYOUT.sub("", op.shape)
    return source


def _pass_in_memory_order(module: ModuleText, entry: Computation) -> None:
    made: list[Instruction] = []
    for op in entry.instructions:
        shape = array_shape(op.shape)
        if shape is None or shape.is_row_major or not (op.opcode == "parameter" or op.is_root):
            made.append(op)
            continue
        outer = str(ArrayShape.row_major(shape.type, shape.outer_sizes))
        name = module.fresh(f"{op.name}.passed")
        if op.opcode == "parameter":
            made.append(
                Instruction(name, outer, "parameter", [], argument=op.argument, sign=op.sign)
            )
            made.append(Instruction(op.name, op.shape, "bitcast", [name], sign=op.sign))
        else:
            op.is_root = False
            made.append(op)
            made.append(Instruction(name, outer, "bitcast", [op.name], is_root=True, sign=op.sign))
    entry.instructions = made


def changed(source: ModuleText, change: Change) -> Module:
    """Returns a changed kernel.

    Args:
        source: The kernel as a program; it stays as it is.
        change: The change.

    Raises:
        HloError: The parts of the changed kernel do not fit together, or its code depends on sizes
            that are not written in its text.
    """
    if change.sizes and any(op.opcode in _FIXED for _, op in source.instructions()):
        raise HloError("left out: expected operations whose sizes may change, got a call")
    error = HloError("left out: nothing was tried")
    for multiples, inferred in _WAYS if change.sizes else _WAYS[:1]:
        try:
            return _verified(_changed(source, change, multiples, inferred))
        except HloError as refused:
            error = refused
    raise error


def _verified(text: ModuleText) -> Module:
    for computation in text.computations.values():
        by_name = computation.by_name
        for op in computation.instructions:
            if op.opcode == "reshape":
                _check_reshape(by_name[op.operands[0]].shape, op.shape)
    module = Module.from_text(str(text))
    module.verify()
    return module


def _check_reshape(before: str, after: str) -> None:
    """Refuses what would end XLA's parser, and cost a new process for it."""
    shapes = array_shape(before), array_shape(after)
    if shapes[0] and shapes[1] and shapes[0].elements != shapes[1].elements:
        raise HloError(f"left out: expected a reshape of as many elements, got {before} to {after}")


def _changed(source: ModuleText, change: Change, multiples: bool, inferred: bool) -> ModuleText:
    module = source.copy()
    sizes = _Sizes(change.sizes, multiples)

    def array(match: re.Match[str]) -> str:
        return f"{change.types.get(match[1], match[1])}[{_SIZE.sub(sizes, match[2])}]"

    for _, op in module.instructions():
        op.shape = _ARRAY.sub(array, op.shape)
        for name in _SIZED if change.sizes else ():
            if name in op.attributes:
                op.attributes[name] = _SIZE.sub(sizes, op.attributes[name])
        if inferred and op.opcode in _INFERRED and not op.shape.startswith("("):
            op.shape = ""
    for number in change.turned:
        _turn(module, module.entry, number)
    return module


class _Sizes:
    """Replaces numbers in a text.

    Args:
        new: New sizes by the old ones.
        multiples: True replaces also multiples of old sizes, as those of arrays that were reshaped.
    """

    def __init__(self, new: Mapping[str, int], multiples: bool) -> None:
        self._new = {int(old): size for old, size in new.items()}
        large = [old for old in self._new if old >= _LEAST_FACTOR]
        self._factors = sorted(large, reverse=True) if multiples else []

    def __call__(self, match: re.Match[str]) -> str:
        size = int(match[0])
        if size in self._new:
            return str(self._new[size])
        for old in self._factors:
            if size and size % old == 0:
                return str(size // old * self._new[old])
        return match[0]


def _turn(module: ModuleText, entry: Computation, number: int) -> None:
    """Passes a parameter with its two minor dimensions exchanged in memory."""
    op = entry.parameters[number]
    shape = array_shape(op.shape)
    if shape is None or len(shape.dimensions) < 2:
        raise HloError(f"expected an array of two dimensions or more to turn, got {op.shape}")
    *outer, rows, columns = shape.dimensions
    passed = str(ArrayShape.row_major(shape.type, (*outer, columns, rows)))
    name, rank = module.fresh(f"{op.name}.turned"), len(shape.dimensions)
    order = [*range(rank - 2), rank - 1, rank - 2]
    given = Instruction(name, passed, "parameter", [], argument=op.argument, sign=op.sign)
    dimensions = f"{{{','.join(map(str, order))}}}"
    turned = Instruction(
        op.name, op.shape, "transpose", [name], {"dimensions": dimensions}, op.is_root, sign=op.sign
    )
    place = entry.instructions.index(op)
    entry.instructions[place : place + 1] = [given, turned]
