"""Text encoders and encoder-decoders of keras-hub, with heads and without; Whisper.

The causal language models take what builds them from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import keras
import keras_hub
from recipe import Recipe
from sources.keras_hub_models import FULL, HALF, MIXED, VOCABULARY, hub_recipes, uncompiled

POSITIONS = {"max_sequence_length": 64}

TextModel = tuple[str, str, int, int, dict[str, Any], str, str]
"""Family, class, layers, width, options, types, programs (of the head before the colon)."""


def backbone(
    name: str, layers: int, width: int, heads: int = 4, **options: Any
) -> keras_hub.models.Backbone:
    """Returns a small backbone; the classes call their sizes by different names.

    Args:
        name: Class without its ending `Backbone`.
        layers: Layers of each stack.
        width: Width of a token.
        heads: Attention heads.
        **options: What only this class takes, or takes otherwise.
    """
    grouped = {"num_query_heads": heads, "num_key_value_heads": heads // 2}
    kinds: dict[str, dict[str, Any]] = {
        "Albert": {"num_heads": heads, "embedding_dim": 16},
        "Electra": {"num_heads": heads, "embedding_dim": 16},
        "Falcon": {"num_attention_heads": heads},
        "FNet": {},
        "RoformerV2": {"num_heads": heads, "head_size": width // heads},
    }
    grouped_names = (
        "Llama Llama3 Mistral Gemma Gemma3 Phi3 Qwen Qwen3 Mixtral QwenMoe Qwen3Moe GptOss"
    )
    kinds |= dict.fromkeys(grouped_names.split(), grouped)
    for wide in ("Gemma", "Gemma3", "Qwen3", "Qwen3Moe"):
        kinds[wide] = {**grouped, "head_dim": width // heads}
    vocabulary = "vocab_size" if name == "Electra" else "vocabulary_size"
    sizes = {
        vocabulary: VOCABULARY,
        "num_layers": layers,
        "hidden_dim": width,
        "intermediate_dim": 2 * width,
        **kinds.get(name, {"num_heads": heads}),
        **options,
    }
    return getattr(keras_hub.models, f"{name}Backbone")(**sizes)


def headed(head: str, name: str, layers: int, width: int, **options: Any) -> keras.Model:
    """Returns a backbone with one of keras-hub's heads, such as `CausalLM`."""
    published = uncompiled(getattr(keras_hub.models, f"{name}{head}"))
    extra = {"num_classes": 4} if head.endswith("Classifier") else {}
    body = backbone(name, layers, width, **options)
    return published(backbone=body, preprocessor=None, **extra)


def text_recipes(models: list[TextModel]) -> Iterator[Recipe]:
    """Yields the programs of text models."""
    for family, name, layers, width, options, policy, programs in models:
        head, _, kinds = programs.rpartition(": ")
        sort = partial(headed, head) if head else backbone
        build = partial(sort, name, layers, width, **options)
        marks = "".join(f"-{mark.replace('_', '-')}" for mark in options if mark != "num_experts")
        marks = "" if options is POSITIONS else marks[:20].rstrip("-")
        model = f"{name}-{head or 'body'}-l{layers}-h{width}{marks}".lower()
        words = ", ".join(f"{option} {value}" for option, value in options.items())
        text = f"{name} {head or 'backbone'} of keras-hub, l{layers} h{width}, {words or 'plain'}"
        yield from hub_recipes(family, model, text, build, kinds, policy=policy)


def t5gemma(layers: int, width: int) -> keras.Model:
    """Returns T5Gemma, an encoder and a decoder of Gemma's layers."""
    sizes: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        sizes |= {
            f"{side}_hidden_dim": width,
            f"{side}_intermediate_dim": 2 * width,
            f"{side}_num_layers": layers,
            f"{side}_num_attention_heads": 4,
            f"{side}_num_key_value_heads": 2,
            f"{side}_head_dim": width // 4,
            f"{side}_layer_types": ["full_attention"] * layers,
        }
    options = {"query_pre_attn_scalar": width // 4, "attn_logit_softcapping": 50.0}
    return keras_hub.models.T5GemmaBackbone(VOCABULARY, **sizes, **options)


def recipes() -> Iterator[Recipe]:
    """Yields the encoders and encoder-decoders."""
    masked, classes = "MaskedLM", "TextClassifier"
    sounds = {"num_mels": 8, "max_encoder_sequence_length": 32, "max_decoder_sequence_length": 32}
    models: list[TextModel] = [
        ("bert", "Bert", 2, 32, POSITIONS, FULL, f"{masked}: forward train-adamw"),
        ("bert", "Bert", 1, 32, POSITIONS, HALF, f"{classes}: forward train-lion"),
        ("bert", "Roberta", 2, 32, POSITIONS, FULL, f"{classes}: train-lamb grad"),
        ("bert", "Roberta", 1, 32, {"dropout": 0.0}, FULL, f"{masked}: loop-adam"),
        ("bert", "Electra", 2, 32, POSITIONS, FULL, "forward train-adam"),
        ("distilbert", "DistilBert", 2, 32, POSITIONS, FULL, f"{masked}: train-sgdm"),
        ("distilbert", "DistilBert", 2, 32, POSITIONS, MIXED, f"{classes}: forward grad"),
        ("albert", "Albert", 3, 32, POSITIONS, FULL, f"{masked}: forward train-adamw"),
        ("albert", "Albert", 4, 32, {"num_groups": 2}, FULL, f"{classes}: grad hvp"),
        ("deberta", "DebertaV3", 1, 32, {"bucket_size": 8}, FULL, f"{classes}: forward grad"),
        ("deberta", "DebertaV3", 2, 32, {"bucket_size": 8}, FULL, f"{masked}: train-adamw"),
        ("fnet", "FNet", 2, 32, POSITIONS, FULL, f"{classes}: forward train-adam"),
        ("fnet", "FNet", 3, 32, {"dropout": 0.0}, FULL, f"{masked}: grad loop-sgdm"),
        ("roformer", "RoformerV2", 2, 32, {}, FULL, f"{classes}: forward train-adamw-clip"),
        ("roformer", "RoformerV2", 3, 32, {"use_bias": True}, FULL, f"{masked}: grad"),
        ("xlnet", "XLNet", 1, 32, {}, FULL, "forward grad"),
        ("xlnet", "XLNet", 2, 32, {"dropout": 0.1}, FULL, "train-adam"),
        ("esm", "ESM", 2, 32, {}, FULL, "forward train-adamw"),
        ("esm", "ESM", 2, 32, {"use_pre_layer_norm": True}, HALF, "grad"),
        ("bart", "Bart", 1, 32, POSITIONS, FULL, "Seq2SeqLM: forward train-adam"),
        ("bart", "Bart", 2, 32, POSITIONS, MIXED, "Seq2SeqLM: grad"),
        ("t5", "T5", 1, 32, {}, FULL, "forward train-adafactor"),
        ("t5", "T5", 2, 32, {"use_gated_activation": False}, FULL, "grad"),
        ("whisper", "Whisper", 1, 32, sounds, FULL, "forward train-adamw"),
        ("whisper", "Whisper", 2, 32, sounds, MIXED, "grad"),
    ]
    yield from text_recipes(models)
    model, build = "t5gemma-l1-h32", partial(t5gemma, 1, 32)
    yield from hub_recipes("llama", model, f"{model} of keras-hub", build, "forward train-adamw")
