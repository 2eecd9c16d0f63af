"""Random programs with the patterns of the rules for convolutions, and programs they refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tests.hlograph.transforms.forms.pattern import Programs, Refused

KINDS = ("f32", "f64", "s32", "c64", "bf16")


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
class Convolution:
    """A convolution, and its text."""

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
                str(known[one] if one in known else getattr(self.axes[int(one)], name))
                for one in label
            )
            for label, known, name in zip(labels, sizes, names, strict=True)
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


@st.composite
def _axes(
    draw: st.DrawFn, most: int = 3, gaps: int = 1, strides: int = 2, reverse: int = 1, taps: int = 3
) -> tuple[Axis, ...]:
    axes = []
    for _ in range(draw(st.integers(1, most))):
        axis = Axis(
            size=draw(st.integers(3, 5)),
            taps=draw(st.integers(1, taps)),
            stride=draw(st.integers(1, strides)),
            low=draw(st.integers(-1, 2)),
            high=draw(st.integers(-1, 2)),
            gaps=draw(st.integers(1, gaps)),
            dilation=draw(st.integers(1, 2)),
            reverse=draw(st.integers(0, reverse)),
        )
        axes.append(axis if axis.positions > 0 else replace(axis, low=2, high=2))
    return tuple(axes)


@st.composite
def _labels(draw: st.DrawFn, axes: tuple[Axis, ...]) -> tuple[str, str, str]:
    spatial = "".join(str(i) for i in range(len(axes)))
    usual = [
        (f"b{spatial}f", f"{spatial}io", f"b{spatial}f"),
        (f"bf{spatial}", f"oi{spatial}", f"bf{spatial}"),
    ]
    lhs, kernel, result = (
        "".join(draw(st.permutations(roles + spatial))) for roles in ("bf", "io", "bf")
    )
    return draw(st.sampled_from([*usual, (lhs, kernel, result)]))


@st.composite
def _depthwise(draw: st.DrawFn) -> str:
    axes, channels = draw(_axes()), draw(st.integers(1, 3))
    labels = draw(_labels(axes))
    return Convolution(
        axes,
        batch=draw(st.integers(1, 2)),
        channels=channels,
        features=channels * draw(st.integers(1, 3)),
        feature_groups=channels,
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _grouped(draw: st.DrawFn) -> str:
    axes, groups = draw(_axes(most=2)), draw(st.integers(1, 3))
    axes = (replace(axes[0], taps=2, low=1, high=1), *axes[1:])
    labels = draw(_labels(axes))
    return Convolution(
        axes,
        batch=draw(st.integers(1, 2)),
        channels=groups * draw(st.integers(2, 3)),
        features=groups * draw(st.integers(1, 3)),
        feature_groups=groups,
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _kernel_gradient(draw: st.DrawFn) -> str:
    axes, groups = draw(_axes(most=2, reverse=0)), draw(st.integers(2, 3))
    labels = draw(_labels(axes))
    channels = draw(st.integers(1, 3))
    return Convolution(
        axes,
        batch=groups,
        channels=channels,
        features=groups * draw(st.integers(1, 2)),
        batch_groups=groups,
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _grouped_gradient(draw: st.DrawFn) -> str:
    axes, groups = draw(_axes(most=2, reverse=0)), draw(st.integers(2, 3))
    labels = draw(_labels(axes))
    return Convolution(
        axes,
        batch=groups * draw(st.integers(2, 3)),
        channels=draw(st.integers(1, 2)),
        features=groups * draw(st.integers(1, 3)),
        batch_groups=groups,
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _gradient(draw: st.DrawFn) -> str:
    axes = []
    for axis in draw(_axes(most=2, reverse=0)):
        low, high = draw(st.sampled_from([(0, 0), (0, -1), (-1, 0), (1, -1)]))
        axes.append(replace(axis, size=6, taps=4, dilation=1, stride=1, low=low, high=high))
    labels = draw(_labels(tuple(axes)))
    return Convolution(
        tuple(axes),
        batch=draw(st.integers(1, 3)),
        channels=draw(st.integers(1, 3)),
        features=draw(st.integers(1, 3)),
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _single(draw: st.DrawFn) -> str:
    axes = []
    for axis in draw(_axes(reverse=0)):
        if draw(st.booleans()):
            axes.append(replace(axis, taps=1, low=abs(axis.low)))
        else:
            extra = (axis.taps - 1) * axis.dilation + 1 - axis.size - axis.low
            axes.append(replace(axis, high=extra + draw(st.integers(0, axis.stride - 1))))
    labels = draw(_labels(tuple(axes)))
    return Convolution(
        tuple(axes),
        channels=draw(st.integers(1, 3)),
        features=draw(st.integers(1, 3)),
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


@st.composite
def _spread(draw: st.DrawFn) -> str:
    axes = list(draw(_axes(most=2, gaps=3, taps=4)))
    axes[0] = replace(axes[0], gaps=draw(st.integers(2, 3)))
    axes = tuple(replace(axis, size=5, stride=1 if axis.gaps > 1 else axis.stride) for axis in axes)
    labels = draw(_labels(axes))
    groups = draw(st.integers(1, 2))
    return Convolution(
        axes,
        channels=groups * draw(st.integers(1, 2)),
        features=groups * draw(st.integers(1, 2)),
        feature_groups=groups,
        kind=draw(st.sampled_from(KINDS)),
        labels=labels,
    ).text()


PROGRAMS: Programs = {
    "depthwise-as-products": _depthwise,
    "grouped-as-products": _grouped,
    "depthwise-gradient:kernel": _kernel_gradient,
    "transposed-convolution-as-phases": _spread,
    "convolution-as-dot": _single,
    "grouped-gradient:kernel": _grouped_gradient,
    "convolution-gradient:kernel": _gradient,
}

IMAGES = (Axis(), Axis())

REFUSED: Refused = {
    "of two channels each": (
        "depthwise-as-products",
        Convolution(IMAGES, channels=6, features=6, feature_groups=3).text,
    ),
    "of too many taps": (
        "depthwise-as-products",
        Convolution((Axis(size=90, taps=81),), feature_groups=3).text,
    ),
    "of 16 bits of integers": (
        "depthwise-as-products",
        Convolution(IMAGES, feature_groups=3, kind="s16").text,
    ),
    "of one channel each": ("grouped-as-products", Convolution(IMAGES, feature_groups=3).text),
    "of one tap of one group": ("grouped-as-products", Convolution((Axis(taps=1),)).text),
    "of many channels": (
        "grouped-as-products",
        Convolution(IMAGES, channels=20, features=4, feature_groups=2).text,
    ),
    "of many channels of one group": ("grouped-as-products", Convolution(IMAGES, channels=4).text),
    "of groups of two images": (
        "depthwise-gradient:kernel",
        Convolution(IMAGES, batch=6, batch_groups=3).text,
    ),
    "of one image": ("depthwise-gradient:kernel", Convolution(IMAGES, batch=1).text),
    "of two positions and two taps": (
        "convolution-as-dot",
        Convolution((Axis(taps=2, size=3, low=0, high=0), Axis(taps=1))).text,
    ),
    "of groups": (
        "convolution-as-dot",
        Convolution((Axis(taps=1, low=0, high=0),), feature_groups=3).text,
    ),
    "of one tap, with gaps": ("convolution-as-dot", Convolution((Axis(taps=1, gaps=2),)).text),
    "of one channel in each group": (
        "grouped-gradient:kernel",
        Convolution(IMAGES, batch=3, batch_groups=3).text,
    ),
    "of a reversed kernel": (
        "grouped-gradient:kernel",
        Convolution((Axis(reverse=1),), batch=6, batch_groups=3).text,
    ),
    "of as many positions as taps": (
        "convolution-gradient:kernel",
        Convolution((Axis(taps=3, size=3),)).text,
    ),
    "of many positions": (
        "convolution-gradient:kernel",
        Convolution((Axis(taps=20, size=36, low=0, high=0),)).text,
    ),
    "without gaps": ("transposed-convolution-as-phases", Convolution(IMAGES).text),
    "with gaps and a stride": (
        "transposed-convolution-as-phases",
        Convolution((Axis(gaps=2, stride=2),)).text,
    ),
    "with many gaps": (
        "transposed-convolution-as-phases",
        Convolution((Axis(gaps=5), Axis(gaps=4))).text,
    ),
}
