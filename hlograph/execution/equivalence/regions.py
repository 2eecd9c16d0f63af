"""The part of a module that computes some elements of its results.

XLA's evaluator computes element by element, so that a large program takes it minutes. A region of a
result needs a region of each operand, which is known for elementwise operations, broadcasts,
transposes, reshapes by dimensions of size 1, reductions, products, convolutions, slices and
concatenations. Other instructions are computed as a whole. A region is a box: a first index and the
one after the last, for each dimension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from hlograph.errors import HloError
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape, numbers

Region = tuple[tuple[int, int], ...]
"""First index and the one after the last, for each dimension."""

_ELEMENTWISE = frozenset(
    {
        "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert",
        "copy", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor", "imag",
        "is-finite", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate",
        "not", "or", "popcnt", "power", "real", "remainder", "round-nearest-afz",
        "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
        "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor",
    }
)  # fmt: skip
_BOUNDS = re.compile(r"\[(\d+):(\d+)(?::(\d+))?\]")


def with_regions(module: ModuleText, regions: Sequence[Region]) -> ModuleText:
    """Returns a module that computes regions of the results of another one, and no more.

    Args:
        module: The module.
        regions: A region for each of its results.

    Raises:
        HloError: A result is no array.
    """
    return _RegionCut(module).module(regions)


class _RegionCut:
    """Finds out which region of each instruction is needed, and writes the module."""

    def __init__(self, module: ModuleText) -> None:
        self._whole = module
        self._entry = module.entry
        self._by_name = self._entry.by_name
        self._regions: dict[str, Region | None] = {}  # None is a whole tuple
        self._body: list[Instruction] = []
        self._slices: dict[tuple[str, Region], str] = {}

    def module(self, regions: Sequence[Region]) -> ModuleText:
        """Returns the module of regions of the results."""
        root = self._entry.root
        results = root.operands if root.opcode == "tuple" else [root.name]
        for name, region in zip(results, regions, strict=True):
            self._need(name, region)
        for op in reversed(self._entry.instructions):
            if op.name in self._regions and not (op is root and root.opcode == "tuple"):
                for operand, region in zip(op.operands, self._operands(op), strict=True):
                    self._need(operand, region)
        for op in self._entry.instructions:
            if op.name in self._regions or op.opcode == "parameter":
                self._write(op)
        names = [self._sliced(name, region) for name, region in zip(results, regions, strict=True)]
        shapes = [self._shape(self._by_name[n], r) for n, r in zip(results, regions, strict=True)]
        shape = f"({', '.join(shapes)})"
        self._body.append(
            Instruction(
                self._whole.fresh("regions"), shape, "tuple", names, is_root=True, sign=root.sign
            )
        )
        entry = Computation(self._entry.name, True, self._body, self._entry.tail, self._entry.sign)
        others = {name: c for name, c in self._whole.computations.items() if not c.is_entry}
        return ModuleText("HloModule regions", {**others, entry.name: entry})

    def _need(self, name: str, region: Region | None) -> None:
        """Notes that a region of an instruction is needed, beside what was needed before."""
        op = self._by_name[name]
        whole = _whole(op)
        if whole is None or region is None:
            self._regions[name] = whole
            return
        before = self._regions.get(name) or region
        joined = tuple(
            (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(before, region, strict=True)
        )
        self._regions[name] = self._computed(op, joined)

    def _computed(self, op: Instruction, region: Region) -> Region:
        """Returns the region that is computed so that another one is there."""
        whole = _whole(op)
        assert whole is not None
        if self._rule(op, region) is None:
            return whole
        if op.opcode == "concatenate":
            axes = set(numbers(op.attributes["dimensions"]))
        elif op.opcode == "convolution":
            axes = set(range(len(whole))) - {_labels(op)[2].index(label) for label in "bf"}
        else:
            return region
        return tuple(whole[n] if n in axes else bounds for n, bounds in enumerate(region))

    def _operands(self, op: Instruction) -> Sequence[Region | None]:
        """Returns the region of each operand that the region of an instruction needs."""
        region = self._regions[op.name]
        rule = None if region is None else self._rule(op, region)
        return [_whole(self._by_name[name]) for name in op.operands] if rule is None else rule

    def _rule(self, op: Instruction, region: Region) -> list[Region | None] | None:
        """Returns the regions of the operands; None if the instruction is computed as a whole."""
        if not op.operands or any(_whole(self._by_name[name]) is None for name in op.operands):
            return None
        operands = [_whole(self._by_name[name]) or () for name in op.operands]
        if op.opcode in _ELEMENTWISE:
            whole = _whole(op)
            return [region if operand == whole else operand for operand in operands]
        rule = _RULES.get(op.opcode)
        return None if rule is None else rule(op, region, operands)

    def _write(self, op: Instruction) -> None:
        """Writes an instruction, with slices of operands that have more than it needs."""
        written = op.copy(op.name)
        written.is_root = False
        for attribute in ("metadata", "sharding", "control-predecessors"):
            written.attributes.pop(attribute, None)
        region = self._regions.get(op.name)
        if op.name in self._regions:
            written.operands = [
                name if wanted is None else self._sliced(name, wanted)
                for name, wanted in zip(op.operands, self._operands(op), strict=True)
            ]
        if region is not None and region != _whole(op):
            written.shape = self._shape(op, region)
        if op.opcode == "slice" and region is not None:
            strides = [int(each or 1) for *_, each in _BOUNDS.findall(op.attributes["slice"])]
            spans = [
                f"[0:{(end - begin - 1) * stride + 1}:{stride}]"
                for (begin, end), stride in zip(region, strides, strict=True)
            ]
            written.attributes["slice"] = f"{{{','.join(spans)}}}"
        self._body.append(written)

    def _sliced(self, name: str, wanted: Region) -> str:
        """Returns the name of a region of an instruction that was written."""
        region = self._regions.get(name) or _whole(self._by_name[name])
        if region == wanted or region is None:
            return name
        if (name, wanted) not in self._slices:
            op = self._by_name[name]
            spans = [
                f"[{begin - first}:{end - first}]"
                for (begin, end), (first, _) in zip(wanted, region, strict=True)
            ]
            part = Instruction(
                self._whole.fresh(f"{name}.region"),
                self._shape(op, wanted),
                "slice",
                [name],
                {"slice": f"{{{','.join(spans)}}}"},
                sign=op.sign,
            )
            self._body.append(part)
            self._slices[name, wanted] = part.name
        return self._slices[name, wanted]

    def _shape(self, op: Instruction, region: Region) -> str:
        shape = array_shape(op.shape)
        if shape is None:
            raise HloError(f"expected an array as a result, got {op.shape}")
        return f"{shape.type}[{','.join(str(end - begin) for begin, end in region)}]"


def _whole(op: Instruction) -> Region | None:
    shape = array_shape(op.shape)
    return None if shape is None else tuple((0, size) for size in shape.dimensions)


def _broadcast(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None]:
    return [tuple(region[axis] for axis in numbers(op.attributes["dimensions"]))]


def _transpose(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None]:
    given = dict(zip(numbers(op.attributes["dimensions"]), region, strict=True))
    return [tuple(given[axis] for axis in range(len(region)))]


def _reshape(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None] | None:
    (operand,), whole = operands, _whole(op) or ()
    if [b for b in operand if b != (0, 1)] != [b for b in whole if b != (0, 1)]:
        return None
    kept = iter(part for part, bounds in zip(region, whole, strict=True) if bounds != (0, 1))
    return [tuple(bounds if bounds == (0, 1) else next(kept) for bounds in operand)]


def _reduce(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None] | None:
    if len(operands) != 2:
        return None
    gone, kept = set(numbers(op.attributes["dimensions"])), iter(region)
    array = tuple(b if axis in gone else next(kept) for axis, b in enumerate(operands[0]))
    return [array, operands[1]]


def _dot(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None]:
    sides = []
    batch = [numbers(op.attributes.get(f"{side}_batch_dims", "")) for side in ("lhs", "rhs")]
    at = len(batch[0])
    for side, operand, batched in zip(("lhs", "rhs"), operands, batch, strict=True):
        contracted = numbers(op.attributes.get(f"{side}_contracting_dims", ""))
        part = dict(zip(batched, region, strict=False))
        for axis, bounds in enumerate(operand):
            if axis in contracted:
                part[axis] = bounds
            elif axis not in part:
                part[axis], at = region[at], at + 1
        sides.append(tuple(part[axis] for axis in range(len(operand))))
    return sides


def _labels(op: Instruction) -> tuple[str, str, str]:
    """Returns the labels of the dimensions of a convolution's input, kernel and output."""
    sources, _, output = op.attributes["dim_labels"].partition("->")
    image, _, kernel = sources.partition("_")
    return image, kernel, output


