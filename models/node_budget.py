"""Groups of graphs that fit a budget of nodes.

Memory and time of a graph encoder follow the number of nodes, not of graphs: a batch of
64 graphs may be 5,000 nodes or 500,000. So batches are formed by their nodes.
"""

from collections.abc import Sequence


def groups_within_budget(sizes: Sequence[int], budget: int) -> list[list[int]]:
    """Splits items, in their order, into groups of bounded total size.

    Args:
        sizes: Size of each item, in nodes.
        budget: Largest total size of a group; an item above it forms a group alone.

    Returns:
        Lists of consecutive positions in `sizes`; together they are all of them, in order.

    Raises:
        ValueError: The budget is not positive.
    """
    if budget <= 0:
        raise ValueError(f"the node budget has to be positive, got {budget}")
    groups: list[list[int]] = []
    filled = 0
    for position, size in enumerate(sizes):
        if not groups or filled + size > budget:
            groups.append([])
            filled = 0
        groups[-1].append(position)
        filled += size
    return groups
