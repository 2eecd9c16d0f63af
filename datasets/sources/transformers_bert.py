"""BERT of Hugging Face transformers (Flax) under every head.

The models built like it and the other encoders take their heads from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import transformers
from recipe import Recipe, abstract, array, cast, key
from tasks import Task, cross_entropy
from transformers_programs import (
    MARKS,
    configured,
    masked_token_loss,
    next_token_loss,
    spelled,
)

COMMON = {"vocab_size": 128, "max_position_embeddings": 64, "type_vocab_size": 2, "num_labels": 4}


class Head(NamedTuple):
    """Head on top of an encoder, and its training.

    Attributes:
        suffix: Last part of the class's name.
        loss: Takes the model's output and labels.
        labels: Shape of the labels for a batch and a length.
        kind: Type of the labels.
        choices: Sequences of which each example has to choose one; 0 where there is no choice.
    """

    suffix: str
    loss: Callable[[Any, jax.Array], jax.Array]
    labels: Callable[[int, int], tuple[int, ...]]
    kind: Any = jnp.int32
    choices: int = 0


def per_example(batch: int, length: int) -> tuple[int, ...]:
    """Returns the shape of one label for each example."""
    return (batch,)


def per_token(batch: int, length: int) -> tuple[int, ...]:
    """Returns the shape of one label for each token."""
    return batch, length


def label_loss(output: Any, labels: jax.Array) -> jax.Array:
    """Returns the loss of choosing one of several labels."""
    return cross_entropy(output.logits, labels)


def binary_loss(output: Any, labels: jax.Array) -> jax.Array:
    """Returns the loss of saying yes or no to each label."""
    return optax.sigmoid_binary_cross_entropy(output.logits, labels).mean()


def span_loss(output: Any, labels: jax.Array) -> jax.Array:
    """Returns the loss of pointing at the first and last token of an answer."""
    start = cross_entropy(output.start_logits, labels[:, 0])
    return (start + cross_entropy(output.end_logits, labels[:, 1])) / 2


def pretraining_loss(output: Any, labels: jax.Array) -> jax.Array:
    """Returns the loss of masked tokens and of the order of two sentences."""
    order = output.get("seq_relationship_logits", output.get("sop_logits"))
    return masked_token_loss(output.prediction_logits, labels[:, 1:]) + cross_entropy(
        order, labels[:, 0]
    )


def contrastive_loss(output: Any, labels: jax.Array) -> jax.Array:
    """Returns the loss of telling sentences apart by the embedding of their first token."""
    first = output.last_hidden_state[:, 0].astype(jnp.float32)
    return optax.ntxent(first, labels)


HEADS: dict[str, Head] = {
    "mlm": Head("ForMaskedLM", lambda o, y: masked_token_loss(o.logits, y), per_token),
    "clm": Head("ForCausalLM", lambda o, y: next_token_loss(o.logits, y), per_token),
    "cls": Head("ForSequenceClassification", label_loss, per_example),
    "multilabel": Head("ForSequenceClassification", binary_loss, lambda b, s: (b, 4), jnp.float32),
    "score": Head(
        "ForSequenceClassification",
        lambda o, y: optax.huber_loss(o.logits[:, 0], y).mean(),
        per_example,
        jnp.float32,
    ),
    "tags": Head("ForTokenClassification", label_loss, per_token),
    "qa": Head("ForQuestionAnswering", span_loss, lambda b, s: (b, 2)),
    "choice": Head("ForMultipleChoice", label_loss, per_example, choices=3),
    "pretrain": Head("ForPreTraining", pretraining_loss, lambda b, s: (b, s + 1)),
    "detect": Head("ForPreTraining", binary_loss, per_token, jnp.float32),
    "nsp": Head("ForNextSentencePrediction", label_loss, per_example),
    "embed": Head("Model", contrastive_loss, per_example),
}
"""Heads by the name that they have in a model's name."""


