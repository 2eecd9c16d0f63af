"""Causal language models of keras-hub: training steps, and decoding by its samplers."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import keras
import keras_hub
from recipe import Recipe
from sources.keras_hub_models import FULL, HALF, MIXED, VOCABULARY, Builder, hub_recipes
from sources.keras_hub_text import POSITIONS, TextModel, text_recipes


def rwkv(layers: int, width: int) -> keras.Model:
    """Returns RWKV-7, which is recurrent; its ranks are as narrow as the rest."""
    ranks = dict.fromkeys(("gate_lora", "mv_lora", "aaa_lora", "decay_lora"), 8)
    sizes = {"head_size": 8, "num_layers": layers, "intermediate_dim": 2 * width}
    return keras_hub.models.RWKV7Backbone(width, vocabulary_size=VOCABULARY, **sizes, **ranks)


def smollm3(layers: int, width: int) -> keras.Model:
    """Returns SmolLM 3, where every second layer goes without rotary positions."""
    return keras_hub.models.SmolLM3Backbone(
        vocabulary_size=VOCABULARY,
        hidden_dim=width,
        intermediate_dim=2 * width,
        num_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        attention_bias=False,
        attention_dropout=0.0,
        rope_layer_enabled_list=[layer % 2 == 0 for layer in range(layers)],
        layer_types=["full_attention"] * layers,
        mlp_bias=False,
        layer_norm_epsilon=1e-6,
        max_position_embeddings=64,
        rope_theta=1e4,
        partial_rotary_factor=1.0,
    )


def recipes() -> Iterator[Recipe]:
    """Yields the causal language models."""
    causal = "CausalLM"
    experts = {"num_experts": 4, "top_k": 2}
    narrow, wide = {**experts, "moe_intermediate_dim": 16}, {**experts, "head_dim": 8}
    shared = {**narrow, "shared_expert_intermediate_dim": 16}
    capped = {
        "attention_logit_soft_cap": 50.0,
        "final_logit_soft_cap": 30.0,
        "use_sliding_window_attention": True,
        "sliding_window_size": 8,
        "use_post_ffw_norm": True,
        "use_post_attention_norm": True,
    }
    models: list[TextModel] = [
        ("gpt2", "GPT2", 1, 32, POSITIONS, FULL, f"{causal}: forward train-sgdm generate-topp"),
        ("gpt2", "GPT2", 2, 32, POSITIONS, FULL, f"{causal}: train-adamw generate-beam"),
        ("gpt2", "GPT2", 3, 32, {**POSITIONS, "dropout": 0.0}, MIXED, f"{causal}: forward grad"),
        ("bloom", "Bloom", 1, 32, {}, FULL, f"{causal}: forward generate-greedy"),
        ("bloom", "Bloom", 2, 32, {"dropout": 0.1}, FULL, f"{causal}: train-adamw"),
        ("opt", "OPT", 1, 32, POSITIONS, FULL, f"{causal}: forward generate-topk"),
        ("opt", "OPT", 2, 32, POSITIONS, FULL, f"{causal}: train-adamw-clip"),
        ("falcon", "Falcon", 1, 32, {}, FULL, f"{causal}: forward generate-random"),
        ("falcon", "Falcon", 2, 32, {}, FULL, f"{causal}: train-adamw grad"),
        ("gpt-neox", "GPTNeoX", 1, 32, {}, FULL, f"{causal}: forward generate-contrastive"),
        ("gpt-neox", "GPTNeoX", 3, 32, {"dropout": 0.1}, FULL, f"{causal}: train-adam"),
        ("llama", "Llama", 2, 32, {}, FULL, f"{causal}: train-adamw generate-beam"),
        ("llama", "Llama3", 1, 32, {}, MIXED, f"{causal}: forward train-sgdm"),
        ("llama", "Mistral", 2, 32, {"sliding_window": 8}, FULL, f"{causal}: forward grad"),
        ("llama", "Gemma", 1, 32, {}, FULL, f"{causal}: forward train-adamw generate-topk"),
        ("llama", "Gemma", 2, 32, capped, FULL, f"{causal}: grad"),
        ("llama", "Gemma3", 2, 32, {"image_size": None}, FULL, f"{causal}: forward train-lion"),
        ("llama", "Phi3", 1, 32, {}, FULL, f"{causal}: forward train-adam"),
        ("llama", "Qwen", 2, 32, {}, HALF, f"{causal}: forward grad"),
        ("llama", "Qwen3", 2, 32, {}, FULL, f"{causal}: forward train-rmsprop"),
        ("llama", "Mixtral", 1, 32, experts, FULL, f"{causal}: forward train-adamw"),
        ("llama", "QwenMoe", 1, 32, shared, FULL, f"{causal}: forward grad"),
        ("llama", "Qwen3Moe", 1, 32, narrow, FULL, f"{causal}: train-adam"),
        ("llama", "GptOss", 1, 32, wide, FULL, f"{causal}: forward grad"),
    ]
    yield from text_recipes(models)
    others: list[tuple[str, str, Builder, str]] = [
        ("rwkv", "rwkv7-l1-h32", partial(rwkv, 1, 32), "forward grad"),
        ("rwkv", "rwkv7-l2-h32", partial(rwkv, 2, 32), "train-adamw"),
        ("llama", "smollm3-l2-h32", partial(smollm3, 2, 32), "forward train-adam"),
    ]
    for family, model, build, kinds in others:
        yield from hub_recipes(family, model, f"{model} of keras-hub", build, kinds)
