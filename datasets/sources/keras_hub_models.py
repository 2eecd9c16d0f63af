"""Programs of keras-hub's models, and Moonshine, its model of speech.

The other files of keras-hub take what makes their programs from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import keras
import keras_hub
from recipe import Recipe, array
from sources.keras_applications import POLICY_MARKS, shapes, unallocated
from tasks import Task, cross_entropy, lower_task, scope_of

LIBRARY = "keras-hub"
VOCABULARY = 128
FULL, HALF, MIXED = "float32", "bfloat16", "mixed_bfloat16"

Builder = Callable[[], keras.Model]


def uncompiled(published: type[keras.Model]) -> type[keras.Model]:
    """Returns a class of keras-hub that does not compile itself as it is made.

    The optimizer that it would come with has variables, which cannot be left open.
    """
    return type(published.__name__, (published,), {"compile": lambda self, *args, **options: None})


def output_of(outputs: Any) -> jax.Array:
    """Returns the array that a loss looks at: logits, or the states of the last stack."""
    if not isinstance(outputs, dict):
        return jax.tree.leaves(outputs)[-1]
    for name in ("decoder_sequence_output", "sequence_output"):
        if name in outputs:
            return outputs[name]
    return outputs[sorted(outputs)[-1]]


def inputs_of(model: keras.Model, *, batch: int, length: int) -> Any:
    """Returns a model's inputs, abstract, with every open size but the batch set to `length`."""

    def leaf(tensor: Any) -> Any:
        sizes = [length if size is None else size for size in tensor.shape[1:]]
        return array(batch, *sizes, dtype=jnp.dtype(tensor.dtype))

    return jax.tree.map(leaf, model.input)


def model_task(build: Builder, *, policy: str, batch: int, length: int) -> Task:
    """Returns the task of a model: cross entropy for logits, squared error for hidden states.

    Args:
        build: Makes the model.
        policy: Keras's types of variables and computation.
        batch: Examples in a batch.
        length: Open sizes of the inputs, such as tokens in a text.
    """
    model = unallocated(build, policy)
    params, state = shapes(model.trainable_variables), shapes(model.non_trainable_variables)
    inputs = inputs_of(model, batch=batch, length=length)

    def call(params: Any, state: Any, inputs: Any, training: bool) -> Any:
        outputs, state, *_ = model.stateless_call(params, state, inputs, training=training)
        return outputs, state

    forward = partial(call, training=False)
    target = jax.eval_shape(lambda *args: output_of(forward(*args)[0]), params, state, inputs)
    scored = isinstance(model, keras_hub.models.Task)
    labels = array(*target.shape[:-1], dtype=jnp.int32) if scored else array(*target.shape)

    def loss(params: Any, state: Any, inputs: Any, labels: jax.Array) -> Any:
        outputs, state = call(params, state, inputs, True)
        output = output_of(outputs)
        if scored:
            return cross_entropy(output, labels), state
        return jnp.mean((output.astype(jnp.float32) - labels) ** 2), state

    return Task(
        params=params,
        state=state,
        batch=(inputs, labels),
        forward=lambda params, state, inputs, labels: forward(params, state, inputs)[0],
        loss=loss,
    )


def lower_generation(
    build: Builder, sampler: keras_hub.samplers.Sampler, *, batch: int, length: int
) -> jax.stages.Lowered:
    """Lowers keras-hub's own decoding loop over its key and value cache.

    Args:
        build: Makes a causal language model.
        sampler: How the next token is chosen.
        batch: Texts in a batch.
        length: Tokens in a text, prompt included.
    """
    model = unallocated(build)
    # The published class's own, behind that of `uncompiled`.
    super(type(model), model).compile(sampler=sampler)
    variables = [*model.variables, *sampler.variables]
    inputs = inputs_of(model, batch=batch, length=length)

    def generate(values: Any, inputs: Any) -> Any:
        mapping = zip(variables, values, strict=True)
        with keras.StatelessScope(state_mapping=mapping):
            return model.generate_step(inputs, stop_token_ids=[1])

    return jax.jit(generate).lower(shapes(variables), inputs)


SAMPLERS: dict[str, Callable[[], keras_hub.samplers.Sampler]] = {
    "greedy": keras_hub.samplers.GreedySampler,
    "topk": partial(keras_hub.samplers.TopKSampler, k=5, seed=0),
    "topp": partial(keras_hub.samplers.TopPSampler, p=0.9, seed=0),
    "random": partial(keras_hub.samplers.RandomSampler, temperature=0.7, seed=0),
    "beam": partial(keras_hub.samplers.BeamSampler, num_beams=2),
    "contrastive": partial(keras_hub.samplers.ContrastiveSampler, k=2, alpha=0.6),
}
"""Decoding strategies by the name that they have after `generate-`."""


def hub_recipes(
    family: str,
    model: str,
    words: str,
    build: Builder,
    kinds: str,
    *,
    batch: int = 2,
    length: int | None = 16,
    policy: str = FULL,
) -> Iterator[Recipe]:
    """Yields one recipe for each kind of program of a model.

    Args:
        family: Model family.
        model: Second part of the benchmark's name.
        words: The model's class and configuration.
        build: Makes the model.
        kinds: Kinds as `lower_task` takes them or `generate-SAMPLER`, with blanks between.
        batch: Examples in a batch.
        length: Open sizes of the inputs; images have none but those of their captions.
        policy: Keras's types of variables and computation.
    """
    mark = f"-s{length}" if length else ""
    sizes = f"batch {batch}, length {length}" if length else f"batch {batch}"
    length = length or 16

    def lower(kind: str) -> jax.stages.Lowered:
        if kind.startswith("generate-"):
            sampler = SAMPLERS[kind.removeprefix("generate-")]()
            return lower_generation(build, sampler, batch=batch, length=length)
        return lower_task(model_task(build, policy=policy, batch=batch, length=length), kind)

    for kind in kinds.split():
        yield Recipe(
            name=f"{family}/keras-hub-{model}/{kind}-b{batch}{mark}{POLICY_MARKS[policy]}",
            family=family,
            library=LIBRARY,
            recipe=f"{words}, {sizes}, {policy}; {kind}",
            lower=partial(lower, kind),
            scope=scope_of(kind),
        )


def moonshine(layers: int, width: int) -> keras.Model:
    """Returns Moonshine, speech recognition from the samples of a sound."""
    return keras_hub.models.MoonshineBackbone(
        vocabulary_size=VOCABULARY,
        filter_dim=width,
        encoder_num_layers=layers,
        decoder_num_layers=layers,
        hidden_dim=width,
        intermediate_dim=2 * width,
        encoder_num_heads=4,
        decoder_num_heads=4,
    )


def recipes() -> Iterator[Recipe]:
    """Yields Moonshine."""
    for layers, kinds in ((1, "forward train-adamw"), (2, "grad")):
        model, build = f"l{layers}-h32", partial(moonshine, layers, 32)
        words = f"{model} of keras-hub"
        yield from hub_recipes("moonshine", model, words, build, kinds, length=1024)
