"""Draws docs/overview.png, the picture of the README: the loop of pass ordering, and one episode.

    python -m benchmarks.overview_picture

The graphs are those of a real module, before and after each pass that XLA runs on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlograph.graph.hlo_graph import HloGraph
from hlograph.graph.vocabulary import EDGE_TYPES, NODE_TYPES
from hlograph.module import Module
from hlograph.transforms.registry import passes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch

PICTURE = Path(__file__).parent.parent / "docs" / "overview.png"
PASSES = ("algsimp", "cse")
LAYER = """
HloModule layer
ENTRY main {
  x = f32[8,4] parameter(0)
  w = f32[4,4] parameter(1)
  zero = f32[] constant(0)
  zeros = f32[8,4] broadcast(zero), dimensions={}
  product = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  shifted = f32[8,4] add(product, zeros)
  exp.1 = f32[8,4] exponential(shifted)
  exp.2 = f32[8,4] exponential(shifted)
  turned = f32[4,8] transpose(exp.1), dimensions={1,0}
  back = f32[8,4] transpose(turned), dimensions={1,0}
  sum = f32[8,4] add(back, exp.2)
  ROOT relu = f32[8,4] maximum(sum, zeros)
}
"""
# Column and row of each instruction: chosen by hand, the same in all states.
PLACES = {
    "x": (0.0, 0),
    "w": (1.0, 0),
    "zero": (2.0, 0),
    "product": (0.5, 1),
    "zeros": (2.0, 1),
    "shifted": (0.5, 2),
    "exp.1": (0.0, 3),
    "exp.2": (1.0, 3),
    "turned": (0.0, 4),
    "back": (0.0, 5),
    "sum": (0.5, 6),
    "relu": (1.25, 7),
}
LOOP = (
    ("HLO module", "from JAX, XLA dumps,\nthe corpus"),
    ("typed graph", "instructions, operands,\ncalls, attributes"),
    ("graph attention", "a vector per node,\none for the module"),
    ("policy", "picks one of {passes} passes,\nor stops"),
    ("XLA", "runs the pass,\nin the same process"),
)
INK, GREY, RED = "#1f2933", "#7b8794", "#c1121f"
FILLS = {"parameter": "#dbe9f6", "constant": "#eceff1", "instruction": "#ffffff"}


@dataclass(frozen=True)
class State:
    """Module of the episode at one moment.

    Attributes:
        graph: Its graph.
        op_count: Number of its instructions.
        gone: Names of the instructions that the next pass removes.
    """

    graph: HloGraph
    op_count: int
    gone: frozenset[str]


def episode() -> list[State]:
    """Returns the states before the first pass and after each, as XLA makes them."""
    module = Module.from_text(LAYER)
    graphs, counts = [module.graph()], [module.op_count]
    for name in PASSES:
        module.run(name)
        graphs.append(module.graph())
        counts.append(module.op_count)
    names = [set(graph.names()) for graph in graphs]
    gone = [frozenset(a - b) for a, b in zip(names, [*names[1:], names[-1]], strict=True)]
    return [State(*parts) for parts in zip(graphs, counts, gone, strict=True)]


def draw(path: Path = PICTURE) -> None:
    """Writes the picture as PNG, on a white card that is legible on any page."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"font.family": "DejaVu Sans", "text.color": INK}):
        figure = plt.figure(figsize=(10, 6.2), dpi=150, facecolor="white")
        loop = figure.add_axes((0.01, 0.68, 0.98, 0.31))
        _draw_loop(loop)
        states = episode()
        for number, state in enumerate(states):
            axes = figure.add_axes((0.015 + number * 0.335, 0.01, 0.30, 0.62))
            _draw_state(axes, state)
            if number < len(PASSES):
                _draw_pass(figure.add_axes((0.305 + number * 0.335, 0.27, 0.06, 0.1)), number)
        figure.savefig(path, metadata={"Software": None})
        plt.close(figure)


def _draw_loop(axes: Axes) -> None:
    """Draws the boxes of the loop, and the way back from XLA to the module."""
    axes.set(xlim=(0, 10), ylim=(0, 3))
    axes.axis("off")
    width, step = 1.62, 2.03
    for number, (title, text) in enumerate(LOOP):
        left = 0.13 + number * step
        box = {"boxstyle": "round,pad=0.02,rounding_size=0.1", "fc": "#f3f6f9", "ec": INK}
        axes.add_patch(_box(left, 1.35, width, 1.45, **box))
        axes.text(left + width / 2, 2.48, title, ha="center", va="center", size=10.5, weight="bold")
        axes.text(
            left + width / 2,
            1.83,
            text.format(passes=len(passes)),
            ha="center",
            va="center",
            size=8,
        )
        if number + 1 < len(LOOP):
            _arrow(axes, (left + width + 0.04, 2.07), (left + step - 0.04, 2.07))
    first, last = 0.13 + width / 2, 0.13 + 4 * step + width / 2
    axes.plot([last, last, first], [1.3, 0.62, 0.62], color=INK, lw=1.3)
    _arrow(axes, (first, 0.62), (first, 1.3))
    told = "the module that the pass leaves; reward: how many instructions are gone"
    axes.text(5, 0.66, told, ha="center", va="bottom", size=9)
    axes.text(
        0.13, 0.12, "An episode on a small module, drawn from its graphs:", size=9, color=GREY
    )


def _draw_state(axes: Axes, state: State) -> None:
    """Draws a graph; what the next pass removes is red and dashed."""
    axes.set(xlim=(-0.62, 2.62), ylim=(8.0, -0.45))
    axes.axis("off")
    graph, names = state.graph, state.graph.names()
    operands = EDGE_TYPES.index("data")
    for source, target, kind in zip(*graph.edge_index.tolist(), graph.edge_type, strict=True):
        if kind == operands:
            (x0, y0), (x1, y1) = PLACES[names[source]], PLACES[names[target]]
            _arrow(axes, (x0, y0 + 0.29), (x1, y1 - 0.29), GREY)
    for node, name in enumerate(names):
        kind = NODE_TYPES[graph.node_type[node]]
        if kind == "computation":
            continue
        (x, y), gone = PLACES[name], name in state.gone
        axes.add_patch(
            _box(
                x - 0.43,
                y - 0.27,
                0.86,
                0.54,
                boxstyle="round,pad=0.01,rounding_size=0.08",
                fc="#fdecea" if gone else FILLS[kind],
                ec=RED if gone else INK,
                ls="--" if gone else "-",
                lw=2 if graph.is_root[node] else 1,
            )
        )
        label = graph.opcode_name(node)
        axes.text(x, y, label, ha="center", va="center", size=7.5, color=RED if gone else INK)
    axes.text(
        2.0, 4.6, f"{state.op_count}", ha="center", va="center", size=20, weight="bold", color=INK
    )
    axes.text(2.0, 5.2, "instructions", ha="center", va="center", size=8.5)


def _draw_pass(axes: Axes, number: int) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    _arrow(axes, (0.05, 0.3), (0.95, 0.3))
    axes.text(0.5, 0.45, PASSES[number], ha="center", va="bottom", size=10, weight="bold")


def _box(left: float, bottom: float, width: float, height: float, **style: Any) -> FancyBboxPatch:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((left, bottom), width, height, **style)


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str = INK
) -> None:
    style = {"arrowstyle": "-|>", "color": color, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=style)


if __name__ == "__main__":
    draw()
    print(f"written: {PICTURE}")
