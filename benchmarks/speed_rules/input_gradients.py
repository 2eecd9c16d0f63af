"""Cases of gradients of the inputs of convolutions."""

from __future__ import annotations

from benchmarks.speed_rules.case import Case
from benchmarks.speed_rules.convolution_case import case, convolved, input_gradient


def _case(
    images: int,
    size: int,
    channels: int,
    features: int,
    *,
    program: str = "",
    pays: bool = True,
) -> Case:
    return case(
        "convolution-gradient:input",
        f"{images}x{size}x{size}x{features} to {channels}, 3x3",
        input_gradient(convolved),
        (images, size, size, channels),
        (3, 3, channels, features),
        (images, size, size, features),
        program=program,
        pays=pays,
    )


CASES: tuple[Case, ...] = (
    _case(1, 6, 512, 512, program="vgg/keras-vgg16-96px/saliency-b1"),
    _case(1, 12, 512, 512, program="vgg/keras-vgg16-96px/saliency-b1"),
    _case(1, 3, 512, 512, program="resnet/keras-resnet50-96px/train-sgdm-b1"),
    _case(2, 12, 128, 128, pays=False),
)
