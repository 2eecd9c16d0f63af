"""Models of transformers spread over eight devices, as XLA's SPMD partitioner leaves them."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax.numpy as jnp
import transformers
from partitioned import request_devices, sharded_recipes
from recipe import Recipe
from sources.transformers_bert import sized
from sources.transformers_gpt2 import gpt2
from sources.transformers_llama import llama
from sources.transformers_seq2seq import translation_task
from sources.transformers_vision import clip_task, resnet_task
from tasks import Task, cross_entropy
from transformers_programs import masked_token_loss, next_token_loss, text_task

LIBRARY = "transformers"
BATCH, LENGTH = 8, 16

# Tensor parallelism as in Megatron-LM: the first matrix of a pair is split by its outputs, the
# second by its inputs. GPT-2's kernels are stored with outputs first.
GPT2_SPLIT = {
    r"(c_attn|c_fc)/(kernel|bias)": 0,
    r"c_proj/kernel": 1,
    r"wte/embedding": 0,
}
BERT_SPLIT = {
    r"(query|key|value|intermediate/dense)/kernel": 1,
    r"(query|key|value|intermediate/dense)/bias": 0,
    r"output/dense/kernel": 0,
    r"word_embeddings/embedding": 0,
}
LLAMA_SPLIT = {
    r"(q_proj|k_proj|v_proj|gate_proj|up_proj|lm_head)/kernel": 1,
    r"(o_proj|down_proj)/kernel": 0,
    r"embed_tokens/embedding": 0,
}
T5_SPLIT = {r"/(q|k|v|wi|wi_0|wi_1)/kernel": 1, r"/(o|wo)/kernel": 0, r"shared/embedding": 0}
CLIP_SPLIT = {
    r"(q_proj|k_proj|v_proj|fc1)/kernel": 1,
    r"(q_proj|k_proj|v_proj|fc1)/bias": 0,
    r"(out_proj|fc2)/kernel": 0,
}


def t5(layers: int, hidden: int, **options: Any) -> transformers.T5Config:
    """Returns a small T5 configuration."""
    return transformers.T5Config(
        vocab_size=128,
        num_layers=layers,
        d_model=hidden,
        d_ff=2 * hidden,
        d_kv=hidden // 4,
        num_heads=4,
        decoder_start_token_id=0,
        relative_attention_num_buckets=8,
        **options,
    )


def text(class_name: str, config: Any, loss: Any = next_token_loss, **options: Any) -> Task:
    """Returns the task of a text model, one label a token."""
    shape = (BATCH, LENGTH)
    return text_task(class_name, config, loss, shape, batch=BATCH, length=LENGTH, **options)


def classified(class_name: str, config: Any, **options: Any) -> Task:
    """Returns the task of a text model, one label a text."""
    shape = (BATCH,)
    return text_task(
        class_name, config, cross_entropy, shape, batch=BATCH, length=LENGTH, **options
    )


def gpt2_models() -> dict[str, tuple[Callable[[], Task], dict[str, tuple[str, ...]]]]:
    """Returns GPT-2 by name: its task, and its kinds of program by layout."""
    model = partial(text, "FlaxGPT2LMHeadModel")
    return {
        "l1-h32": (
            partial(model, gpt2(1, 32)),
            {"dp8": ("grad",), "tp4": ("forward",), "dp2-tp4": ("hvp",), "sp8": ("grad",)},
        ),
        "l2-h64": (
            partial(model, gpt2(2, 64)),
            {
                "dp8": ("train-adamw",),
                "dp4-tp2": ("train-adamw", "loop-adam"),
                "dp2-tp4": ("forward", "accumulate-adam"),
                "fsdp8": ("train-adamw-clip",),
                "fsdp4-tp2": ("train-lion",),
                "dp2-fsdp2-tp2": ("train-adam",),
                "dp2-sp4": ("grad",),
            },
        ),
        "l2-h64-bf16": (
            partial(model, gpt2(2, 64), dtype=jnp.bfloat16),
            {"fsdp2-tp4": ("remat-grad",), "dp2-sp2-tp2": ("train-sgdm",)},
        ),
        "l2-h64-dropout": (
            partial(model, gpt2(2, 64), dropout="threefry2x32"),
            {"dp4-tp2": ("grad",)},
        ),
        "l12-h32": (partial(model, gpt2(12, 32)), {"fsdp4-tp2": ("train-adamw-clip-cosine",)}),
    }


def bert_models() -> dict[str, tuple[Callable[[], Task], dict[str, tuple[str, ...]]]]:
    """Returns BERT by name: its task, and its kinds of program by layout."""
    masked = partial(text, "FlaxBertForMaskedLM", loss=masked_token_loss)
    classifier = partial(classified, "FlaxBertForSequenceClassification")
    return {
        "bert-l2-h64-mlm": (
            partial(masked, sized("Bert", 2, 64, 4, num_labels=2)),
            {"dp8": ("train-lamb",), "dp4-tp2": ("train-adamw",), "tp8": ("forward",)},
        ),
        "bert-l2-h32-cls": (
            partial(classifier, sized("Bert", 2, 32, 4, num_labels=2)),
            {"fsdp8": ("train-adam",), "dp2-tp4": ("grad",), "dp4-sp2": ("forward",)},
        ),
        "bert-l2-h32-cls-dropout": (
            partial(classifier, sized("Bert", 2, 32, 4, num_labels=2), dropout="rbg"),
            {"dp8": ("train-sgdm",)},
        ),
    }


def llama_models() -> dict[str, tuple[Callable[[], Task], dict[str, tuple[str, ...]]]]:
    """Returns LLaMA by name: its task, and its kinds of program by layout."""
    model = partial(text, "FlaxLlamaForCausalLM")
    return {
        "l2-h64": (
            partial(model, llama(2, 64)),
            {
                "tp4": ("forward",),
                "dp4-tp2": ("train-adamw-clip",),
                "fsdp8": ("grad", "train-adafactor"),
                "dp2-fsdp2-tp2": ("train-lion",),
                "dp2-sp4": ("forward",),
            },
        ),
        "l2-h64-gqa": (
            partial(model, llama(2, 64, num_key_value_heads=2)),
            {"dp4-tp2": ("grad",), "fsdp2-tp4": ("accumulate-adamw",)},
        ),
        "l4-h32-remat": (
            partial(model, llama(4, 32)),
            {"fsdp4-tp2": ("remat-grad",)},
        ),
    }


def other_models() -> list[tuple[Any, ...]]:
    """Returns T5, ViT, CLIP and ResNet: family, name, class, task, size, programs, split."""
    pair = partial(
        translation_task, "FlaxT5ForConditionalGeneration", batch=BATCH, lengths=(LENGTH, 8)
    )
    return [
        (
            "t5",
            "l2-h32",
            "FlaxT5ForConditionalGeneration",
            partial(pair, t5(2, 32)),
            "b8-s16x8",
            {"dp8": ("grad",), "dp4-tp2": ("train-adamw",), "fsdp4-tp2": ("train-adafactor",)},
            T5_SPLIT,
        ),
        (
            "t5",
            "l1-h32-gated",
            "FlaxT5ForConditionalGeneration",
            partial(pair, t5(1, 32, feed_forward_proj="gated-gelu")),
            "b8-s16x8",
            {"dp2-tp4": ("forward",)},
            T5_SPLIT,
        ),
        (
            "clip",
            "l1-h32",
            "FlaxCLIPModel",
            partial(clip_task, 1, 32, batch=8),
            "b8",
            {"dp8": ("train-adamw",), "dp4-tp2": ("grad",), "fsdp8": ("forward",)},
            CLIP_SPLIT,
        ),
        (
            "resnet",
            "basic-1x1",
            "FlaxResNetForImageClassification",
            partial(resnet_task, (1, 1), layer_type="basic", batch=8, size=32),
            "b8",
            {"dp8": ("train-sgdm",), "fsdp8": ("grad",), "dp4-sp2": ("forward",)},
            {},
        ),
        (
            "resnet",
            "bottleneck-2x2",
            "FlaxResNetForImageClassification",
            partial(resnet_task, (2, 2), layer_type="bottleneck", batch=8, size=32),
            "b8",
            {"dp8": ("train-nesterov",), "dp2-fsdp4": ("train-adam",)},
            {},
        ),
    ]


def recipes() -> Iterator[Recipe]:
    """Yields every partitioned model of transformers."""
    request_devices()
    texts = [
        ("gpt2", "FlaxGPT2LMHeadModel", gpt2_models(), GPT2_SPLIT),
        ("bert", "FlaxBert", bert_models(), BERT_SPLIT),
        ("llama", "FlaxLlamaForCausalLM", llama_models(), LLAMA_SPLIT),
    ]
    for family, class_name, models, split in texts:
        for model, (task, programs) in models.items():
            description = f"{class_name} {model}"
            yield from sharded_recipes(
                family, LIBRARY, model, description, task, programs, f"b{BATCH}-s{LENGTH}", split
            )
    for family, model, class_name, task, size, programs, split in other_models():
        description = f"{class_name} {model}"
        yield from sharded_recipes(family, LIBRARY, model, description, task, programs, size, split)
