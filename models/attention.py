"""Applies a residual layer of GATv2 to one round of distinct neighbourhoods, on a CPU."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hlograph.graph import attention
from hlograph.graph.attention import AttentionInput, AttentionOutput
from models.gatv2 import GATv2
from models.refined_graphs import Round


def has_fused_code(layer: GATv2, nodes: Tensor) -> bool:
    """Returns True if there is fused code for a layer's widths and its input's device."""
    is_plain = nodes.device.type == "cpu" and nodes.dtype == torch.float32
    is_residual = layer.in_channels == layer.heads * layer.out_channels
    return is_plain and is_residual and layer.out_channels in attention.HEAD_WIDTHS


def projection(layer: GATv2) -> tuple[Tensor, Tensor]:
    """Returns weight and bias that project nodes as sources and as targets, in one product."""
    left, right = layer.lin_l, layer.lin_r
    return torch.cat([left.weight, right.weight]), torch.cat([left.bias, right.bias])


def attend(layer: GATv2, nodes: Tensor, projected: Tensor, part: Round, labels: Tensor) -> Tensor:
    """Returns own + gelu(layer(own, neighbours)) for the colours of a round, with fused code.

    Args:
        layer: A layer that `has_fused_code`.
        nodes: float32 [C', width], vectors of the round before.
        projected: float32 [C', 2 * width], what the layer sees of them as sources and as
            targets.
        part: The round, C colours with M edges.
        labels: float32 [2 * edge_labels, edge_width], features of an edge by its label.

    Returns:
        float32 [C, width].
    """
    columns = _columns(layer, nodes, projected, labels)
    if torch.is_grad_enabled():
        return _Fused.apply(*columns, part, layer.negative_slope)
    return torch.from_numpy(_run(_fused_input(columns, part), layer.negative_slope).out)


def attention_shares(
    layer: GATv2, nodes: Tensor, projected: Tensor, part: Round, labels: Tensor
) -> Tensor:
    """Returns the weights of a round's edges, float32 [M, heads], without gradients.

    For each colour and head, the weights of the colour's edges sum to 1. The arguments are those
    of `attend`.
    """
    columns = _columns(layer, nodes, projected, labels)
    return torch.from_numpy(_run(_fused_input(columns, part), layer.negative_slope).shares)


def _columns(layer: GATv2, nodes: Tensor, projected: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    return nodes, projected, layer.lin_edge(labels), layer.att.squeeze(0), layer.bias


def _fused_input(columns: Sequence[Tensor], part: Round) -> AttentionInput:
    return AttentionInput(*(x.detach().contiguous().numpy() for x in (*columns, *part)))


def _run(given: AttentionInput, negative_slope: float) -> AttentionOutput:
    return attention.forward(given, negative_slope, torch.get_num_threads())


class _Fused(torch.autograd.Function):
    """Differentiable torch function of the fused code."""

    @staticmethod
    def forward(
        ctx: Any,
        nodes: Tensor,
        projected: Tensor,
        label: Tensor,
        weight: Tensor,
        bias: Tensor,
        part: Round,
        negative_slope: float,
    ) -> Tensor:
        ctx.given = _fused_input((nodes, projected, label, weight, bias), part)
        ctx.negative_slope = negative_slope
        ctx.output = _run(ctx.given, negative_slope)
        return torch.from_numpy(ctx.output.out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        results = attention.backward(
            ctx.given,
            ctx.output,
            gradient.contiguous().numpy(),
            ctx.negative_slope,
            torch.get_num_threads(),
        )
        return *map(torch.from_numpy, results), None, None
