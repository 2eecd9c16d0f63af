"""Layers in PyTorch, networks of images, and a training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import (
    Compiler,
    Function,
    Model,
    dense,
    image,
    image_back,
    kernel,
    series,
    series_kernel,
    whole,
)


def plain(images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns a depthwise convolution with a bias and a clipped activation."""
    return F.relu6(F.conv2d(images, weight, bias, padding=1, groups=images.shape[1]))


def separable(images: Tensor, weight: Tensor, mixing: Tensor) -> Tensor:
    """Returns a depthwise and a pointwise convolution with clipped activations."""
    x = F.relu6(F.conv2d(images, weight, padding=1, groups=images.shape[1]))
    return F.relu6(F.conv2d(x, mixing))


def separable_gradient(compiler: Compiler) -> Function:
    """Makes the gradient of a depthwise and a pointwise convolution."""

    def mean_square(images: Tensor, weight: Tensor, mixing: Tensor) -> Tensor:
        return separable(images, weight, mixing).square().mean()

    loss = compiler(mean_square)

    def gradient(images: Tensor, weight: Tensor, mixing: Tensor) -> tuple[Tensor, ...]:
        weights = [weight.detach().requires_grad_(), mixing.detach().requires_grad_()]
        value = loss(images, *weights)
        return value, *torch.autograd.grad(value, weights)

    return gradient


