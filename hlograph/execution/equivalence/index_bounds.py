"""Upper bounds of the indices that select elements of an array."""

from __future__ import annotations

from hlograph.execution.equivalence.flow import Flow

# Operations between an iota and a comparison that keep its values.
_SHAPE_ONLY = frozenset({"reshape", "broadcast", "transpose", "convert", "copy"})


def index_bound(flow: Flow, user: int, position: int) -> int | None:
    """Returns the exclusive upper bound of an index; None if the operand is not an index.

    A gather clamps an index that is out of range and a scatter skips it, so such indices would test
    one element only. If an operand has indices of several dimensions, the bound is the smallest
    one above 1.

    Args:
        flow: Data flow of the module.
        user: The operation.
        position: Position of the index among its operands.
    """
    opcode = flow.opcodes[user]
    operands = flow.operands[user]
    if opcode == "gather" and position == 1:
        sizes = flow.attribute(user, "slice_sizes")
        dims = flow.dims(operands[0])
        return _choice([dims[d] - sizes[d] + 1 for d in flow.attribute(user, "start_index_map")])
    if opcode == "scatter" and position == len(operands) // 2:
        return _scatter_bound(flow, user)
    if opcode == "dynamic-slice" and position >= 1:
        sizes = flow.dims(user)
        return _dimension_bound(flow.dims(operands[0]), sizes, position - 1)
    if opcode == "dynamic-update-slice" and position >= 2:
        return _dimension_bound(flow.dims(user), flow.dims(operands[1]), position - 2)
    return None


def iota_bound(flow: Flow, node: int) -> int | None:
    """Returns the length of the iota that a node is a broadcast of; None for other nodes.

    A value that is compared with an iota is a label, as in a one-hot encoding.
    """
    while flow.opcodes[node] in _SHAPE_ONLY:
        node = flow.operands[node][0]
    if flow.opcodes[node] != "iota":
        return None
    return flow.dims(node)[flow.attribute(node, "dimensions")[0]]


def _scatter_bound(flow: Flow, user: int) -> int:
    operand, updates = flow.operands[user][0], flow.operands[user][-1]
    # Dimensions of the operand that an update spans, in order.
    inserted = {*flow.attribute(user, "inserted_window_dims", ())}
    inserted |= {*flow.attribute(user, "operand_batching_dims", ())}
    dims = flow.dims(operand)
    windows = [d for d in range(len(dims)) if d not in inserted]
    spans = dict.fromkeys(range(len(dims)), 1)
    in_updates = flow.attribute(user, "update_window_dims", ())
    for d, update_dim in zip(windows, in_updates, strict=True):
        spans[d] = flow.dims(updates)[update_dim]
    indexed = flow.attribute(user, "scatter_dims_to_operand_dims")
    return _choice([dims[d] - spans[d] + 1 for d in indexed])


def _dimension_bound(dims: tuple[int, ...], sizes: tuple[int, ...], dimension: int) -> int:
    if dimension >= len(dims):  # one operand with an index for each dimension
        return 1
    return dims[dimension] - sizes[dimension] + 1


def _choice(bounds: list[int]) -> int:
    """Returns the smallest bound above 1, or 1."""
    return min((bound for bound in bounds if bound > 1), default=1)
