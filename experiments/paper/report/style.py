"""Style of the pictures: sizes, and colours that colour-blind readers can tell apart."""

import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from experiments.paper.report.section import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110
WIDTH = 9.0
"""Width of a picture in inches."""
GREY = "#8a8a8a"
# Okabe and Ito, Color Universal Design (2008), without the yellow, which is lost on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", GREY)
_OWN = ("GNN", "op counts")
_DASHES = ("-", "--", ":", "-.")
_SETTINGS: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.hashsalt": "hlograph",
}


def colours(names: Iterable[str]) -> dict[str, str]:
    """Returns a colour for each name; the GNN and the op-count agent always have the same."""
    return {name: _COLOURS[n % len(_COLOURS)] for name, n in _numbered(names).items()}


def row_colours(names: Iterable[str]) -> dict[str, str]:
    """Returns a colour for each row of a labelled chart; the project's own agents stand out."""
    numbers = _numbered(names)
    others = GREY if min(numbers.values(), default=0) < len(_OWN) else _COLOURS[0]
    return {name: _COLOURS[n] if n < len(_OWN) else others for name, n in numbers.items()}


def dashes(names: Iterable[str]) -> dict[str, str]:
    """Returns a line style for each name; names of the same colour have different styles."""
    return {
        name: _DASHES[n // len(_COLOURS) % len(_DASHES)] for name, n in _numbered(names).items()
    }


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Returns a number for each name; the first two are kept for the project's own agents."""
    names = list(names)
    own: dict[str, int] = {}
    for number, agent in enumerate(_OWN):
        found = [n for n in names if n.startswith(agent) or n == f"PPO ({agent})"]
        # Of several the plain one: variants have more in their names.
        own |= dict.fromkeys(sorted(found, key=len)[:1], number)
    others = [name for name in names if name not in own]
    own |= {name: number for number, name in enumerate(others, start=len(_OWN))}
    return {name: own[name] for name in names}


def picture(name: str, alt: str, height: float, draw: "Callable[[Figure], Any]") -> Picture:
    """Draws a picture; the same drawing gives the same bytes.

    Args:
        name: Its name in the chapter.
        alt: Description.
        height: Height in inches.
        draw: Function that draws into a figure.
    """
    return Picture(name, alt, _drawn(height, draw, _png))


def svg(height: float, draw: "Callable[[Figure], Any]") -> bytes:
    """Draws a picture as SVG; the same drawing gives the same bytes.

    Args:
        height: Height in inches.
        draw: Function that draws into a figure.
    """
    return _drawn(height, draw, _svg)


def _drawn(
    height: float, draw: "Callable[[Figure], Any]", write: "Callable[[Figure], bytes]"
) -> bytes:
    import matplotlib as mpl

    # No pyplot: it would keep every figure, and want a display where it finds one.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        return write(figure)


def _svg(figure: "Figure") -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def _png(figure: "Figure") -> bytes:
    """Returns a figure as PNG with a palette of 256 colours, a third of the size without one."""
    from PIL import Image

    drawn, content = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    Image.open(drawn).convert("RGB").quantize(256).save(content, format="png", optimize=True)
    return content.getvalue()
