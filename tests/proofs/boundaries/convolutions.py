"""Convolutions on both sides of the clauses of claims."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.speed_rules.convolution import Axis, HloConvolution
from tests.proofs.boundaries.boundary import Boundary, MakeProgram, either, factors

_IMAGES = (Axis(), Axis())


def _convolved(*axes: Axis, **sizes: Any) -> Callable[[], str]:
    return HloConvolution(axes, **sizes).text


def _reversed(**sizes: Any) -> MakeProgram:
    def program(n: int) -> str:
        axis = Axis(size=6, taps=4, low=0, high=0, reverse=1 - n)
        return HloConvolution((axis,), **sizes).text()

    return program


def _taps_of_groups(n: int, groups: int = 2) -> str:
    channels, taps = factors(n)
    return HloConvolution(
        (Axis(size=taps + 8, taps=taps),),
        channels=groups * channels,
        features=2 * groups,
        feature_groups=groups,
    ).text()


def _positions(n: int, *, groups: int, images: int = 2) -> str:
    """Returns the gradient of the kernel of a convolution, which has so many positions."""
    taps = 4 if groups > 1 else n + 1
    axis = Axis(size=n + taps - 1, taps=taps, low=0, high=0)
    sizes: dict[str, Any] = {"batch": images * groups, "channels": 2, "features": 2 * groups}
    return HloConvolution((axis,), batch_groups=groups, **sizes).text()


CONVOLUTIONS = (
    Boundary(
        "depthwise-as-products",
        "at most 80 taps",
        lambda n: HloConvolution((Axis(size=n + 8, taps=n),), feature_groups=3).text(),
    ),
    Boundary(
        "depthwise-as-products",
        "one channel in each group",
        lambda n: HloConvolution(
            _IMAGES, channels=3 if n else 6, features=6, feature_groups=3
        ).text(),
    ),
    Boundary("grouped-as-products", "at most 80 taps and channels of a group", _taps_of_groups, 2),
    Boundary(
        "depthwise-gradient:kernel",
        "one channel in each group",
        lambda n: HloConvolution(
            (Axis(size=6, taps=4, low=0, high=0),), batch=3 if n else 6, batch_groups=3
        ).text(),
    ),
    Boundary(
        "depthwise-gradient:kernel",
        "the window is not reversed",
        _reversed(batch=3, batch_groups=3),
    ),
    Boundary(
        "depthwise-gradient:kernel",
        "at most 64 positions",
        partial(_positions, groups=3, images=1),
    ),
    Boundary(
        "grouped-gradient:kernel", "the window is not reversed", _reversed(batch=6, batch_groups=3)
    ),
    Boundary("grouped-gradient:kernel", "at most 64 positions", partial(_positions, groups=3)),
    Boundary("convolution-gradient:kernel", "the window is not reversed", _reversed()),
    Boundary("convolution-gradient:kernel", "16 of one group", partial(_positions, groups=1)),
    Boundary(
        "convolution-as-dot",
        "no groups, no gaps",
        either(
            _convolved(Axis(taps=1, low=0, high=0)),
            _convolved(Axis(taps=1, low=0, high=0), feature_groups=3),
        ),
    ),
    Boundary(
        "convolution-as-dot",
        "no groups, no gaps",
        either(
            _convolved(Axis(taps=1, low=0, high=0)),
            _convolved(Axis(taps=1, low=0, high=0, gaps=2)),
        ),
    ),
    Boundary(
        "convolution-as-dot",
        "one position and no reversal",
        either(
            _convolved(Axis(size=4, taps=4, low=0, high=0)),
            _convolved(Axis(size=4, taps=4, low=0, high=0, reverse=1)),
        ),
    ),
    Boundary(
        "convolution-as-dot",
        "each axis has one tap, or one position",
        either(
            _convolved(Axis(size=4, taps=4, low=0, high=0)),
            _convolved(Axis(size=5, taps=4, low=0, high=0)),
        ),
    ),
    Boundary(
        "transposed-convolution-as-phases",
        "no stride where there are gaps",
        either(_convolved(Axis(gaps=2)), _convolved(Axis(gaps=2, stride=2))),
    ),
    Boundary(
        "transposed-convolution-as-phases",
        "no groups of the batch",
        either(
            _convolved(Axis(gaps=2), batch=4),
            _convolved(Axis(gaps=2), batch=4, features=4, batch_groups=2),
        ),
    ),
)
