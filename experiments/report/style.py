"""How pictures look: colours that the colour-blind tell apart, sizes to be read at 100 %."""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from experiments.report.section import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110
WIDTH = 9.0
"""Inches of a picture."""
GREY = "#8a8a8a"
# Okabe and Ito, Color Universal Design (2008), without the yellow, which is lost on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", GREY)
_DASHES = ("-", "--", ":", "-.")
_SETTINGS: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9,
}


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name; they come again after the eighth."""
    return {name: _COLOURS[n % len(_COLOURS)] for n, name in enumerate(names)}


def dashes(names: Iterable[str]) -> dict[str, str]:
    """A kind of line for each name, another where the colours come again."""
    return {name: _DASHES[n // len(_COLOURS) % len(_DASHES)] for n, name in enumerate(names)}


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        yield


def picture(name: str, alt: str, height: float, draw: "Callable[[Figure], Any]") -> Picture:
    """Draws a picture; the same bytes each time.

    Args:
        name: Its name in the chapter.
        alt: What it shows.
        height: Inches.
        draw: Draws into the figure that it is given.
    """
    with _settings():
        # No pyplot: it would keep every figure, and want a display where it finds one.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        content = io.BytesIO()
        figure.savefig(content, format="png", metadata={"Software": None})
    return Picture(name, alt, content.getvalue(), round(WIDTH * DPI))
