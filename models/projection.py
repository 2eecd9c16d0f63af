"""Layer normalisation followed by a linear layer, on a CPU as one pass, also backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from hlograph.graph import dense
from hlograph.graph.dense import LANES, Normalised


def project(norm: nn.LayerNorm, weight: Tensor, bias: Tensor, rows: Tensor) -> Tensor:
    """Returns ``norm(rows) @ weight.T + bias``, float32 [N, O]; on a CPU with fused code.

    Args:
        norm: The normalisation.
        weight: float32 [O, width].
        bias: float32 [O].
        rows: float32 [N, width].
    """
    if rows.device.type != "cpu" or rows.dtype != torch.float32 or rows.shape[1] % LANES:
        return nn.functional.linear(norm(rows), weight, bias)
    if torch.is_grad_enabled():
        return _Fused.apply(norm.eps, rows, norm.weight, norm.bias, weight, bias)
    layer = normalised(norm, weight, bias)
    return torch.from_numpy(dense.forward(layer, array(rows), torch.get_num_threads()))


def normalised(norm: nn.LayerNorm, weight: Tensor, bias: Tensor) -> Normalised:
    """Returns parameters as those of the fused code, which share their memory on a CPU."""
    return Normalised(array(norm.weight), array(norm.bias), norm.eps, array(weight), array(bias))


def array(values: Tensor) -> dense.Floats:
    """Returns values as an array, which shares their memory if they are contiguous on a CPU."""
    return values.contiguous().numpy(force=True)


class _Fused(torch.autograd.Function):
    """Differentiable torch function of the fused code."""

    @staticmethod
    def forward(ctx: Any, epsilon: float, rows: Tensor, *parameters: Tensor) -> Tensor:
        scale, shift, weight, bias = map(array, parameters)
        ctx.layer, ctx.rows = Normalised(scale, shift, epsilon, weight, bias), array(rows)
        return torch.from_numpy(dense.forward(ctx.layer, ctx.rows, torch.get_num_threads()))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        threads = torch.get_num_threads()
        arrays = dense.backward(ctx.layer, ctx.rows, array(gradient), threads)
        return None, *map(torch.from_numpy, arrays)
