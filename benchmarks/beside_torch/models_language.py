"""Networks of text in PyTorch: the prefill of a Llama, and a long short-term memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.beside_torch.model import Model, dense, whole

HEADS, KEYS, WIDTH, LAYERS = 12, 2, 32, 4
"""Heads, heads of keys and values, width of a head, and layers of the Llama."""


def turned(x: Tensor, sine: Tensor, cosine: Tensor) -> Tensor:
    """Returns queries or keys turned by their place."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([-second, first], dim=-1) * sine


def llama(
    tokens: Tensor,
    mask: Tensor,
    turns: tuple[Tensor, Tensor],
    embedding: Tensor,
    layers: list[list[Tensor]],
    last: tuple[Tensor, Tensor],
) -> Tensor:
    """Returns logits of all tokens, as the prefill of a Llama computes them."""
    x = F.embedding(tokens, embedding)
    for before, down, gate, up, after, key, out, query, value in layers:
        y = F.rms_norm(x, before.shape, before, eps=1e-6)
        heads = [
            F.linear(y, weight).unflatten(-1, (count, WIDTH)).transpose(1, 2)
            for weight, count in ((query, HEADS), (key, KEYS), (value, KEYS))
        ]
        y = F.scaled_dot_product_attention(
            turned(heads[0], *turns),
            turned(heads[1], *turns),
            heads[2],
            attn_mask=mask,
            enable_gqa=True,
        )
        x = x + F.linear(y.transpose(1, 2).flatten(2), out)
        y = F.rms_norm(x, after.shape, after, eps=1e-6)
        x = x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)
    norm, head = last
    return F.linear(F.rms_norm(x, norm.shape, norm, eps=1e-6), head)


def llama_inputs(*inputs: Tensor) -> tuple[Any, ...]:
    """Returns tokens, the causal mask, sines and cosines of places, and the weights by layer."""
    head, embedding, *weights, norm, tokens, seen = inputs
    size = tokens.shape[1]
    rates = 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    angles = (torch.arange(size)[:, None] * rates).repeat(1, 2)
    allowed = torch.ones(size, size, dtype=torch.bool).tril() & (seen > 0)[:, None, None]
    # Rows without any allowed place become even, as in the program, which adds the least float.
    mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    turned_weights = [dense(weight) if weight.dim() == 2 else weight for weight in weights]
    layers = [turned_weights[9 * layer : 9 * layer + 9] for layer in range(LAYERS)]
    turns = torch.sin(angles), torch.cos(angles)
    return tokens, mask, turns, embedding, layers, (norm, dense(head))


class Memories(torch.nn.Module):
    """Embedding, two layers of long short-term memory, and a projection."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.memory = torch.nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns logits of all tokens."""
        return self.head(self.memory(self.embedding(tokens))[0])


def memories(network: Memories, tokens: Tensor) -> Tensor:
    """Returns logits of all tokens."""
    return network(tokens)


def memory_inputs(*inputs: Tensor) -> tuple[Memories, Tensor]:
    """Returns the network with its weights, and tokens; flax has a matrix for each gate."""
    bias, head, embedding, *cells, tokens = inputs
    network = Memories(*embedding.shape)
    values = {"embedding.weight": embedding, "head.weight": head.T, "head.bias": bias}
    for layer in range(2):
        gates = cells[12 * layer : 12 * layer + 12]
        # Gates are in the order of their names: f, g, i, o; PyTorch's is i, f, g, o.
        hidden_bias, hidden, inner = gates[:8:2], gates[1:8:2], gates[8:]
        order = (2, 0, 1, 3)
        values |= {
            f"memory.weight_ih_l{layer}": torch.cat([inner[gate].T for gate in order]),
            f"memory.weight_hh_l{layer}": torch.cat([hidden[gate].T for gate in order]),
            f"memory.bias_hh_l{layer}": torch.cat([hidden_bias[gate] for gate in order]),
            f"memory.bias_ih_l{layer}": torch.zeros(4 * hidden[0].shape[0]),
        }
    network.load_state_dict(values)
    return network.eval(), tokens


MODELS = (
    Model("llama/l4-h384-a12-gqa/forward-b1-s192", whole(llama), llama_inputs),
    Model("lstm/flax-l2-h256-b4-s128/forward", whole(memories), memory_inputs),
)
"""Networks of text."""
