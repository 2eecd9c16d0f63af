"""Lists all programs that have a version in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.beside_torch import models_layers, models_operations
from benchmarks.beside_torch.model import Model
from hlograph.errors import UnknownNameError

MODELS: dict[str, Model] = {
    model.name: model for model in (*models_layers.MODELS, *models_operations.MODELS)
}
"""Versions in PyTorch by the name of their program."""


def chosen(names: Sequence[str]) -> list[Model]:
    """Returns models by the names of their programs, or all of them for no name.

    Raises:
        UnknownNameError: A program has no version in PyTorch.
    """
    for name in names:
        if name not in MODELS:
            raise UnknownNameError(
                f"expected programs with a version in PyTorch, got {name!r}; "
                f"there are {', '.join(MODELS)}"
            )
    return [MODELS[name] for name in names or MODELS]
