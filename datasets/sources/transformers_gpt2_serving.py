"""GPT-2 as it is served and evaluated: cached steps, decoding loops, perplexity."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, Tree, abstract, array
from sources.transformers_gpt2 import CLASS, WORDS, gpt2
from sources.transformers_gpt2_tuning import Config, language_model, log_probabilities
from transformers_programs import LIBRARY, configured, generation


def lower_cached_step(
    config: Config, batch: int, capacity: int, sampled: bool
) -> jax.stages.Lowered:
    """Lowers one step of serving: a token, the cache of those before it, the next token."""
    model: Any = transformers.FlaxGPT2LMHeadModel(config, _do_init=False)

    def step(params: Tree, cache: Tree, token: jax.Array, place: jax.Array, rng: Any) -> Any:
        mask = jnp.broadcast_to(jnp.arange(capacity) <= place, (batch, capacity))
        where = jnp.broadcast_to(place, (batch, 1))
        output = model(token, mask, position_ids=where, past_key_values=cache, params=params)
        scores = output.logits[:, -1]
        following = jax.random.categorical(rng, scores / 0.8) if sampled else scores.argmax(-1)
        return following[:, None].astype(token.dtype), output.past_key_values, place + 1

    cache = jax.eval_shape(lambda: model.init_cache(batch, capacity))
    rng = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    tokens, place = array(batch, 1, dtype=jnp.int32), array(dtype=jnp.int32)
    params = abstract(model.params_shape_tree)
    return jax.jit(step).lower(params, cache, tokens, place, rng)


def lower_perplexity(config: Config, batches: int, batch: int, length: int) -> jax.stages.Lowered:
    """Lowers the evaluation of a corpus in batches, by a scan that adds up the losses."""
    logits, params = language_model(config)

    def perplexity(params: Tree, corpus: jax.Array, lengths: jax.Array) -> jax.Array:
        def add(carry: Any, batch: Any) -> Any:
            tokens, ends = batch
            inside = jnp.arange(1, length) < ends[:, None]
            found = log_probabilities(logits(params, tokens), tokens)
            return (carry[0] - (found * inside).sum(), carry[1] + inside.sum()), None

        total, _ = jax.lax.scan(add, (0.0, 0), (corpus, lengths))
        return jnp.exp(total[0] / total[1])

    corpus = array(batches, batch, length, dtype=jnp.int32)
    return jax.jit(perplexity).lower(params, corpus, array(batches, batch, dtype=jnp.int32))


def lower_inspection(config: Config, batch: int, length: int) -> jax.stages.Lowered:
    """Lowers the forward pass with every layer's states and attention, and what they sum up to."""
    model: Any = transformers.FlaxGPT2LMHeadModel(config, _do_init=False)

    def inspect(params: Tree, tokens: jax.Array, mask: jax.Array) -> Any:
        output = model(
            tokens, mask, params=params, output_hidden_states=True, output_attentions=True
        )
        entropy = [-(a * jnp.log(a + 1e-9)).sum(-1).mean((0, 2)) for a in output.attentions]
        norms = [jnp.linalg.norm(states, axis=-1) for states in output.hidden_states]
        return output.logits, jnp.stack(entropy), jnp.stack(norms)

    tokens = array(batch, length, dtype=jnp.int32)
    return jax.jit(inspect).lower(abstract(model.params_shape_tree), tokens, tokens)


def lower_early_exit(config: Config, batch: int, length: int) -> jax.stages.Lowered:
    """Lowers the readings of every layer's states by the last layer's head (logit lens)."""
    model: Any = transformers.FlaxGPT2Model(config, _do_init=False)

    def read(params: Tree, tokens: jax.Array) -> Any:
        output = model(tokens, params=params, output_hidden_states=True)

        def one(states: jax.Array) -> jax.Array:
            return jax.nn.softmax(states @ params["wte"]["embedding"].T).max(-1)

        return jax.lax.map(one, jnp.stack(output.hidden_states))

    tokens = array(batch, length, dtype=jnp.int32)
    return jax.jit(read).lower(abstract(model.params_shape_tree), tokens)


PROGRAMS: dict[str, dict[str, Callable[[Config], jax.stages.Lowered]]] = {
    "l2-h32": {
        "cached-step-b2-s16": partial(lower_cached_step, batch=2, capacity=16, sampled=False),
        "perplexity-b2-s16": partial(lower_perplexity, batches=8, batch=2, length=16),
        "inspect-b2-s16": partial(lower_inspection, batch=2, length=16),
    },
    "l4-h32-relu": {
        "sampled-step-b1-s32": partial(lower_cached_step, batch=1, capacity=32, sampled=True),
        "early-exit-b2-s16": partial(lower_early_exit, batch=2, length=16),
    },
    "l6-h32-silu": {
        "perplexity-b4-s32": partial(lower_perplexity, batches=4, batch=4, length=32),
        "inspect-b1-s32": partial(lower_inspection, batch=1, length=32),
    },
    "l12-h32": {
        "cached-step-b4-s32": partial(lower_cached_step, batch=4, capacity=32, sampled=False),
    },
}
"""Model to variant to how it is lowered."""

DECODING: dict[str, dict[str, dict[str, Any]]] = {
    "l2-h32": {
        "sample-topp-b2-s8": {"do_sample": True, "top_p": 0.9, "top_k": 0},
        "beam4-b2-s8": {"num_beams": 4, "length_penalty": 0.6, "early_stopping": True},
        "greedy-minlength-b1-s8": {"min_length": 12, "forced_eos_token_id": 1},
    },
    "l3-h32-untied": {
        "sample-all-b4-s4": {"do_sample": True, "top_k": 16, "top_p": 0.95, "temperature": 1.3},
    },
    "l6-h32": {
        "greedy-b1-s16": {},
        "beam2-returned2-b1-s8": {"num_beams": 2, "num_return_sequences": 2},
    },
}
"""Model to variant to what `generate` takes."""


def recipes() -> Iterator[Recipe]:
    """Yields the ways to serve and evaluate GPT-2."""
    for model, programs in PROGRAMS.items():
        for variant, lower in programs.items():
            yield Recipe(
                name=f"gpt2/{model}/{variant}",
                family="gpt2",
                library=LIBRARY,
                recipe=f"{CLASS} {model}; {variant}",
                lower=partial(lower, configured(model, gpt2, WORDS)),
                scope="model",
            )
    for model, loops in DECODING.items():
        config = configured(model, gpt2, WORDS)
        for variant, options in loops.items():
            yield generation("gpt2", model, variant, CLASS, config, options)
