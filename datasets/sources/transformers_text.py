"""Text models of Hugging Face transformers (Flax classes): GPT-2, BERT and its kin, LLaMA."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipes import Recipe, Task, abstract, array, cast, cross_entropy, key, lower_task

LIBRARY = "transformers"
VOCABULARY = 128

# Small position tables keep attention masks small; what counts here is the structure.
GPT2 = {"vocab_size": VOCABULARY, "n_positions": 64, "use_cache": False}
BERT = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "type_vocab_size": 2}
LLAMA = {"vocab_size": VOCABULARY, "max_position_embeddings": 64, "use_cache": False}


def gpt2(layers: int, hidden: int, heads: int = 4, **options: Any) -> transformers.GPT2Config:
    """Returns a small GPT-2 configuration."""
    sizes = {"n_layer": layers, "n_embd": hidden, "n_head": heads}
    return transformers.GPT2Config(**{**GPT2, **sizes, **options})


def bert(
    layers: int, hidden: int, heads: int = 4, kind: str = "Bert", **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of BERT or of a model built like it."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
    }
    return getattr(transformers, f"{kind}Config")(**{**BERT, **sizes, **options})


def llama(layers: int, hidden: int, heads: int = 4, **options: Any) -> transformers.LlamaConfig:
    """Returns a small LLaMA configuration."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 3 * hidden,
    }
    return transformers.LlamaConfig(**{**LLAMA, **sizes, **options})


def next_token_loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the loss of predicting each token from those before it."""
    return cross_entropy(logits[:, :-1], tokens[:, 1:])


def masked_token_loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the loss over the positions whose label is not negative."""
    chosen = labels >= 0
    log_probabilities = jax.nn.log_softmax(logits.astype(jnp.float32))
    picked = jnp.take_along_axis(log_probabilities, jnp.maximum(labels, 0)[..., None], axis=-1)
    return -jnp.sum(jnp.where(chosen, picked[..., 0], 0.0)) / jnp.maximum(chosen.sum(), 1)


