"""Converts nodes of the e-graph to instructions."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.search.rewriting.egraph.terms import Terms
from hlograph.reading.hlo_text import ArrayShape, InstructionText


def written(
    terms: Terms,
    op: str,
    values: Sequence[object],
    shape: ArrayShape | None,
    shapes: Sequence[ArrayShape | None],
) -> InstructionText:
    """Returns a node of the e-graph as an instruction with operands `0`, `1`, ….

    Args:
        terms: Terms of the program.
        op: Constructor of the node.
        values: Arguments other than terms: numbers, strings and tuples of numbers.
        shape: Shape of the result.
        shapes: Shapes of the operands.
    """
    names = tuple(str(number) for number in range(len(shapes)))
    if op == "Op":
        (number,) = values
        assert isinstance(number, int)
        one = terms.opaque[number]
        return one._replace(name="", operands=names)
    opcode, attributes = _opcode_and_attributes(terms, op, values, shapes)
    assert shape is not None
    return InstructionText("", str(shape), opcode, names, "", attributes)


def _opcode_and_attributes(
    terms: Terms, op: str, values: Sequence[object], shapes: Sequence[ArrayShape | None]
) -> tuple[str, str]:
    if op in ("Bin", "Un"):
        return str(values[0]), ""
    if op == "Reshape":
        return "reshape", ""
    if op == "Bcast":
        return "broadcast", f"dimensions={_braced(values[0])}"
    if op == "Transp":
        return "transpose", f"dimensions={_braced(values[0])}"
    if op == "Concat":
        return "concatenate", f"dimensions={{{values[0]}}}"
    if op == "Slice":
        (operand,) = shapes
        assert operand is not None
        bounds = [(0, size) for size in operand.dimensions]
        dim, begin, end = (value for value in values if isinstance(value, int))
        bounds[dim] = (begin, end)
        return "slice", f"slice={{{', '.join(f'[{a}:{b}]' for a, b in bounds)}}}"
    (attributes,) = values
    assert isinstance(attributes, tuple)
    kind, *numbers = attributes
    if kind == "Plain":
        lhs, rhs, _ = numbers
        return "dot", f"lhs_contracting_dims={{{lhs}}}, rhs_contracting_dims={{{rhs}}}"
    text = terms.products[numbers[0]]
    return ("convolution" if "dim_labels" in text else "dot"), text


def _braced(values: object) -> str:
    assert isinstance(values, tuple)
    return f"{{{','.join(map(str, values))}}}"
