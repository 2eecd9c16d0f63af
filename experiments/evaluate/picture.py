"""Pictures with matplotlib: the same drawing gives the same bytes."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110
WIDTH = 9.0
"""Width of a picture in inches."""
GREY = "#8a8a8a"
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


@dataclass(frozen=True)
class Picture:
    """A picture and its description; the same drawing gives the same bytes."""

    name: str
    """Name that is unique in its chapter; part of the name of its file."""
    alt: str
    height: float
    """Height in inches."""
    draw: "Callable[[Figure], Any]"
    """Function that draws into a figure."""

    def svg(self) -> bytes:
        """Returns the picture as SVG."""
        return self._saved(format="svg", metadata={"Date": None})

    def png(self) -> bytes:
        """Returns the picture as PNG with a palette of 256 colours, a third of the size without."""
        from PIL import Image

        content = io.BytesIO()
        drawn = io.BytesIO(self._saved(format="png", metadata={"Software": None}))
        Image.open(drawn).convert("RGB").quantize(256).save(content, format="png", optimize=True)
        return content.getvalue()

    def _saved(self, **options: Any) -> bytes:
        import matplotlib as mpl

        # No pyplot: it would keep every figure, and want a display where it finds one.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        content = io.BytesIO()
        with mpl.rc_context(_SETTINGS):
            figure = Figure(figsize=(WIDTH, self.height), dpi=DPI, layout="constrained")
            FigureCanvasAgg(figure)
            self.draw(figure)
            figure.savefig(content, **options)
        return content.getvalue()
