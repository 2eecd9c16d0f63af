"""Kernels whose predictions are furthest off: errors by kind of kernel, a table, and a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.evaluate.picture import GREY, Picture
from experiments.evaluate.results import markdown_table
from experiments.kernel_bank.metrics import errors
from experiments.kernel_bank.networks import Predicted
from hlograph import parse
from hlograph.corpus.kernel_times import KernelTimes, MeasuredKernel
from hlograph.profiling.kernel_categories import KINDS, LOOP, kind_of
from hlograph.profiling.kernel_modules import is_kernel_text
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.profile import shortened
from hlograph.reading.hlo_text import InstructionText

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from networkx import DiGraph, MultiDiGraph

_COLUMNS, _ROW_HEIGHT = 4, 2.3
_TITLE_LETTERS = 28
# Larger graphs are drawn without names of opcodes.
_MOST_NAMED = 14
_GIVEN, _COMPUTED = ("parameter", "constant", "iota"), "#0072B2"


class Miss(NamedTuple):
    """A kernel whose predicted seconds are off.

    Attributes:
        kernel: The kernel.
        text: Text of what jaxlib made of it by default; of several kernels, of the slowest one.
        factor: Predicted over measured seconds of the default.
    """

    kernel: MeasuredKernel
    text: str
    factor: float

    @property
    def off(self) -> float:
        """The factor by which the prediction is off, at least 1."""
        return max(self.factor, 1 / self.factor)

    @property
    def words(self) -> str:
        """The factor with two or three digits."""
        return f"{self.factor:.0f}" if self.factor >= 10 else f"{self.factor:.2f}"


def misses(times: KernelTimes, predicted: Predicted) -> list[Miss]:
    """Returns the worst predicted default of each origin, the worst of all first.

    Args:
        times: The kernels.
        predicted: Predicted seconds of their variants.
    """
    found = [
        Miss(kernel, slowest_text(times, kernel), float(np.exp(of_kernel[0])))
        for kernel, of_kernel in zip(times.measured, errors(times.measured, predicted), strict=True)
    ]
    found.sort(key=lambda miss: -miss.off)
    worst: dict[str, Miss] = {}
    for miss in found:
        worst.setdefault(miss.kernel.origin, miss)
    return list(worst.values())


def slowest_text(times: KernelTimes, kernel: MeasuredKernel) -> str:
    """Returns the text of the slowest kernel that jaxlib made of one by default."""
    return times.kernels[kernel.variants[0].longest.number]


def kind_of_text(text: str) -> str:
    """Returns the kind of a kernel by its text; see ``hlograph.profiling.KINDS``."""
    if not is_kernel_text(text):
        return LOOP
    program = OptimizedModule.from_text(text)
    return kind_of(_root(program), program)


def result_of_text(text: str) -> str:
    """Returns the opcode and shape of a kernel by its text."""
    if not is_kernel_text(text):
        return text
    root = _root(OptimizedModule.from_text(text))
    return f"{root.opcode} {root.shape}"


def _root(program: OptimizedModule) -> InstructionText:
    return program.computations[program.entry][-1]


def kinds_table(times: KernelTimes, predictions: Mapping[str, Predicted]) -> str:
    """Returns by which factor seconds are off for each kind of kernel, as Markdown.

    Args:
        times: The kernels.
        predictions: Predicted seconds of their variants, by the name of the model.
    """
    by_kind: dict[str, list[int]] = defaultdict(list)
    for number, kernel in enumerate(times.measured):
        by_kind[kind_of_text(slowest_text(times, kernel))].append(number)
    off = {name: errors(times.measured, predicted) for name, predicted in predictions.items()}
    rows = []
    for kind in sorted(by_kind, key=KINDS.index):
        numbers = by_kind[kind]
        cells = [kind, f"{len(numbers):,}"]
        for of_model in off.values():
            factors = np.exp(np.abs(np.concatenate([of_model[number] for number in numbers])))
            cells.append(" / ".join(f"{np.percentile(factors, p):.2f}" for p in (50, 90)))
        rows.append(tuple(cells))
    return markdown_table(("kind", "kernels", *predictions), rows)


def misses_table(times: KernelTimes, found: Sequence[Miss]) -> str:
    """Returns a table of kernels that are predicted badly, as Markdown.

    Args:
        times: Their data set.
        found: The kernels.
    """
    rows = []
    for number, miss in enumerate(found, 1):
        default = miss.kernel.variants[0]
        rows.append(
            (
                str(number),
                miss.words,
                f"{1e6 * default.seconds:,.1f}",
                kind_of_text(miss.text),
                f"`{shortened(result_of_text(miss.text))}`",
                miss.kernel.family,
                "yes" if miss.kernel.change else "",
            )
        )
    heads = ("", "predicted / measured", "µs measured", "kind", "result", "family", "changed")
    return markdown_table(heads, rows)


def misses_picture(found: Sequence[Miss]) -> Picture:
    """Returns a picture of the graphs of kernels that are predicted badly.

    Args:
        found: The kernels, in the order of the table.
    """
    rows = -(-len(found) // _COLUMNS)
    return Picture(
        "kernel-predictions",
        f"The graphs of the {len(found)} kernels whose predictions are furthest off.",
        _ROW_HEIGHT * rows,
        lambda figure: _draw(figure, found, rows),
    )


def _draw(figure: Figure, found: Sequence[Miss], rows: int) -> None:
    panels = np.atleast_1d(figure.subplots(rows, _COLUMNS)).reshape(-1)
    for axes in panels:
        axes.axis("off")
    for number, (axes, miss) in enumerate(zip(panels, found, strict=False), 1):
        _draw_graph(axes, miss.text)
        name = result_of_text(miss.text).partition("{")[0][:_TITLE_LETTERS]
        axes.set_title(f"{number}: {miss.words}, {name}", fontsize=7)


def _draw_graph(axes: Axes, text: str) -> None:
    """Draws the instructions of a kernel's largest computation, the operands on top."""
    if not is_kernel_text(text):
        axes.text(0.5, 0.5, text, ha="center")
        return
    import networkx as nx

    drawn = _largest_computation(parse(text).to_networkx())
    for level, nodes in enumerate(nx.topological_generations(drawn)):
        for node in nodes:
            drawn.nodes[node]["level"] = -level
    opcodes: dict[int, str] = dict(drawn.nodes(data="opcode"))
    places = nx.multipartite_layout(drawn, subset_key="level", align="horizontal")
    few = len(drawn) <= _MOST_NAMED
    nx.draw_networkx_edges(
        drawn, places, ax=axes, width=0.6, edge_color=GREY, node_size=30, arrowsize=5
    )
    nx.draw_networkx_nodes(
        drawn,
        places,
        ax=axes,
        node_size=30 if few else 8,
        node_color=[GREY if opcodes[node] in _GIVEN else _COMPUTED for node in drawn],
    )
    if few:
        nx.draw_networkx_labels(
            drawn, places, opcodes, ax=axes, font_size=5, verticalalignment="top"
        )
    axes.margins(0.12)


def _largest_computation(graph: MultiDiGraph) -> DiGraph:
    import networkx as nx

    computations: dict[int, list[int]] = defaultdict(list)
    for node, data in graph.nodes(data=True):
        if data["type"] != "computation":
            computations[data["computation"]].append(node)
    return nx.DiGraph(graph.subgraph(max(computations.values(), key=len)))