def _convolution(
    op: Instruction, region: Region, operands: list[Region]
) -> list[Region | None] | None:
    if {"feature_group_count", "batch_group_count"} & set(op.attributes):
        return None
    image, kernel, output = _labels(op)
    batch, features = region[output.index("b")], region[output.index("f")]
    return [
        tuple(batch if image[axis] == "b" else b for axis, b in enumerate(operands[0])),
        tuple(features if kernel[axis] == "o" else b for axis, b in enumerate(operands[1])),
    ]


def _slice(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None]:
    spans = _BOUNDS.findall(op.attributes["slice"])
    return [
        tuple(
            (int(first) + begin * int(stride or 1), int(first) + (end - 1) * int(stride or 1) + 1)
            for (begin, end), (first, _, stride) in zip(region, spans, strict=True)
        )
    ]


def _concatenate(op: Instruction, region: Region, operands: list[Region]) -> list[Region | None]:
    joined = set(numbers(op.attributes["dimensions"]))
    return [
        tuple(b if axis in joined else region[axis] for axis, b in enumerate(operand))
        for operand in operands
    ]


_Rule = Callable[[Instruction, Region, list[Region]], list[Region | None] | None]

_RULES: Mapping[str, _Rule] = {
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "reduce": _reduce,
    "dot": _dot,
    "convolution": _convolution,
    "slice": _slice,
    "concatenate": _concatenate,
}