def encoder_task(
    class_prefix: str,
    head: Head,
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    length: int,
    dtype: Any = jnp.float32,
    mixed: bool = False,
    dropout: str | None = None,
    policy: str | None = None,
    checkpointed: bool = False,
    sparse: bool = False,
) -> Task:
    """Returns the task of an encoder under a head.

    Args:
        class_prefix: First part of the class's name, as in `FlaxAlbert`.
        head: What is on top.
        config: The encoder's configuration.
        batch: Examples in a batch.
        length: Tokens in a sequence.
        dtype: Type of parameters and computation.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        policy: What the backward pass need not recompute; without it nothing is recomputed.
        checkpointed: Recompute each layer in the backward pass.
        sparse: Dropout's key also draws blocks to attend to (BigBird).
    """
    model: Any = getattr(transformers, class_prefix + head.suffix)(
        config, _do_init=False, dtype=dtype
    )
    if checkpointed:
        model.enable_gradient_checkpointing()

    def run(params: Any, tokens: jax.Array, mask: jax.Array, segments: Any, *rng: Any) -> Any:
        options: dict[str, Any] = {"dropout_rng": rng[0], "train": True} if rng else {}
        if rng and sparse:
            options["indices_rng"] = rng[0]
        if "DistilBert" not in class_prefix:
            options["token_type_ids"] = segments
        return model(tokens, attention_mask=mask, params=params, **options)

    def loss(
        params: Any, state: Any, tokens: Any, mask: Any, segments: Any, labels: Any, *rng: Any
    ) -> Any:
        return head.loss(run(params, tokens, mask, segments, *rng), labels), state

    tokens = array(*(n for n in (batch, head.choices, length) if n), dtype=jnp.int32)
    labels = array(*head.labels(batch, length), dtype=head.kind)
    if policy is not None:
        loss = jax.checkpoint(loss, policy=getattr(jax.checkpoint_policies, policy))
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(tokens, tokens, tokens, labels, *([key(dropout)] if dropout else [])),
        forward=lambda params, state, tokens, mask, segments, *_: run(
            params, tokens, mask, segments
        ).to_tuple(),
        loss=loss,
    )


def sized(
    kind: str, layers: int, hidden: int, heads: int, **options: Any
) -> transformers.PretrainedConfig:
    """Returns a small configuration of an encoder that names its sizes as BERT does."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "intermediate_size": 4 * hidden,
    }
    return getattr(transformers, f"{kind}Config")(**{**COMMON, **sizes, **options})


def head_recipes(
    family: str,
    prefix: str,
    class_prefix: str,
    configuration: Callable[..., Any],
    words: dict[str, dict[str, Any]],
    programs: dict[str, str],
) -> Iterator[Recipe]:
    """Yields programs of one encoder; the last word of a model's name is its head."""
    for model, variants in programs.items():
        body, _, name = model.rpartition("-")
        config = configured(body, configuration, words)
        config.num_labels = {"score": 1, "qa": 2}.get(name, 4)
        task = partial(encoder_task, class_prefix, HEADS[name], config)
        if "BigBird" in class_prefix:
            task = partial(task, sparse=config.attention_type == "block_sparse")
        class_name = class_prefix + HEADS[name].suffix
        marks = MARKS | {"layerwise": {"checkpointed": True}}
        yield from spelled(family, prefix + model, class_name, task, variants, marks)


WORDS: dict[str, dict[str, Any]] = {
    "causal": {"is_decoder": True},
    "relu": {"hidden_act": "relu"},
    "silu": {"hidden_act": "silu"},
    "gelunew": {"hidden_act": "gelu_new"},
    "untied": {"tie_word_embeddings": False},
    "nodrop": {"hidden_dropout_prob": 0.0},
    "e16": {"embedding_size": 16},
}
"""Meaning of the words of a model's name for its configuration."""

PROGRAMS: dict[str, str] = {
    "l1-h32-pretrain": "train-lamb-b2-s16 hvp-b2-s16",
    "l2-h32-nsp": "train-sgdm-b2-s16 forward-b2-s16-bf16",
    "l2-h32-relu-tags": "train-adam-b2-s16-bf16 per-example-grad-b2-s16",
    "l2-h48-a6-qa": "train-adamw-clip-b2-s24-dropout-rbg grad-b2-s16",
    "l3-h32-silu-choice": "train-lion-b2-s16 remat-grad-b2-s16",
    "l3-h32-untied-mlm": "train-adafactor-b2-s16-mixed loop-adamw-b2-s16",
    "l2-h32-causal-clm": "train-adamw-b2-s16 grad-b2-s16-bf16 accumulate-adamw-b2-s16",
    "l4-h32-pretrain": "train-lamb-clip-cosine-b2-s16-layerwise",
    "l4-h32-nodrop-mlm": "train-rmsprop-b2-s16-dropout-threefry2x32",
    "l2-h32-multilabel": "train-nesterov-b2-s16-recompute",
    "l12-h32-mlm": "train-lamb-cosine-b2-s16 forward-b2-s16",
    "l2-h32-embed": "train-adam-b4-s16",
    "l2-h32-score": "train-sgd-clip-b2-s16",
}
"""Model to variants; both spell out what they are."""


def bert_recipes(kind: str, programs: dict[str, str]) -> Iterator[Recipe]:
    """Yields programs of one kind of model of BERT's family, from its models to their variants."""
    configuration = partial(sized, kind, pad_token_id=0, eos_token_id=1)
    prefix = f"{kind.lower()}-"
    yield from head_recipes("bert", prefix, f"Flax{kind}", configuration, WORDS, programs)


def recipes() -> Iterator[Recipe]:
    """Yields BERT under its heads."""
    yield from bert_recipes("Bert", PROGRAMS)
