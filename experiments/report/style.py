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
}


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name; the GNN and the agent on op counts have theirs in every picture."""
    return {name: _COLOURS[n % len(_COLOURS)] for name, n in _numbered(names).items()}


def row_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each row with its name beside it: only the project's own agents stand out."""
    numbers = _numbered(names)
    others = GREY if min(numbers.values(), default=0) < len(_OWN) else _COLOURS[0]
    return {name: _COLOURS[n] if n < len(_OWN) else others for name, n in numbers.items()}


def dashes(names: Iterable[str]) -> dict[str, str]:
    """A kind of line for each name, another where the colours come again."""
    return {
        name: _DASHES[n // len(_COLOURS) % len(_DASHES)] for name, n in _numbered(names).items()
    }


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """A number for each name; the first ones are kept for the project's own two agents."""
    names = list(names)
    own: dict[str, int] = {}
    for number, agent in enumerate(_OWN):
        found = [n for n in names if n.startswith(agent) or n == f"PPO ({agent})"]
        # Of several the plain one: variants have more in their names.
        own |= dict.fromkeys(sorted(found, key=len)[:1], number)
    others = [name for name in names if name not in own]
    own |= {name: number for number, name in enumerate(others, start=len(_OWN))}
    return {name: own[name] for name in names}


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
