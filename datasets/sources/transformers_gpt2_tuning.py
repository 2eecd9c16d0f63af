"""GPT-2 as it is tuned: distillation, preferences, reinforcement, adapters, other heads."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
import transformers
from recipe import Recipe, Tree, abstract, array, cast
from sources.transformers_gpt2 import CLASS, WORDS, gpt2
from tasks import Task, cross_entropy
from transformers_programs import configured, next_token_loss, spelled

Config = transformers.PretrainedConfig


def language_model(config: Config, dtype: Any = jnp.float32) -> tuple[Any, Tree]:
    """Returns GPT-2 as a function from parameters and tokens to logits, and its parameters."""
    model: Any = transformers.FlaxGPT2LMHeadModel(config, _do_init=False, dtype=dtype)

    def logits(params: Tree, tokens: jax.Array) -> jax.Array:
        return model(tokens, params=params).logits.astype(jnp.float32)

    return logits, cast(abstract(model.params_shape_tree), dtype)


def log_probabilities(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    """Returns the logarithm of the probability of each token but the first."""
    chosen = jax.nn.log_softmax(logits[:, :-1])
    return jnp.take_along_axis(chosen, tokens[:, 1:, None], axis=-1)[..., 0]


def distillation_task(config: Config, *, batch: int, length: int, dtype: Any = jnp.float32) -> Task:
    """Returns the task of agreeing with a deeper teacher at a temperature, and with the text."""
    logits, params = language_model(config, dtype)
    deeper = gpt2(2 * config.n_layer, config.n_embd, config.n_head)
    teacher_logits, teacher = language_model(deeper)

    def loss(params: Tree, state: Tree, teacher: Tree, tokens: jax.Array) -> Any:
        student = logits(params, tokens)
        wanted = jax.nn.softmax(jax.lax.stop_gradient(teacher_logits(teacher, tokens)) / 2.0)
        agreement = optax.kl_divergence(jax.nn.log_softmax(student / 2.0), wanted).mean()
        return 4.0 * agreement + next_token_loss(student, tokens), state

    return Task(
        params=params,
        state={},
        batch=(teacher, array(batch, length, dtype=jnp.int32)),
        forward=lambda params, state, teacher, tokens: (
            logits(params, tokens).argmax(-1) == teacher_logits(teacher, tokens).argmax(-1)
        ),
        loss=loss,
    )


def preference_task(
    config: Config, *, batch: int, length: int, dtype: Any = jnp.float32, hinge: bool = False
) -> Task:
    """Returns the task of preferring one text to another more than a reference does (DPO)."""
    logits, params = language_model(config, dtype)

    def margin(params: Tree, reference: Tree, good: jax.Array, bad: jax.Array) -> jax.Array:
        both = jnp.concatenate([good, bad])
        ours = log_probabilities(logits(params, both), both).sum(-1)
        theirs = log_probabilities(logits(reference, both), both).sum(-1)
        better, worse = jnp.split(ours - jax.lax.stop_gradient(theirs), 2)
        return 0.1 * (better - worse)

    def loss(params: Tree, state: Tree, reference: Tree, good: Any, bad: Any) -> Any:
        margins = margin(params, reference, good, bad)
        losses = jax.nn.relu(1.0 - margins) if hinge else -jax.nn.log_sigmoid(margins)
        return losses.mean(), state

    tokens = array(batch, length, dtype=jnp.int32)
    return Task(
        params=params,
        state={},
        batch=(params, tokens, tokens),
        forward=lambda params, state, *pair: margin(params, *pair) > 0,
        loss=loss,
    )


def reinforcement_task(
    config: Config, *, batch: int, length: int, dtype: Any = jnp.float32, grouped: bool = False
) -> Task:
    """Returns the task of raising a reward by clipped policy gradients (PPO, or GRPO by groups)."""
    logits, params = language_model(config, dtype)

    def loss(
        params: Tree, state: Tree, reference: Tree, tokens: Any, before: Any, rewards: Any
    ) -> Any:
        scores = logits(params, tokens)
        now = log_probabilities(scores, tokens)
        standard = log_probabilities(logits(reference, tokens), tokens)
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        ratio = jnp.exp(now - before)
        gains = ratio * advantage[:, None], jnp.clip(ratio, 0.8, 1.2) * advantage[:, None]
        gain = jnp.minimum(*gains).mean()
        if grouped:
            away = jax.lax.stop_gradient(standard) - now
            return -gain + 0.04 * (jnp.exp(away) - away - 1).mean(), state
        entropy = -(jax.nn.softmax(scores) * jax.nn.log_softmax(scores)).sum(-1).mean()
        return -gain + 0.1 * (now - standard).mean() - 0.01 * entropy, state

    return Task(
        params=params,
        state={},
        batch=(
            params,
            array(batch, length, dtype=jnp.int32),
            array(batch, length - 1),
            array(batch),
        ),
        forward=lambda params, state, reference, tokens, before, rewards: (
            log_probabilities(logits(params, tokens), tokens) - before
        ),
        loss=loss,
    )


def adapter_task(
    config: Config, *, batch: int, length: int, dtype: Any = jnp.float32, rank: int = 2
) -> Task:
    """Returns next-token prediction that only learns low-rank changes of attention (LoRA)."""
    logits, params = language_model(config, dtype)
    changed = [
        path
        for path, _ in jax.tree_util.tree_leaves_with_path(params)
        if "attn" in jax.tree_util.keystr(path) and "kernel" in jax.tree_util.keystr(path)
    ]

    def merged(adapters: Tree, params: Tree) -> Tree:
        def merge(path: Any, leaf: jax.Array) -> jax.Array:
            if path not in changed:
                return leaf
            down, up = adapters[jax.tree_util.keystr(path)]
            return leaf + (up @ down).astype(leaf.dtype) * 2.0

        return jax.tree_util.tree_map_with_path(merge, params)

    leaves = {
        jax.tree_util.keystr(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
        if path in changed
    }
    adapters = {
        name: (array(rank, leaf.shape[1]), array(leaf.shape[0], rank))
        for name, leaf in leaves.items()
    }
    return Task(
        params=adapters,
        state={},
        batch=(params, array(batch, length, dtype=jnp.int32)),
        forward=lambda adapters, state, params, tokens: logits(merged(adapters, params), tokens),
        loss=lambda adapters, state, params, tokens: (
            next_token_loss(logits(merged(adapters, params), tokens), tokens),
            state,
        ),
    )


def headed_task(
    config: Config, *, batch: int, length: int, dtype: Any = jnp.float32, compare: bool = False
) -> Task:
    """Returns classification by the state of the last token, or a reward model (`compare`)."""
    model: Any = transformers.FlaxGPT2Model(config, _do_init=False, dtype=dtype)
    outputs = 1 if compare else 4

    def scores(params: Tree, tokens: jax.Array, ends: jax.Array) -> jax.Array:
        states = model(tokens, params=params["model"]).last_hidden_state
        last = jnp.take_along_axis(states, ends[:, None, None], axis=1)[:, 0]
        return last.astype(jnp.float32) @ params["head"]

    def loss(params: Tree, state: Tree, tokens: Any, ends: Any, labels: Any) -> Any:
        found = scores(params, tokens, ends)
        if compare:
            better, worse = jnp.split(found[:, 0], 2)
            return -jax.nn.log_sigmoid(better - worse).mean(), state
        return cross_entropy(found, labels), state

    weights = cast(abstract(model.params_shape_tree), dtype)
    numbers = array(batch, dtype=jnp.int32)
    return Task(
        params={"model": weights, "head": array(config.n_embd, outputs)},
        state={},
        batch=(array(batch, length, dtype=jnp.int32), numbers, numbers),
        forward=lambda params, state, tokens, ends, labels: scores(params, tokens, ends),
        loss=loss,
    )


TASKS: dict[str, tuple[Callable[..., Task], dict[str, str]]] = {
    "distil": (
        distillation_task,
        {
            "l1-h32": "train-adamw-b2-s16 grad-b2-s16",
            "l3-h32-relu": "train-adam-clip-b2-s16-bf16",
            "l6-h32": "train-adamw-cosine-b2-s16",
        },
    ),
    "dpo": (
        preference_task,
        {
            "l2-h32": "train-adamw-b2-s16 forward-b2-s16 train-rmsprop-b2-s16-hinge",
            "l4-h32": "train-rmsprop-clip-b2-s16-bf16",
        },
    ),
    "ppo": (
        reinforcement_task,
        {
            "l2-h32": "train-adam-clip-b4-s16 train-adamw-b4-s16-grouped",
            "l4-h48-a6": "train-lion-b4-s16-grouped-bf16 grad-b4-s16",
        },
    ),
    "lora": (
        adapter_task,
        {
            "l2-h32": "train-adamw-b2-s16 forward-b2-s16",
            "l4-h32-silu": "train-adam-b2-s16-bf16",
            "l12-h32": "train-adamw-clip-cosine-b2-s16",
        },
    ),
    "head": (
        headed_task,
        {
            "l2-h32": "train-adamw-b2-s16 train-lamb-b4-s16-compare",
            "l4-h32-gelu": "train-adafactor-b2-s16-bf16 loop-adam-b2-s16",
            "l6-h32": "train-sgdm-b4-s16-compare",
        },
    ),
}
"""Word before a model's name to task, and model to variants."""

MARKS: dict[str, dict[str, Any]] = {
    "bf16": {"dtype": jnp.bfloat16},
    "hinge": {"hinge": True},
    "grouped": {"grouped": True},
    "compare": {"compare": True},
}
"""Meaning of the words at the end of a variant for a task."""


def recipes() -> Iterator[Recipe]:
    """Yields the ways to tune GPT-2."""
    for word, (make, programs) in TASKS.items():
        for model, variants in programs.items():
            task = partial(make, configured(model, gpt2, WORDS))
            description = f"{CLASS}, {make.__name__.replace('_', ' ')},"
            yield from spelled("gpt2", f"{word}-{model}", description, task, variants, MARKS)