def text_task(
    class_name: str,
    config: transformers.PretrainedConfig,
    loss: Callable[[jax.Array, jax.Array], jax.Array],
    labels: tuple[int, ...],
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    dropout: str | None = None,
    checkpointed: bool = False,
) -> Task:
    """Returns the task of a Flax text model.

    Args:
        class_name: A Flax class of transformers whose output has logits.
        config: Its configuration.
        loss: Takes logits and labels.
        labels: Shape of the labels.
        batch: Sequences in a batch.
        length: Tokens in a sequence.
        dtype: Type of parameters and computation.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        checkpointed: Recompute each layer in the backward pass.
    """
    model = getattr(transformers, class_name)(config, _do_init=False, dtype=dtype)
    if checkpointed:
        model.enable_gradient_checkpointing()

    def logits(params: Any, tokens: jax.Array, mask: jax.Array, *rng: jax.Array) -> jax.Array:
        options = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(tokens, attention_mask=mask, params=params, **options).logits

    tokens = array(batch, length, dtype=jnp.int32)
    return Task(
        params=cast(abstract(model.params_shape_tree), dtype),
        state={},
        batch=(
            tokens,
            tokens,
            array(*labels, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, tokens, mask, labels, *rng: logits(params, tokens, mask),
        loss=lambda params, state, tokens, mask, labels, *rng: (
            loss(logits(params, tokens, mask, *rng), labels),
            state,
        ),
    )


def lower_generation(
    class_name: str, config: transformers.PretrainedConfig, batch: int, length: int, **options: Any
) -> jax.stages.Lowered:
    """Lowers transformers' own decoding loop (greedy, sampled or beam search).

    Args:
        class_name: A Flax class of transformers that can generate.
        config: Its configuration.
        batch: Prompts in a batch.
        length: Tokens in a prompt.
        **options: What `generate` takes; `do_sample` draws from a random key argument.
    """
    model = getattr(transformers, class_name)(config, _do_init=False)
    limits = {"max_new_tokens": 8, "pad_token_id": 0, "eos_token_id": 1, **options}

    def generate(params: Any, tokens: jax.Array, rng: jax.Array) -> jax.Array:
        return model.generate(tokens, params=params, prng_key=rng, **limits).sequences

    params = abstract(model.params_shape_tree)
    rng = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    return jax.jit(generate).lower(params, array(batch, length, dtype=jnp.int32), rng)


def gpt2_recipes() -> Iterator[Recipe]:
    """Yields GPT-2: forward, gradients, training steps and decoding loops."""
    programs = [
        ("l1-h32", "forward", gpt2(1, 32), 2, 16, {}),
        ("l1-h32", "grad", gpt2(1, 32), 2, 16, {}),
        ("l1-h32", "train-sgdm", gpt2(1, 32), 2, 16, {}),
        ("l1-h64", "train-adamw", gpt2(1, 64), 2, 32, {}),
        ("l1-h64-untied", "accumulate-adam", gpt2(1, 64, tie_word_embeddings=False), 2, 16, {}),
        ("l2-h64", "forward", gpt2(2, 64), 4, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "grad", gpt2(2, 64), 4, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "grad", gpt2(2, 64), 2, 32, {"dropout": "rbg"}),
        ("l2-h64", "train-adamw", gpt2(2, 64), 2, 32, {}),
        ("l2-h48-relu", "remat-grad", gpt2(2, 48, activation_function="relu"), 1, 24, {}),
        ("l4-h32", "train-adamw-clip-cosine", gpt2(4, 32), 2, 16, {}),
        ("l12-h48", "train-sgdm", gpt2(12, 48), 2, 32, {}),
    ]
    for model, kind, config, batch, length, options in programs:
        task = partial(
            text_task,
            "FlaxGPT2LMHeadModel",
            config,
            next_token_loss,
            (batch, length),
            batch=batch,
            length=length,
            **options,
        )
        yield program("gpt2", model, kind, batch, length, options, "FlaxGPT2LMHeadModel", task)
    decoding = {
        "greedy-b2-s8": {"do_sample": False},
        "beam3-b1-s8": {"num_beams": 3},
        "sample-topk-b2-s8": {"do_sample": True, "top_k": 8, "temperature": 0.7},
    }
    for variant, options in decoding.items():
        yield generation("gpt2", "l1-h32", variant, "FlaxGPT2LMHeadModel", gpt2(1, 32), options)


def bert_recipes() -> Iterator[Recipe]:
    """Yields BERT, RoBERTa and ELECTRA, which are one family: their layers are the same."""
    masked, classes = masked_token_loss, cross_entropy
    heads = {"mlm": "ForMaskedLM", "cls": "ForSequenceClassification"}
    programs = [
        ("bert-l1-h32", "mlm", "forward", bert(1, 32), 2, 16, {}),
        ("bert-l1-h32", "mlm", "grad", bert(1, 32), 2, 16, {}),
        ("bert-l1-h32", "cls", "train-sgdm", bert(1, 32), 2, 16, {}),
        ("bert-l2-h64", "mlm", "forward", bert(2, 64), 4, 32, {"dtype": jnp.bfloat16}),
        ("bert-l2-h64", "cls", "grad", bert(2, 64), 2, 24, {"dropout": "rbg"}),
        ("bert-l2-h64", "mlm", "train-adamw", bert(2, 64), 2, 32, {}),
        ("bert-l6-h48", "mlm", "train-adamw", bert(6, 48), 2, 32, {}),
        ("roberta-l1-h32", "mlm", "train-adam", bert(1, 32, kind="Roberta"), 2, 16, {}),
        (
            "electra-l2-h32-remat",
            "cls",
            "grad",
            bert(2, 32, kind="Electra"),
            2,
            16,
            {"checkpointed": True},
        ),
    ]
    for model, head, kind, config, batch, length, options in programs:
        name = type(config).__name__.removesuffix("Config")
        class_name = f"Flax{name}{heads[head]}"
        loss, labels = (masked, (batch, length)) if head == "mlm" else (classes, (batch,))
        task = partial(
            text_task, class_name, config, loss, labels, batch=batch, length=length, **options
        )
        yield program("bert", f"{model}-{head}", kind, batch, length, options, class_name, task)


def llama_recipes() -> Iterator[Recipe]:
    """Yields LLaMA: rotary positions, RMS norms, gated units."""
    programs = [
        ("l1-h32", "forward", llama(1, 32), 2, 16, {}),
        ("l1-h32", "grad", llama(1, 32), 2, 16, {}),
        ("l1-h32-gqa", "train-sgdm", llama(1, 32, num_key_value_heads=2), 2, 16, {}),
        ("l2-h64", "forward", llama(2, 64), 2, 32, {"dtype": jnp.bfloat16}),
        ("l2-h64", "train-adamw-clip", llama(2, 64), 2, 32, {}),
    ]
    for model, kind, config, batch, length, options in programs:
        task = partial(
            text_task,
            "FlaxLlamaForCausalLM",
            config,
            next_token_loss,
            (batch, length),
            batch=batch,
            length=length,
            **options,
        )
        yield program("llama", model, kind, batch, length, options, "FlaxLlamaForCausalLM", task)
    yield generation("llama", "l1-h32", "greedy-b1-s8", "FlaxLlamaForCausalLM", llama(1, 32), {})


def program(
    family: str,
    model: str,
    kind: str,
    batch: int,
    length: int,
    options: dict[str, Any],
    class_name: str,
    task: Callable[[], Task],
) -> Recipe:
    """Returns the recipe of one program of a text model."""
    marks = {"dtype": "bf16", "dropout": f"dropout-{options.get('dropout')}"}
    suffix = "".join(f"-{marks[option]}" for option in options if option in marks)
    return Recipe(
        name=f"{family}/{model}/{kind}-b{batch}-s{length}{suffix}",
        family=family,
        library=LIBRARY,
        recipe=f"{class_name} {model}{suffix}; {kind}; batch {batch}, length {length}",
        lower=lambda: lower_task(task(), kind),
    )


def generation(
    family: str,
    model: str,
    variant: str,
    class_name: str,
    config: transformers.PretrainedConfig,
    options: dict[str, Any],
) -> Recipe:
    """Returns the recipe of one decoding loop; `variant` ends in its batch and prompt length."""
    batch, length = (int(part[1:]) for part in variant.split("-")[-2:])
    words = ", ".join(f"{name} {value}" for name, value in options.items())
    return Recipe(
        name=f"{family}/{model}/{variant}",
        family=family,
        library=LIBRARY,
        recipe=f"{class_name}.generate {model}; {variant}; {words or 'greedy'}",
        lower=lambda: lower_generation(class_name, config, batch, length, **options),
    )


def recipes() -> Iterator[Recipe]:
    """Yields every text recipe of this library."""
    yield from gpt2_recipes()
    yield from bert_recipes()
    yield from llama_recipes()
