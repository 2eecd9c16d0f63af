"""Gathers and scatters."""

from itertools import product

from tests.hlograph.degenerate.writer import Dims, Writer, listed, shape


def gathers(w: Writer, dims: Dims) -> None:
    x, rank = w.operand("f32", dims), len(dims)
    window_dims, ones = listed(range(rank)), tuple(min(d, 1) for d in dims)
    starts = listed(range(rank))
    for count in ((), (0,), (1,), (3,)):
        indices = w.operand("s32", (*count, rank), 0)
        vector = len(count)
        offset = tuple(range(len(count), len(count) + rank))
        w.result(
            shape("f32", (*count, *ones)),
            f"gather({x}, {indices}), offset_dims={listed(offset)}, collapsed_slice_dims={{}}, "
            f"start_index_map={starts}, index_vector_dim={vector}, slice_sizes={listed(ones)}",
        )
        if all(dims):
            w.result(
                shape("f32", count),
                f"gather({x}, {indices}), offset_dims={{}}, collapsed_slice_dims={window_dims}, "
                f"start_index_map={starts}, index_vector_dim={vector}, slice_sizes={listed(ones)}",
            )


def gathers_of_nothing(w: Writer, dims: Dims) -> None:
    """Gathers without start indices, with batching dimensions, and with scalar indices."""
    x, rank = w.operand("f32", dims), len(dims)
    none = w.operand("s32", (0,), 0)
    w.result(
        shape("f32", dims),
        f"gather({x}, {none}), offset_dims={listed(range(rank))}, collapsed_slice_dims={{}}, "
        f"start_index_map={{}}, index_vector_dim=0, slice_sizes={listed(dims)}",
    )
    if not rank:
        return
    batched = w.operand("s32", (dims[0], rank - 1), 0)
    ones = tuple(min(d, 1) for d in dims)
    w.result(
        shape("f32", (dims[0], *ones[1:])),
        f"gather({x}, {batched}), offset_dims={listed(range(1, rank))}, collapsed_slice_dims={{}}, "
        f"operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, "
        f"start_index_map={listed(range(1, rank))}, index_vector_dim=1, slice_sizes={listed(ones)}",
    )
    index = w.operand("s32", (), 0)
    w.result(
        shape("f32", dims),
        f"gather({x}, {index}), offset_dims={listed(range(rank))}, collapsed_slice_dims={{}}, "
        f"start_index_map={{0}}, index_vector_dim=0, slice_sizes={listed(dims)}",
    )


def scatters(w: Writer, dims: Dims) -> None:
    x, rank, whole = w.operand("f32", dims), len(dims), shape("f32", dims)
    starts = listed(range(rank))
    for count, unique in product(((), (0,), (1,), (3,)), ("true", "false")):
        indices, updates = w.operand("s32", (*count, rank), 0), w.operand("f32", count)
        common = (
            f"inserted_window_dims={starts}, scatter_dims_to_operand_dims={starts}, "
            f"index_vector_dim={len(count)}, unique_indices={unique}"
        )
        w.result(
            whole,
            f"scatter({x}, {indices}, {updates}), update_window_dims={{}}, {common}, "
            f"to_apply={'add' if unique == 'true' else 'update'}",
        )
        pieces = w.operand("f32", (*count, *(min(d, 1) for d in dims)))
        windows = listed(range(len(count), len(count) + rank))
        w.result(
            whole,
            f"scatter({x}, {indices}, {pieces}), update_window_dims={windows}, "
            f"inserted_window_dims={{}}, scatter_dims_to_operand_dims={starts}, "
            f"index_vector_dim={len(count)}, unique_indices={unique}, to_apply=add",
        )


def scatters_of_nothing(w: Writer, dims: Dims) -> None:
    """Scatters without indices, with batching dimensions, and with scalar indices."""
    x, rank, whole = w.operand("f32", dims), len(dims), shape("f32", dims)
    none = w.operand("s32", (0,), 0)
    w.result(
        whole,
        f"scatter({x}, {none}, {x}), update_window_dims={listed(range(rank))}, "
        "inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, "
        "to_apply=add",
    )
    if not rank:
        return
    index = w.operand("s32", (), 0)
    w.result(
        whole,
        f"scatter({x}, {index}, {x}), update_window_dims={listed(range(rank))}, "
        "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, "
        "to_apply=update",
    )
    batched = w.operand("s32", (dims[0], rank - 1), 0)
    pieces = w.operand("f32", (dims[0], *(min(d, 1) for d in dims[1:])))
    w.result(
        whole,
        f"scatter({x}, {batched}, {pieces}), update_window_dims={listed(range(1, rank))}, "
        "inserted_window_dims={}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
        f"scatter_dims_to_operand_dims={listed(range(1, rank))}, index_vector_dim=1, to_apply=add",
    )
