"""Convolutions in HLO, also of forms that JAX does not write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random


@dataclass(frozen=True)
class Axis:
    """A spatial dimension, with the names of HLO's window."""

    size: int = 5
    taps: int = 3
    stride: int = 1
    low: int = 1
    high: int = 1
    gaps: int = 1
    dilation: int = 1
    reverse: int = 0

    @property
    def positions(self) -> int:
        """Size of the result."""
        padded = (self.size - 1) * self.gaps + 1 + self.low + self.high
        window = (self.taps - 1) * self.dilation + 1
        return (padded - window) // self.stride + 1


@dataclass(frozen=True)
class HloConvolution:
    """A convolution in HLO, also of forms that JAX does not write."""

    axes: tuple[Axis, ...]
    batch: int = 2
    channels: int = 3
    features: int = 3
    feature_groups: int = 1
    batch_groups: int = 1
    kind: str = "f32"
    labels: tuple[str, str, str] | None = None

    def text(self) -> str:
        """Returns a program of the convolution alone."""
        spatial = "".join(str(i) for i in range(len(self.axes)))
        labels = self.labels or (f"b{spatial}f", f"{spatial}io", f"b{spatial}f")
        sizes = (
            {"b": self.batch, "f": self.channels},
            {"i": self.channels // self.feature_groups, "o": self.features},
            {"b": self.batch // self.batch_groups, "f": self.features},
        )
        names = ("size", "taps", "positions")
        shapes = [
            ",".join(
                str(roles[role] if role in roles else getattr(self.axes[int(role)], name))
                for role in label
            )
            for label, roles, name in zip(labels, sizes, names, strict=True)
        ]
        lhs, rhs, result = (f"{self.kind}[{shape}]" for shape in shapes)
        fields = {
            "size": [axis.taps for axis in self.axes],
            "stride": [axis.stride for axis in self.axes],
            "pad": [f"{axis.low}_{axis.high}" for axis in self.axes],
            "lhs_dilate": [axis.gaps for axis in self.axes],
            "rhs_dilate": [axis.dilation for axis in self.axes],
            "rhs_reversal": [axis.reverse for axis in self.axes],
        }
        window = " ".join(f"{name}={'x'.join(map(str, of))}" for name, of in fields.items())
        return (
            f"HloModule program\n\nENTRY main {{\n  x = {lhs} parameter(0)\n"
            f"  k = {rhs} parameter(1)\n  ROOT y = {result} convolution(x, k), "
            f"window={{{window}}}, dim_labels={labels[0]}_{labels[1]}->{labels[2]}, "
            f"feature_group_count={self.feature_groups}, "
            f"batch_group_count={self.batch_groups}\n}}\n"
        )


ROLES = ("bf", "io", "bf")
KINDS = ("f32", "f64", "s32", "c64", "bf16")


def draw_axes(
    rng: Random, most: int = 3, gaps: int = 1, strides: int = 2, reverse: int = 1, taps: int = 3
) -> tuple[Axis, ...]:
    """Draws one to ``most`` spatial dimensions, with at least one position each."""
    axes = []
    for _ in range(rng.randint(1, most)):
        axis = Axis(
            size=rng.randint(3, 5),
            taps=rng.randint(1, taps),
            stride=rng.randint(1, strides),
            low=rng.randint(-1, 2),
            high=rng.randint(-1, 2),
            gaps=rng.randint(1, gaps),
            dilation=rng.randint(1, 2),
            reverse=rng.randint(0, reverse),
        )
        axes.append(axis if axis.positions > 0 else replace(axis, low=2, high=2))
    return tuple(axes)


def draw_convolution(
    rng: Random, axes: Sequence[Axis], *, kinds: Sequence[str] = KINDS, **sizes: int
) -> str:
    """Draws the layout and the type of a convolution of these axes and sizes."""
    spatial = "".join(str(i) for i in range(len(axes)))
    usual = [
        (f"b{spatial}f", f"{spatial}io", f"b{spatial}f"),
        (f"bf{spatial}", f"oi{spatial}", f"bf{spatial}"),
    ]
    mixed = ["".join(rng.sample(roles + spatial, len(roles + spatial))) for roles in ROLES]
    labels = rng.choice([*usual, (mixed[0], mixed[1], mixed[2])])
    return HloConvolution(tuple(axes), **sizes, kind=rng.choice(kinds), labels=labels).text()
