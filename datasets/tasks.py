"""Code that the files in `sources/` share: a model's task, and the programs made from one.

A source describes a model once, as a `Task` (abstract parameters, abstract batch, forward and
loss), and asks for programs by kind: the forward pass, loss and gradient, or a whole training step
with an optimizer. Nothing here allocates weights: parameters are shapes and types only, traced as
arguments, so lowering is quick and no weight can end up in a graph as a constant.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from recipe import Recipe, Scope, Tree


class Task(NamedTuple):
    """A model with something to learn, all arrays abstract.

    Attributes:
        params: What the optimizer updates.
        state: What the forward pass updates (batch statistics); an empty dict when there is none.
        batch: The remaining arguments of `forward` and `loss`, in order.
        forward: `forward(params, state, *batch)`, any outputs.
        loss: `loss(params, state, *batch)`, a scalar and the new state.
    """

    params: Tree
    state: Tree
    batch: tuple[Any, ...]
    forward: Callable[..., Any]
    loss: Callable[..., tuple[jax.Array, Tree]]


OPTIMIZERS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "sgd": partial(optax.sgd, 1e-2),
    "sgdm": partial(optax.sgd, 1e-2, momentum=0.9),
    "nesterov": partial(optax.sgd, 1e-2, momentum=0.9, nesterov=True),
    "adam": partial(optax.adam, 1e-3),
    "adamw": partial(optax.adamw, 1e-3),
    "rmsprop": partial(optax.rmsprop, 1e-3),
    "lion": partial(optax.lion, 1e-4),
    "lamb": partial(optax.lamb, 1e-3),
    "adafactor": partial(optax.adafactor, 1e-3, min_dim_size_to_factor=16),
}
"""Optimizers by the name that they have in a benchmark's variant."""