def separable_outputs(outputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Returns loss and gradients in the program's order of dimensions."""
    value, weight, mixing = outputs
    return [value, weight.permute(2, 3, 1, 0), mixing[:, :, 0, 0].T]


def wide_block(
    images: Tensor, weight: Tensor, scale: Tensor, inner: Tensor, outer: Tensor
) -> Tensor:
    """Returns a block of a 7x7 depthwise convolution, a normalisation and two products."""
    x = F.conv2d(images, weight, padding=3, groups=images.shape[1]).permute(0, 2, 3, 1)
    x = F.layer_norm(x, scale.shape, scale, eps=1e-6)
    x = F.linear(F.gelu(F.linear(x, inner), approximate="tanh"), outer)
    return images + x.permute(0, 3, 1, 2)


def causal(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Returns a causal depthwise convolution over time."""
    taps = weight.shape[-1]
    return F.conv1d(F.pad(x, (taps - 1, 0)), weight, bias, groups=x.shape[1])


def activated(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Returns a causal depthwise convolution with a bias and an activation."""
    return F.silu(causal(x, weight, bias))


def gated(x: Tensor, weight: Tensor, inner: Tensor, outer: Tensor) -> Tensor:
    """Returns a gated layer with a causal depthwise convolution, as in state-space models."""
    mixed, gate = F.linear(x, inner).chunk(2, dim=-1)
    mixed = causal(mixed.transpose(1, 2), weight).transpose(1, 2)
    return x + F.linear(F.silu(mixed) * F.silu(gate), outer)


def residual(images: Tensor, *weights: Tensor) -> Tensor:
    """Returns images through eight residual convolutions."""
    for weight in weights:
        images = images + 0.1 * torch.tanh(F.conv2d(images, weight, padding=1))
    return images


def transposed(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Returns series of four times the length by two transposed convolutions."""
    x = F.leaky_relu(F.conv_transpose1d(x, first, stride=2, padding=1))
    return F.conv_transpose1d(x, second, stride=2, padding=1)


def flipped(tensor: Tensor) -> Tensor:
    """Returns kernels HIO of XLA's transposed convolution as PyTorch's, which mirrors them."""
    return tensor.flip(0).permute(1, 2, 0).contiguous()


def recurrent(network: Any, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the last state of a long short-term memory, and its states over time."""
    states, (hidden, memory) = network(x)
    return hidden[0], memory[0], states


def memory_cell(x: Tensor, inner: Tensor, outer: Tensor, bias: Tensor) -> tuple[Any, Tensor]:
    """Returns `torch.nn.LSTM` with given weights, and its input; the gates' order is the same."""
    network = torch.nn.LSTM(inner.shape[0], outer.shape[0])
    network.load_state_dict(
        {
            "weight_ih_l0": inner.T,
            "weight_hh_l0": outer.T,
            "bias_ih_l0": bias,
            "bias_hh_l0": torch.zeros_like(bias),
        }
    )
    return network.eval(), x


DEPTHWISE = "depthwise-convolution"


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


def super_resolution(images: Tensor, weights: list[Tensor]) -> Tensor:
    """Returns images of twice the size, by residual convolutions and pixels from channels."""
    pairs = list(zip(weights[1::2], weights[::2], strict=True))
    first = x = F.conv2d(images, *pairs[0], padding=1)
    for inner, outer in zip(pairs[1:-1:2], pairs[2:-1:2], strict=True):
        x = x + 0.1 * F.conv2d(F.relu(F.conv2d(x, *inner, padding=1)), *outer, padding=1)
    x = F.conv2d(x + first, *pairs[-1], padding=1)
    # Channels are rows, columns, colours; pixel_shuffle wants colours first.
    return F.pixel_shuffle(x.unflatten(1, (4, 3)).transpose(1, 2).flatten(1, 2), 2)


def super_resolution_step(compiler: Compiler) -> Function:
    """Makes a training step with Adam; its state is an argument and a result."""

    def mean_error(weights: list[Tensor], small: Tensor, large: Tensor) -> Tensor:
        return (super_resolution(small, weights) - large).abs().mean()

    def adam(
        count: Tensor,
        weights: list[Tensor],
        means: list[Tensor],
        squares: list[Tensor],
        slopes: tuple[Tensor, ...],
    ) -> tuple[list[Tensor], ...]:
        means = [0.9 * m + 0.1 * g for m, g in zip(means, slopes, strict=True)]
        squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, slopes, strict=True)]
        first, second = 1 - 0.9**count, 1 - 0.999**count
        weights = [
            w - 1e-3 * (m / first) / (torch.sqrt(s / second) + 1e-8)
            for w, m, s in zip(weights, means, squares, strict=True)
        ]
        return weights, means, squares

    loss, update = compiler(mean_error), compiler(adam)

    def step(count: Tensor, state: tuple[list[Tensor], ...], batch: tuple[Tensor, Tensor]) -> list:
        weights, means, squares = state
        weights = [weight.detach().requires_grad_() for weight in weights]
        value = loss(weights, *batch)
        slopes = torch.autograd.grad(value, weights)
        with torch.no_grad():
            weights, means, squares = update(count + 1, weights, means, squares, slopes)
        return [*weights, count + 1, *means, *squares, value]

    return step


def step_inputs(*inputs: Tensor) -> tuple[Tensor, tuple[list[Tensor], ...], tuple[Tensor, Tensor]]:
    """Returns the count of steps, weights and their moments, and the two batches of images."""
    weights, count, *rest = inputs[:20], *inputs[20:]
    state = (turned(weights), turned(tuple(rest[:20])), turned(tuple(rest[20:40])))
    return count, state, (image(rest[40]), image(rest[41]))


def step_outputs(outputs: list[Tensor]) -> list[Tensor]:
    """Returns the results of the training step, kernels HWIO."""
    return [each.permute(2, 3, 1, 0) if each.dim() == 4 else each for each in outputs]


MODELS = (
    Model(
        f"{DEPTHWISE}/plain/b2-n28-c96",
        whole(plain),
        lambda x, w, bias: (image(x), kernel(w), bias),
        image_back,
    ),
    Model(
        f"{DEPTHWISE}/separable/b4-n56-c64",
        whole(separable),
        lambda x, w, mixing: (image(x), kernel(w), dense(mixing)[:, :, None, None]),
        image_back,
    ),
    Model(
        f"{DEPTHWISE}/separable/grad-b4-n28-c96",
        separable_gradient,
        lambda x, w, mixing: (image(x), kernel(w), dense(mixing)[:, :, None, None]),
        separable_outputs,
        gradient=True,
    ),
    Model(
        f"{DEPTHWISE}/wide-block/b2-n28-c96",
        whole(wide_block),
        lambda x, w, scale, inner, outer: (image(x), kernel(w), scale, dense(inner), dense(outer)),
        image_back,
    ),
    Model(
        f"{DEPTHWISE}/causal/b4-t512-c256",
        whole(activated),
        lambda x, w, bias: (series(x), series_kernel(w), bias),
        lambda outputs: [outputs.transpose(1, 2)],
    ),
    Model(
        f"{DEPTHWISE}/gated/b4-t512-c128",
        whole(gated),
        lambda x, w, inner, outer: (x, series_kernel(w), dense(inner), dense(outer)),
    ),
    Model(
        "convolution-loop/layers/b1-n64-c16-l8",
        whole(residual),
        lambda x, weights: (image(x), *map(kernel, weights)),
        image_back,
    ),
    Model(
        "transposed-convolution/series/b4-n2048-c64",
        whole(transposed),
        lambda x, first, second: (series(x), flipped(first), flipped(second)),
        lambda outputs: [outputs.transpose(1, 2)],
    ),
    Model("lstm/written-out/t128-b16-d128", whole(recurrent), memory_cell),
    Model("resnet/keras-resnet50-224px/forward-b1", whole(resnet), image_model),
    Model("convnext/keras-tiny-128px/forward-b1", whole(convnext), image_model),
    Model(
        "vit/keras-hub-vit-l6-h192-224px/forward-b1",
        whole(vision_transformer),
        transformer_inputs,
    ),
    Model(
        "super-resolution/flax-b4-w32-b1-96px/train-adam",
        super_resolution_step,
        step_inputs,
        step_outputs,
        gradient=True,
    ),
)
