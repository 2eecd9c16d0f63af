"""The parameters of a GATv2 layer (Brody, Alon, Yahav 2022, arXiv:2105.14491).

They have the names and the initial values of `torch_geometric.nn.GATv2Conv`, whose import takes
seconds. On a CPU the code of `hlograph.graph.attention` needs the parameters alone; elsewhere
the layer of torch-geometric runs with them.
"""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import torch
from torch import Tensor, nn


class GATv2(nn.Module):
    """Layer of GATv2 with edge features and without self-loops.

    Args:
        in_channels: Width of the nodes' vectors.
        out_channels: Width of a head.
        heads: Number of heads, which are concatenated.
        edge_dim: Width of the edges' features.
    """

    negative_slope = 0.2

    def __init__(self, in_channels: int, out_channels: int, heads: int, edge_dim: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.heads, self.edge_dim = heads, edge_dim
        width = heads * out_channels
        self.lin_l = _Projection(in_channels, width)
        self.lin_r = _Projection(in_channels, width)
        self.att = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = _Projection(edge_dim, width, bias=False)
        self.bias = nn.Parameter(torch.empty(width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters as torch-geometric does, so that a seed has the same ones."""
        for projection in (self.lin_l, self.lin_r, self.lin_edge):
            projection.reset_parameters()
        _glorot(self.att)
        nn.init.zeros_(self.bias)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Runs the layer of torch-geometric with these parameters."""
        layer = _LAYERS.of(self.in_channels, self.out_channels, self.heads, self.edge_dim)
        layer.train(self.training)
        parameters: dict[str, Tensor] = dict(self.named_parameters())
        return torch.func.functional_call(layer, parameters, inputs, options)


class _Projection(nn.Linear):
    """Linear layer with the initial values of torch-geometric."""

    def reset_parameters(self) -> None:
        _glorot(self.weight)
        if self.bias is not None:
            bound = 1.0 / math.sqrt(self.in_features)
            self.bias.data.uniform_(-bound, bound)


def _glorot(value: Tensor) -> None:
    bound = math.sqrt(6.0 / (value.size(-2) + value.size(-1)))
    value.data.uniform_(-bound, bound)


class _Layers(threading.local):
    """Layers of torch-geometric, by their widths; each thread has its own.

    A call puts the parameters of a `GATv2` into one. Threads that shared it would run with each
    other's parameters.
    """

    def __init__(self) -> None:
        self._layers: dict[tuple[int, ...], nn.Module] = {}

    def of(self, *widths: int) -> nn.Module:
        """Returns the layer of some widths: those of the nodes, of a head, heads, of the edges."""
        if widths not in self._layers:
            self._layers[widths] = _new_layer(*widths)
        return self._layers[widths]


_LAYERS = _Layers()


def _new_layer(in_channels: int, out_channels: int, heads: int, edge_dim: int) -> nn.Module:
    with warnings.catch_warnings():
        # It scripts functions at import, which torch has deprecated.
        warnings.filterwarnings("ignore", "`torch.jit.script", DeprecationWarning)
        from torch_geometric.nn import GATv2Conv

    with torch.device("meta"):  # its own parameters are not used, and take nothing from a seed
        return GATv2Conv(
            in_channels, out_channels, heads=heads, edge_dim=edge_dim, add_self_loops=False
        )
