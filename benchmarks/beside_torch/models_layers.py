"""Layers in PyTorch: convolutions by channel, residual, transposed, and an LSTM."""

from __future__ import annotations

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
)
"""Layers that are reported to be slow in XLA:CPU."""
