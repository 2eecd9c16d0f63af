"""The traits of a node: properties that rewrites test, as bits of one column.

XLA's simplifiers test these properties before they change an instruction: whether a broadcast is
one of a scalar, whether a transpose only moves dimensions of size 1, whether cse would find a
duplicate. The extension computes them and they are stored in the graph, so that features can be
computed from a graph without the extension.
"""

from __future__ import annotations

TRAITS: dict[str, str] = {
    "dynamic": "a dimension has a dynamic size",
    "has_side_effect": "the instruction, or a computation it calls, has a side effect",
    "has_control": "it has a control dependency, as predecessor or successor",
    "is_sharded": "it has a sharding",
    "dead": "nothing that the entry computation returns or does depends on it (dce)",
    "duplicate": "another instruction before it in the same computation computes the same (cse)",
    "like_operand": "its first operand has the same element type and dimensions",
    "unit_dims_only": "a reshape, transpose, broadcast or reduce that moves, adds or drops only "
    "dimensions of size 1",
    "same_opcode_as_operand": "its first operand has the same opcode",
    "repeated_operand": "two of its first four operands are the same",
    "one_element_operand": "its first operand has one element",
    "constant_operands": "all operands are constants",
    "constant_indices": "all start indices of a dynamic slice or update are constants",
    "zero_operand": "an operand is known to be all 0",
    "one_operand": "an operand is known to be all 1",
    "uniform": "a scalar or splat constant, or a broadcast of one element",
    "zero": "a constant of 0, or a broadcast of one",
    "one": "a constant of 1, or a broadcast of one",
    "prepends_dims": "a broadcast that only adds dimensions in front",
    "swaps_minor_dims": "a transpose of the last two dimensions",
    "narrows": "a convert to fewer bits",
    "strided": "a slice or window with a stride other than 1",
    "dilated": "a window with dilation, or a pad with interior padding",
    "padded": "a window or pad that pads at an edge, with a negative size too",
    "grouped": "a convolution with more than one feature or batch group",
    "batched": "a dot, gather or scatter with batch dimensions",
    "touches_minor_dim": "a reduce, concatenate, reverse or sort along the last dimension, a "
    "transpose that moves it, or a broadcast that makes it",
    "unique_indices": "a scatter whose indices are unique",
    "sorted_indices": "a gather or scatter whose indices are sorted",
    "compares_less": "a comparison that holds for less (LT, LE, NE)",
    "compares_greater": "a comparison that holds for greater (GT, GE, NE)",
    "compares_equal": "a comparison that holds for equal (EQ, LE, GE)",
}
"""Names and meanings of the traits, by bit, from the lowest."""