def optimizer(name: str) -> optax.GradientTransformation:
    """Returns the optimizer of a kind, as in `adamw` or `adamw-clip-cosine`.

    Args:
        name: A key of `OPTIMIZERS`, then `-clip` for clipping by the global norm and `-cosine` for
            a warm-up and cosine schedule.
    """
    base, *extras = name.split("-")
    transform = OPTIMIZERS[base]()
    if "cosine" in extras:
        schedule = optax.warmup_cosine_decay_schedule(0.0, 1.0, 100, 1000)
        transform = optax.chain(transform, optax.scale_by_schedule(schedule))
    if "clip" in extras:
        transform = optax.chain(optax.clip_by_global_norm(1.0), transform)
    return transform


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Returns the mean cross entropy against integer labels, computed in float32."""
    losses = optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), labels)
    return losses.mean()


def lower_task(task: Task, kind: str) -> jax.stages.Lowered:
    """Lowers one program of a task.

    Args:
        task: The model and its loss.
        kind: `forward`; `grad` (loss and gradient); `remat-grad` (the same under
            `jax.checkpoint`); `hvp` (a Hessian-vector product); `per-example-grad` (gradients under
            `vmap`, clipped one by one); `train-OPTIMIZER`; `accumulate-OPTIMIZER` (gradients
            summed by a scan over four micro-batches); `loop-OPTIMIZER` (eight steps in a scan).
    """
    prefix, _, rest = kind.partition("-")
    if prefix == "train":
        return _lower_step(task, optimizer(rest))
    if prefix == "accumulate":
        return _lower_accumulated_step(task, optimizer(rest))
    if prefix == "loop":
        return _lower_training_loop(task, optimizer(rest))
    lowerings: dict[str, Callable[[Task], jax.stages.Lowered]] = {
        "forward": _lower_forward,
        "grad": partial(_lower_gradient, checkpointed=False),
        "remat-grad": partial(_lower_gradient, checkpointed=True),
        "hvp": _lower_hessian_vector_product,
        "per-example-grad": _lower_per_example_gradients,
    }
    return lowerings[kind](task)


def task_recipes(
    family: str,
    library: str,
    model: str,
    description: str,
    task: Callable[[], Task],
    kinds: dict[str, str],
) -> Iterator[Recipe]:
    """Yields one recipe for each kind of program of a task.

    Args:
        family: Model family.
        library: Distribution name of the library.
        model: Second part of the benchmark's name.
        description: The model's class and configuration.
        task: Makes the task; called at lowering, so that listing recipes costs nothing.
        kinds: Variant (third part of the name) to kind, as `lower_task` takes it.
    """
    for variant, kind in kinds.items():
        yield Recipe(
            name=f"{family}/{model}/{variant}",
            family=family,
            library=library,
            recipe=f"{description}; {kind}",
            lower=lambda kind=kind: lower_task(task(), kind),
            scope=scope_of(kind),
        )


def scope_of(kind: str) -> Scope:
    """Returns how much of a program a kind of `lower_task` is, for a whole model."""
    trained = kind.startswith(("train-", "accumulate-", "loop-"))
    return "training-step" if trained else "model"


def _lower_forward(task: Task) -> jax.stages.Lowered:
    """Lowers the forward pass."""

    def forward(params: Tree, state: Tree, *batch: Any) -> Any:
        return task.forward(params, state, *batch)

    return jax.jit(forward).lower(task.params, task.state, *task.batch)


def _lower_gradient(task: Task, checkpointed: bool) -> jax.stages.Lowered:
    """Lowers loss and gradient."""
    loss = jax.checkpoint(task.loss) if checkpointed else task.loss

    def gradient(params: Tree, state: Tree, *batch: Any) -> Any:
        return jax.value_and_grad(loss, has_aux=True)(params, state, *batch)

    return jax.jit(gradient).lower(task.params, task.state, *task.batch)


def _lower_step(task: Task, transform: optax.GradientTransformation) -> jax.stages.Lowered:
    """Lowers gradient, optimizer update and application as one program."""

    def step(params: Tree, state: Tree, moments: Tree, *batch: Any) -> Any:
        (loss, state), gradient = jax.value_and_grad(task.loss, has_aux=True)(params, state, *batch)
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), state, moments, loss

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, task.state, moments, *task.batch)


def _lower_accumulated_step(
    task: Task, transform: optax.GradientTransformation, microbatches: int = 4
) -> jax.stages.Lowered:
    """Lowers a step whose gradient is summed over micro-batches by a scan."""

    def step(params: Tree, state: Tree, moments: Tree, batches: Any) -> Any:
        def add(carry: Any, batch: Any) -> Any:
            total, state = carry
            gradient, state = jax.grad(task.loss, has_aux=True)(params, state, *batch)
            return (jax.tree.map(jnp.add, total, gradient), state), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        (total, state), _ = jax.lax.scan(add, (zeros, state), batches)
        gradient = jax.tree.map(lambda leaf: leaf / microbatches, total)
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), state, moments

    moments = jax.eval_shape(transform.init, task.params)
    batches = _stacked(task.batch, microbatches)
    return jax.jit(step).lower(task.params, task.state, moments, batches)


def _lower_training_loop(
    task: Task, transform: optax.GradientTransformation, steps: int = 8
) -> jax.stages.Lowered:
    """Lowers several training steps as one scan over batches."""

    def loop(params: Tree, state: Tree, moments: Tree, batches: Any) -> Any:
        def step(carry: Any, batch: Any) -> Any:
            params, state, moments = carry
            compute = jax.value_and_grad(task.loss, has_aux=True)
            (loss, state), gradient = compute(params, state, *batch)
            updates, moments = transform.update(gradient, moments, params)
            return (optax.apply_updates(params, updates), state, moments), loss

        return jax.lax.scan(step, (params, state, moments), batches)

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(loop).lower(task.params, task.state, moments, _stacked(task.batch, steps))


def _lower_hessian_vector_product(task: Task) -> jax.stages.Lowered:
    """Lowers forward-over-reverse differentiation along one direction."""

    def product(params: Tree, direction: Tree, state: Tree, *batch: Any) -> Any:
        def gradient(params: Tree) -> Tree:
            return jax.grad(task.loss, has_aux=True)(params, state, *batch)[0]

        return jax.jvp(gradient, (params,), (direction,))[1]

    return jax.jit(product).lower(task.params, task.params, task.state, *task.batch)


def _lower_per_example_gradients(task: Task) -> jax.stages.Lowered:
    """Lowers gradients of single examples, each clipped to norm 1 and then averaged."""

    def clipped_mean(params: Tree, state: Tree, *batch: Any) -> Tree:
        def one(*example: Any) -> Tree:
            single = jax.tree.map(lambda leaf: leaf[None], example)
            gradient = jax.grad(task.loss, has_aux=True)(params, state, *single)[0]
            scale = jnp.minimum(1.0, 1.0 / optax.global_norm(gradient))
            return jax.tree.map(lambda leaf: leaf * scale, gradient)

        return jax.tree.map(lambda leaf: leaf.mean(axis=0), jax.vmap(one)(*batch))

    return jax.jit(clipped_mean).lower(task.params, task.state, *task.batch)


def _stacked(batch: Tree, count: int) -> Tree:
    """Returns a batch with a new leading axis, to be scanned over."""

    def stack(leaf: Any) -> Any:
        return jax.eval_shape(lambda value: jnp.stack([value] * count), leaf)

    return jax.tree.map(stack, batch)
