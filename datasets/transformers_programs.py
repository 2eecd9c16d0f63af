"""Code that the sources of transformers share: text tasks, and names that spell out programs."""

# pyright: reportMissingImports=false
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, abstract, array, cast, key
from tasks import Task, cross_entropy, lower_task, scope_of

LIBRARY = "transformers"
VOCABULARY = 128


def encoder_decoder_sizes(layers: int, hidden: int, heads: int) -> dict[str, int]:
    """Returns the options of a configuration that names its sizes as BART does."""
    return {
        "encoder_layers": layers,
        "decoder_layers": layers,
        "d_model": hidden,
        "encoder_ffn_dim": 2 * hidden,
        "decoder_ffn_dim": 2 * hidden,
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
    }


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
    mixed: bool = False,
    policy: str | None = None,
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
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        policy: What the backward pass need not recompute, a policy of `jax.checkpoint_policies`;
            without it nothing of the loss is recomputed.
    """
    model = getattr(transformers, class_name)(config, _do_init=False, dtype=dtype)
    if checkpointed:
        model.enable_gradient_checkpointing()

    def logits(params: Any, tokens: jax.Array, mask: jax.Array, *rng: jax.Array) -> jax.Array:
        # OPT alone asks for the opposite of what the others ask for.
        training = {"deterministic": False} if "OPT" in class_name else {"train": True}
        options = {"dropout_rng": rng[0], **training} if rng else {}
        return model(tokens, attention_mask=mask, params=params, **options).logits

    def whole_loss(
        params: Any, state: Any, tokens: jax.Array, mask: jax.Array, labels: jax.Array, *rng: Any
    ) -> Any:
        return loss(logits(params, tokens, mask, *rng), labels), state

    tokens = array(batch, length, dtype=jnp.int32)
    recomputed = policy and jax.checkpoint(
        whole_loss, policy=getattr(jax.checkpoint_policies, policy)
    )
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(
            tokens,
            tokens,
            array(*labels, dtype=jnp.int32),
            *([key(dropout)] if dropout else []),
        ),
        forward=lambda params, state, tokens, mask, labels, *rng: logits(params, tokens, mask),
        loss=recomputed or whole_loss,
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
        scope=scope_of(kind),
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
        scope="model",
    )


MARKS: dict[str, dict[str, Any]] = {
    "bf16": {"dtype": jnp.bfloat16},
    "mixed": {"dtype": jnp.bfloat16, "mixed": True},
    "dropout-rbg": {"dropout": "rbg"},
    "dropout-threefry2x32": {"dropout": "threefry2x32"},
    "recompute": {"policy": "nothing_saveable"},
    "recompute-all-but-products": {"policy": "dots_saveable"},
    "recompute-batched-products": {"policy": "dots_with_no_batch_dims_saveable"},
}
"""Meaning of the words at the end of a variant for a task."""


def configured(
    model: str,
    configuration: Callable[..., transformers.PretrainedConfig],
    words: dict[str, dict[str, Any]],
) -> transformers.PretrainedConfig:
    """Returns the configuration that a model's name spells out, as in `l2-h64-a8-relu`.

    Args:
        model: Layers, width and heads by their first letter, then words.
        configuration: Takes layers, width, heads and options.
        words: What each word means for the configuration.
    """
    sizes, options = {"l": 1, "h": 32, "a": 4}, {}
    for word in model.split("-"):
        if word in words:
            options |= words[word]
        else:
            sizes[word[0]] = int(word[1:])
    return configuration(sizes["l"], sizes["h"], sizes["a"], **options)


def read_variant(variant: str, marks: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Returns the kind of program that a variant names, and the options of its task.

    Args:
        variant: A kind of `lower_task`, batch, lengths, then marks: `train-adam-b2-s16-bf16`.
        marks: What each mark means for the task.
    """
    parts = re.fullmatch(r"(.+?)-b(\d+)-s(\d+)(?:-t(\d+))?((?:-.+)?)", variant)
    if parts is None:
        raise ValueError(f"no batch and length in {variant}")
    kind, batch, length, target, rest = parts.groups()
    options: dict[str, Any] = {"batch": int(batch), "length": int(length)}
    if target is not None:
        options["target"] = int(target)
    for mark in sorted(marks, key=len, reverse=True):
        if f"{rest}-".find(f"-{mark}-") >= 0:
            rest = rest.replace(f"-{mark}", "", 1)
            options |= marks[mark]
    if rest:
        raise ValueError(f"unknown marks {rest} in {variant}")
    return kind, options


def spelled(
    family: str,
    model: str,
    description: str,
    task: Callable[..., Task],
    variants: str,
    marks: dict[str, dict[str, Any]] | None = None,
) -> Iterator[Recipe]:
    """Yields the programs of one model whose variants spell out what they are.

    Args:
        family: Model family.
        model: Second part of the benchmarks' names.
        description: Class of the model, and what else its name does not say.
        task: Takes what the variants say: batch, length and the options of marks.
        variants: Variants as `read_variant` takes them, separated by spaces.
        marks: What marks mean; those of `MARKS` without it.
    """
    for variant in variants.split():
        kind, options = read_variant(variant, MARKS if marks is None else marks)
        yield Recipe(
            name=f"{family}/{model}/{variant}",
            family=family,
            library=LIBRARY,
            recipe=f"{description} {model}; {variant}",
            lower=lambda kind=kind, options=options: lower_task(task(**options), kind),
            scope=scope_of(kind),
        )
