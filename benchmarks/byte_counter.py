"""Counts the bytes that torch operations read and write, without any cache between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class ByteCounter(TorchDispatchMode):
    """Adds up what each operation would move if nothing stayed in a cache.

    An operation reads each tensor that it is given once and writes each that it returns once;
    views move nothing. Memory that an operation uses internally is not seen, so the sum is a
    lower bound of what a profiler would see.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0
        """Bytes counted so far."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Runs an operation and counts it."""
        result = func(*args, **(kwargs or {}))
        read = list(_tensors((args, kwargs)))
        written = list(_tensors(result))
        storages = {tensor.untyped_storage().data_ptr() for tensor in read}
        moved = not written or any(
            tensor.untyped_storage().data_ptr() not in storages for tensor in written
        )
        if moved or func._schema.is_mutable:
            self.total += sum(tensor.numel() * tensor.element_size() for tensor in read + written)
        return result


def _tensors(tree: Any) -> Iterable[torch.Tensor]:
    """Yields the dense tensors in arguments or results; a sparse one is its indices and values."""
    for leaf in tree_leaves(tree):
        if not isinstance(leaf, torch.Tensor):
            continue
        if leaf.layout == torch.sparse_coo:
            yield from (leaf._indices(), leaf._values())
        elif leaf.layout == torch.sparse_csr:
            yield from (leaf.crow_indices(), leaf.col_indices(), leaf.values())
        else:
            yield leaf
