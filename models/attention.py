"""Applies a GATv2 layer to one round of distinct neighbourhoods."""

from typing import Any

import torch
from torch import Tensor

from hlograph.kernels import attention
from hlograph.kernels.attention import AttentionInput
from models.refined_graphs import Round


def attend(layer: Any, nodes: Tensor, part: Round, labels: Tensor) -> Tensor:
    """Applies a `models.gatv2.GATv2`.

    On a CPU by fused kernels with the layer's parameters, elsewhere by torch-geometric: the
    same function, with other rounding.

    Args:
        layer: The layer.
        nodes: float32 [C', width], vectors of the round before.
        part: The round, C colours with M edges.
        labels: float32 [2 * edge_labels, edge_width], features of an edge by its label.

    Returns:
        float32 [C, heads * head_width].
    """
    if fits_kernel(layer, nodes):
        # Projected before they are repeated: there are fewer colours in the round before.
        target = layer.lin_r(nodes).index_select(0, part.own)
        return attend_projected(layer, layer.lin_l(nodes), target, part, labels)
    edge_index = torch.stack([part.source.long(), part.rows()])
    return layer((nodes, nodes.index_select(0, part.own)), edge_index, labels[part.label])


def fits_kernel(layer: Any, nodes: Tensor) -> bool:
    """Returns True if there is a kernel for a layer's head width and for its input's device."""
    is_plain = nodes.device.type == "cpu" and nodes.dtype == torch.float32
    return is_plain and layer.out_channels in attention.HEAD_WIDTHS


def attend_projected(
    layer: Any, source: Tensor, target: Tensor, part: Round, labels: Tensor
) -> Tensor:
    """Applies the layer to nodes that it has already projected, on a CPU.

    Args:
        layer: A layer that `fits_kernel`.
        source: float32 [C', heads * head_width], `layer.lin_l` of the round before.
        target: float32 [C, heads * head_width], `layer.lin_r` of the colours themselves there.
        part: The round.
        labels: As in `attend`.
    """
    attended = _Fused.apply(
        source,
        target,
        layer.lin_edge(labels),
        layer.att.squeeze(0),
        part,
        layer.negative_slope,
    )
    return attended + layer.bias


def attention_shares(layer: Any, nodes: Tensor, part: Round, labels: Tensor) -> Tensor:
    """Returns the weights of a round's edges, float32 [M, heads], without gradients.

    For each colour and head, the weights of the colour's edges sum to 1.

    Args:
        layer: A layer that `fits_kernel`.
        nodes: float32 [C', width], vectors of the round before.
        part: The round.
        labels: As in `attend`.
    """
    target = layer.lin_r(nodes).index_select(0, part.own)
    columns = (layer.lin_l(nodes), target, layer.lin_edge(labels), layer.att.squeeze(0))
    _, shares = attention.forward(
        _kernel_input(*columns, part), layer.negative_slope, torch.get_num_threads()
    )
    return torch.from_numpy(shares)


def _kernel_input(
    source: Tensor, target: Tensor, label: Tensor, weight: Tensor, part: Round
) -> AttentionInput:
    columns = (source, target, label, weight, part.offsets, part.source, part.label)
    return AttentionInput(*(x.detach().contiguous().numpy() for x in columns))


class _Fused(torch.autograd.Function):
    """Differentiable torch function of the kernels."""

    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        label: Tensor,
        weight: Tensor,
        part: Round,
        negative_slope: float,
    ) -> Tensor:
        ctx.given = _kernel_input(source, target, label, weight, part)
        ctx.negative_slope = negative_slope
        out, ctx.shares = attention.forward(ctx.given, negative_slope, torch.get_num_threads())
        ctx.out = out
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        found = attention.backward(
            ctx.given,
            ctx.out,
            ctx.shares,
            gradient.contiguous().numpy(),
            ctx.negative_slope,
            torch.get_num_threads(),
        )
        return *map(torch.from_numpy, found), None, None
