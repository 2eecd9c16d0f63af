"""Mixtures of experts, text models of keras-hub, and networks on graphs."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from recipe import Recipe
from sources.flax_linen import experts_task
from sources.flax_nnx import graph_task
from sources.jraph_networks import (
    Layer,
    Sizes,
    attention,
    convolutions,
    edge_attention,
    graph_network,
    interactions,
    task,
)
from sources.keras_hub_models import hub_recipes
from sources.keras_hub_text import headed
from tasks import Task, task_recipes

LIBRARY = "keras-hub"
VOCABULARY = {"vocabulary_size": 4096}

Row = tuple[str, str, str, Callable[[], Task], str]
"""Family, library, model, its task, and kinds of programs."""


def text_models() -> Iterator[Recipe]:
    """Yields the text models of keras-hub."""
    causal, masked = "CausalLM", "MaskedLM"
    experts = {"num_experts": 8, "top_k": 2, **VOCABULARY}
    shared = {**experts, "moe_intermediate_dim": 128, "shared_expert_intermediate_dim": 256}
    positions = {"max_sequence_length": 512, **VOCABULARY}
    buckets = {"bucket_size": 32, **positions}
    models: list[tuple[str, str, str, int, int, dict[str, Any], int, int, str]] = [
        # Family, class, head, layers, width, options, batch, length, programs.
        ("mixtral", "Mixtral", causal, 2, 256, experts, 1, 128, "forward train-adamw"),
        ("mixtral", "QwenMoe", causal, 2, 256, shared, 1, 128, "forward"),
        ("deberta", "DebertaV3", masked, 2, 256, buckets, 1, 128, "forward grad"),
        ("fnet", "FNet", masked, 4, 256, positions, 2, 128, "forward train-adam"),
        ("gemma", "Gemma3", causal, 3, 256, {"image_size": None, **VOCABULARY}, 1, 256, "forward"),
        ("gpt-neox", "GPTNeoX", causal, 4, 256, VOCABULARY, 2, 128, "forward train-adam"),
        ("falcon", "Falcon", causal, 4, 256, VOCABULARY, 1, 256, "forward"),
    ]
    for family, name, head, layers, width, options, batch, length, kinds in models:
        build = partial(headed, head, name, layers, width, **options)
        model = f"{name}-l{layers}-h{width}".lower()
        words = f"{name}{head} of keras-hub, l{layers} h{width}, vocabulary 4096"
        yield from hub_recipes(family, model, words, build, kinds, batch=batch, length=length)


def graph_nets() -> Iterator[Row]:
    """Yields the networks on graphs."""
    sizes, batch = Sizes(2048, 8192, 32), "n2048-e8192"

    def net(layer: Layer, target: str, plain: bool) -> Callable[[], Task]:
        return partial(task, lambda: layer, target, plain, sizes=sizes)

    yield from (
        (
            "graph-network",
            "jraph",
            f"block-r3-h64-{batch}",
            net(graph_network(64, 3), "globals", False),
            "forward train-adam",
        ),
        (
            "graph-network",
            "jraph",
            f"mean-r2-h64-{batch}",
            net(graph_network(64, 2, "mean", norm=True), "edges", False),
            "grad",
        ),
        (
            "graph-network",
            "jraph",
            f"edge-attention-r2-h64-{batch}",
            net(edge_attention(64, 2), "globals", False),
            "forward train-adam",
        ),
        (
            "interaction-network",
            "jraph",
            f"r3-h64-{batch}",
            net(interactions(64, 3, True), "nodes", False),
            "forward train-adam",
        ),
        (
            "graph-attention",
            "jraph",
            f"gat-r2-h64-{batch}",
            net(attention(64, 2, True), "nodes", False),
            "train-adamw",
        ),
        (
            "graph-attention",
            "flax",
            "gat-l3-h128-n4096-e16384",
            partial(graph_task, 3, 128, attention=True, nodes=4096, edges=16384),
            "forward train-adamw",
        ),
        (
            "graph-convolution",
            "jraph",
            f"r3-h128-{batch}",
            net(convolutions(128, 3, True, True), "nodes", True),
            "forward train-adam",
        ),
        (
            "graph-convolution",
            "flax",
            "l4-h128-n4096-e16384",
            partial(graph_task, 4, 128, attention=False, nodes=4096, edges=16384),
            "forward",
        ),
    )


def recipes() -> Iterator[Recipe]:
    """Yields the mixtures of experts, the text models and the networks on graphs."""
    yield from text_models()
    top_1 = partial(experts_task, 4, 128, layers=3, hidden=256, experts=8, chosen=1)
    top_2 = partial(experts_task, 2, 256, layers=2, hidden=256, experts=16, chosen=2)
    rows: list[Row] = [
        ("moe", "flax", "l3-h256-e8-k1-b4-s128", top_1, "forward train-adamw"),
        ("moe", "flax", "l2-h256-e16-k2-b2-s256", top_2, "forward grad"),
        *graph_nets(),
    ]
    for family, library, model, make, kinds in rows:
        words = f"{family} of {library}, {model}"
        kinds_by_variant = {kind: kind for kind in kinds.split()}
        yield from task_recipes(
            family, library, f"{library}-{model}", words, make, kinds_by_variant
        )
