"""Encoder-decoder models of Hugging Face transformers (Flax classes): T5 and BART."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
import transformers
from recipe import Recipe, abstract, array, cast, key
from tasks import Task, cross_entropy, task_recipes
from transformers.models.longt5 import modeling_flax_longt5
from transformers.models.t5 import modeling_flax_t5
from transformers_programs import encoder_decoder_sizes

LIBRARY = "transformers"


def t5(layers: int, hidden: int, **options: Any) -> transformers.T5Config:
    """Returns a small T5 configuration."""
    sizes = {"num_layers": layers, "d_model": hidden, "d_ff": 2 * hidden, "d_kv": hidden // 4}
    common = {
        "vocab_size": 128,
        "num_heads": 4,
        "decoder_start_token_id": 0,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 32,
    }
    return transformers.T5Config(**{**common, **sizes, **options})


def bart(layers: int, hidden: int, **options: Any) -> transformers.BartConfig:
    """Returns a small BART configuration."""
    sizes = encoder_decoder_sizes(layers, hidden, 4)
    common = {
        "vocab_size": 128,
        "max_position_embeddings": 64,
        "forced_eos_token_id": None,
    }
    return transformers.BartConfig(**{**common, **sizes, **options})


class NumpyWithOldClip:
    """`jax.numpy` with the keywords of `clip` that transformers still uses and JAX removed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(jnp, name)

    @staticmethod
    @wraps(jnp.clip)
    def clip(values: jax.Array, a_min: Any = None, a_max: Any = None) -> jax.Array:
        return jnp.clip(values, min=a_min, max=a_max)


for old_module in (modeling_flax_t5, modeling_flax_longt5):
    setattr(old_module, "jnp", NumpyWithOldClip())  # noqa: B010


def translation_task(
    class_name: str,
    config: transformers.PretrainedConfig,
    *,
    batch: int,
    lengths: tuple[int, int],
    dtype: Any = jnp.float32,
    dropout: str | None = None,
    mixed: bool = False,
    policy: str | None = None,
    checkpointed: bool = False,
) -> Task:
    """Returns the task of predicting target tokens from source tokens.

    Args:
        class_name: A Flax class of transformers for conditional generation.
        config: Its configuration.
        batch: Pairs in a batch.
        lengths: Tokens of a source and of a target.
        dtype: Type of parameters and computation.
        dropout: Implementation of the random key that drives dropout; without it there is none.
        mixed: Keep the parameters in float32 and only compute in `dtype`.
        policy: What the backward pass need not recompute; without it nothing is recomputed.
        checkpointed: Recompute each layer in the backward pass.
    """
    model = getattr(transformers, class_name)(config, _do_init=False, dtype=dtype)
    if checkpointed:
        model.enable_gradient_checkpointing()

    def logits(params: Any, source: jax.Array, target: jax.Array, *rng: jax.Array) -> jax.Array:
        options = {"dropout_rng": rng[0], "train": True} if rng else {}
        return model(source, decoder_input_ids=target, params=params, **options).logits

    def loss(
        params: Any, state: Any, source: jax.Array, target: jax.Array, labels: jax.Array, *rng: Any
    ) -> Any:
        return cross_entropy(logits(params, source, target, *rng), labels), state

    recomputed = policy and jax.checkpoint(loss, policy=getattr(jax.checkpoint_policies, policy))
    source, target = (array(batch, length, dtype=jnp.int32) for length in lengths)
    return Task(
        params=cast(abstract(model.params_shape_tree), jnp.float32 if mixed else dtype),
        state={},
        batch=(source, target, target, *([key(dropout)] if dropout else [])),
        forward=lambda params, state, source, target, *_: logits(params, source, target),
        loss=recomputed or loss,
    )


def lower_generation(
    class_name: str, config: transformers.PretrainedConfig, length: int, **options: Any
) -> jax.stages.Lowered:
    """Lowers transformers' own decoding loop for one source sequence."""
    model = getattr(transformers, class_name)(config, _do_init=False)

    def generate(params: Any, tokens: jax.Array) -> jax.Array:
        return model.generate(tokens, params=params, max_new_tokens=8, **options).sequences

    params = abstract(model.params_shape_tree)
    return jax.jit(generate).lower(params, array(1, length, dtype=jnp.int32))


PROGRAMS: dict[str, tuple[str, Callable[..., Any], list[tuple[str, str, Any, int, Any, dict]]]] = {
    "t5": (
        "FlaxT5ForConditionalGeneration",
        t5,
        [
            ("l1-h32", "forward", (1, 32), 2, (16, 8), {}),
            ("l1-h32", "grad", (1, 32), 2, (16, 8), {}),
            ("l2-h64", "forward", (2, 64), 2, (32, 16), {"dtype": jnp.bfloat16}),
            ("l2-h64", "train-adamw", (2, 64), 2, (24, 12), {"dropout": "rbg"}),
        ],
    ),
    "bart": (
        "FlaxBartForConditionalGeneration",
        bart,
        [
            ("l1-h32", "forward", (1, 32), 2, (16, 8), {}),
            ("l1-h32", "train-sgdm", (1, 32), 2, (16, 8), {"dtype": jnp.bfloat16}),
            ("l2-h48", "train-adam", (2, 48), 2, (24, 12), {}),
        ],
    ),
}
"""Family to class, configuration and (model, kind, sizes, batch, lengths, options)."""


DECODING: dict[str, dict[str, dict[str, Any]]] = {
    "t5": {"greedy-b1-s8": {}, "beam2-b1-s8": {"num_beams": 2}},
    "bart": {"greedy-b1-s8": {}},
}
"""Family to variant to what `generate` takes."""


def recipes() -> Iterator[Recipe]:
    """Yields every encoder-decoder recipe of this library."""
    for family, (class_name, configuration, programs) in PROGRAMS.items():
        for model, kind, sizes, batch, lengths, options in programs:
            marks = ["bf16"] if "dtype" in options else []
            marks += [f"dropout-{options['dropout']}"] if "dropout" in options else []
            shape = f"b{batch}-s{lengths[0]}-t{lengths[1]}"
            config = configuration(*sizes)
            yield from task_recipes(
                family,
                LIBRARY,
                model,
                f"{class_name} {' '.join([model, *marks])}; {shape}",
                partial(
                    translation_task, class_name, config, batch=batch, lengths=lengths, **options
                ),
                {"-".join([kind, shape, *marks]): kind},
            )
        for variant, options in DECODING[family].items():
            yield Recipe(
                name=f"{family}/l1-h32/{variant}",
                family=family,
                library=LIBRARY,
                recipe=f"{class_name}.generate l1-h32; {variant}; 8 new tokens",
                lower=partial(lower_generation, class_name, configuration(1, 32), 8, **options),
                scope="model",
            )
