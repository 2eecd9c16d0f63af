"""Networks of images in PyTorch: ResNet-50, ConvNeXt and a vision transformer."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import Model, dense, image, kernel, whole

RESNET_TRAINED = 214
"""Trained parameters of ResNet-50; the statistics of its normalisations follow."""

CONVNEXT = ((3, 96), (3, 192), (9, 384), (3, 768))
"""Blocks and channels of the stages of ConvNeXt."""


def turned(weights: tuple[Tensor, ...]) -> list[Tensor]:
    """Returns weights in PyTorch's order: kernels OIHW, matrices outputs by inputs."""
    turns = {4: kernel, 2: dense}
    return [turns.get(weight.dim(), Tensor.contiguous)(weight) for weight in weights]


def image_model(*inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Returns the images, which are the last parameter, and the weights before them."""
    return image(inputs[-1]), turned(inputs[:-1])


def resnet(images: Tensor, weights: list[Tensor]) -> Tensor:
    """Returns logits of ResNet-50 as Keras has it, with biases and strides in 1x1 convolutions."""
    trained, state = iter(weights[:RESNET_TRAINED]), iter(weights[RESNET_TRAINED:])

    def normalised(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        return F.batch_norm(x, next(state), next(state), scale, bias, eps=1.001e-5)

    x = F.conv2d(images, next(trained), next(trained), stride=2, padding=3)
    x = F.relu(normalised(x, next(trained), next(trained)))
    x = F.max_pool2d(x, 3, stride=2, padding=1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            x = bottleneck(x, trained, state, stride, shortcut=not block)
    x = x.mean((2, 3))
    return F.linear(x, next(trained), next(trained))


def bottleneck(
    x: Tensor, trained: Iterator[Tensor], state: Iterator[Tensor], stride: int, *, shortcut: bool
) -> Tensor:
    """Returns a block of three convolutions, with a fourth one beside them if asked for."""

    def normalised(y: Tensor) -> Tensor:
        scale, bias, mean, variance = next(trained), next(trained), next(state), next(state)
        return F.batch_norm(y, mean, variance, scale, bias, eps=1.001e-5)

    y = F.relu(normalised(F.conv2d(x, next(trained), next(trained), stride=stride)))
    y = F.relu(normalised(F.conv2d(y, next(trained), next(trained), padding=1)))
    # Keras makes the fourth convolution before the third, which is the order of their weights.
    beside = F.conv2d(x, next(trained), next(trained), stride=stride) if shortcut else None
    y = F.conv2d(y, next(trained), next(trained))
    if beside is not None:
        x = normalised(beside)
    return F.relu(x + normalised(y))


def convnext(images: Tensor, weights: list[Tensor]) -> Tensor:
    """Returns logits of ConvNeXt, after the scaling of the images that Keras has in the model."""
    values = iter(weights)

    def normalised(x: Tensor) -> Tensor:
        scale, bias = next(values), next(values)
        return F.layer_norm(x, scale.shape, scale, bias, eps=1e-6)

    mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None] * 255
    deviation = torch.tensor([0.229, 0.224, 0.225])[:, None, None] * 255
    x = F.conv2d((images - mean) / deviation, next(values), next(values), stride=4)
    x = normalised(x.permute(0, 2, 3, 1))
    for stage, (blocks, channels) in enumerate(CONVNEXT):
        if stage:
            x = normalised(x).permute(0, 3, 1, 2)
            x = F.conv2d(x, next(values), next(values), stride=2).permute(0, 2, 3, 1)
        for _ in range(blocks):
            y = x.permute(0, 3, 1, 2)
            y = F.conv2d(y, next(values), next(values), padding=3, groups=channels)
            y = normalised(y.permute(0, 2, 3, 1))
            y = F.gelu(F.linear(y, next(values), next(values)))
            x = x + F.linear(y, next(values), next(values)) * next(values)
    return F.linear(normalised(x.mean((1, 2))), next(values), next(values))


def vision_transformer(images: Tensor, weights: list[Tensor]) -> Tensor:
    """Returns logits of a vision transformer of six blocks with four heads."""
    token, patches, bias, places, *rest = weights
    values = iter(rest)

    def normalised(x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], next(values), next(values), eps=1e-6)

    x = F.conv2d(images, patches, bias, stride=16).flatten(2).transpose(1, 2)
    x = torch.cat([token.expand(len(x), -1, -1), x], dim=1) + places
    for _ in range(6):
        y = normalised(x)
        query, key, value = (
            F.linear(y, next(values), next(values)).unflatten(-1, (4, -1)).transpose(1, 2)
            for _ in range(3)
        )
        y = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        x = x + F.linear(y, next(values), next(values))
        y = F.gelu(F.linear(normalised(x), next(values), next(values)))
        x = x + F.linear(y, next(values), next(values))
    return F.linear(normalised(x)[:, 0], next(values), next(values))


def transformer_inputs(*inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Returns images and weights of a vision transformer, heads merged as PyTorch has them."""
    token, patches, bias, places, *rest = inputs[:-1]
    weights = [token, kernel(patches), bias, places]
    for weight in rest:
        if weight.dim() == 3:
            width = max(weight.shape[0], weight.shape[2])
            weight = dense(weight.reshape(width, -1))
        elif weight.shape == (4, 48):
            weight = weight.flatten()
        elif weight.dim() == 2:
            weight = dense(weight)
        weights.append(weight)
    return image(inputs[-1]), weights


MODELS = (
    Model("resnet/keras-resnet50-224px/forward-b1", whole(resnet), image_model),
    Model("convnext/keras-tiny-128px/forward-b1", whole(convnext), image_model),
    Model(
        "vit/keras-hub-vit-l6-h192-224px/forward-b1",
        whole(vision_transformer),
        transformer_inputs,
    ),
)
"""Networks of images."""
