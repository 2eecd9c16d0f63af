"""The page of a module's graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hlograph.explorer.module_data import Numbers, module_data
from hlograph.explorer.pages import Page

if TYPE_CHECKING:
    from hlograph.module import Module


def graph_page(
    module: Module, *, name: str = "graph", title: str = "Graph", numbers: Sequence[Numbers] = ()
) -> tuple[Page, dict[str, Any]]:
    """Returns the page of a module's graph, and its data file.

    Args:
        module: The module.
        name: Name of the page.
        title: Title of the page.
        numbers: Numbers to colour by, beside bytes and flops.
    """
    file = f"{name}-module"
    return Page("graph", name, title, {"module": file}), {file: module_data(module, numbers)}
