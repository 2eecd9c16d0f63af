"""Operations, by what XLA:CPU can make of them, and the configurations of fusions."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache

from hlograph.reading.hlo_editing import Computation, Instruction

ELEMENTWISE = frozenset((
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert",
    "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor", "imag", "is-finite",
    "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or",
    "popcnt", "power", "real", "reduce-precision", "remainder", "round-nearest-afz",
    "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor",
    "count-leading-zeros", "bitcast-convert", "copy",
))  # fmt: skip
"""Operations that compute each element from the elements at its place."""

LOOP = ELEMENTWISE | frozenset((
    "bitcast", "broadcast", "concatenate", "dynamic-slice", "gather", "iota", "pad", "reduce",
    "reshape", "reverse", "slice", "transpose",
))  # fmt: skip
"""Operations that XLA computes element by element within a loop fusion."""

CHEAP = frozenset(
    ["parameter", "constant", "bitcast", "reshape", "tuple", "get-tuple-element", "iota"]
)
"""Operations that are not worth a kernel."""

PLAIN = frozenset(("dot", "convolution"))
"""Operations that have code of their own and no kernel of a loop."""

IN_PLACE = frozenset(("dynamic-update-slice", "scatter"))
"""Operations of a fusion that write into the buffer of an operand."""


_DIMENSIONS = re.compile(r"\w\[([\d,]*)\]")
_KEPT_SHAPES = 1 << 12


@lru_cache(_KEPT_SHAPES)
def kinds_of(opcode: str, shape: str) -> tuple[str, str]:
    """Returns an instruction's opcode with its number of elements, and its opcode alone.

    XLA transposes and reshapes much of a program, which leaves the number of elements as it is.

    Args:
        opcode: XLA's name of the opcode.
        shape: Text of the shape; of a tuple's, the first array counts.
    """
    match = _DIMENSIONS.search(shape)
    elements = math.prod(int(size) for size in match[1].split(",") if size) if match else 0
    return f"{opcode} {elements}", opcode


def is_cheap(op: Instruction, computation: Computation) -> bool:
    """Returns True if an instruction is not worth a kernel: constants, and what repeats them."""
    if op.opcode == "broadcast":
        return computation.by_name[op.operands[0]].opcode == "constant"
    return op.opcode in CHEAP


def is_loop_fusion(op: Instruction) -> bool:
    """Returns True for a fusion that is computed element by element."""
    return op.opcode == "fusion" and op.kind == "kLoop"


def is_library_fusion(op: Instruction) -> bool:
    """Returns True for a fusion that a library computes."""
    return op.opcode == "fusion" and op.kind == "kCustom"


PARTITIONS = "outer_dimension_partitions"
"""Key of the number of parts in a fusion's backend configuration."""
_CONFIG = "backend_config"


def partitions_of(fusion: Instruction) -> tuple[int, ...]:
    """Returns the number of parts of a fusion's outer dimensions; empty for one thread."""
    config = json.loads(fusion.attributes.get(_CONFIG, "{}"))
    return tuple(map(int, config.get(PARTITIONS, ())))


def set_partitions(fusion: Instruction, parts: tuple[int, ...]) -> None:
    """Writes the number of parts into a fusion's backend configuration."""
    if parts:
        config = {PARTITIONS: [str(part) for part in parts]}
        fusion.attributes[_CONFIG] = json.dumps(config, separators=(",", ":"))
    else:
        fusion.attributes.pop(_CONFIG, None)


def library_kind(fusion: Instruction) -> str:
    """Returns XLA's name of the library's fusion that an instruction is; empty for others."""
    config = json.loads(fusion.attributes.get(_CONFIG, "{}")) if fusion.kind == "kCustom" else {}
    return str(config.get("fusion_config", {}).get("kind", ""))


def set_library(fusion: Instruction, kind: str) -> None:
    """Makes a fusion that of a library, by XLA's name of its kind; empty makes a loop fusion."""
    fusion.attributes["kind"] = "kCustom" if kind else "kLoop"
    fusion.attributes.pop(_CONFIG, None)
    if kind:
        config = {PARTITIONS: [], "fusion_config": {"kind": kind}}
        fusion.attributes[_CONFIG] = json.dumps(config, separators=(",", ":"))
