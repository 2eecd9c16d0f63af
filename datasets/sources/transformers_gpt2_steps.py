"""Training steps of GPT-2 that differ in how parameters are updated: optax beyond the usual."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from optax import contrib
from recipe import Recipe, Tree, array
from sources.transformers_gpt2 import CLASS, WORDS, gpt2, gpt2_task
from tasks import Task, optimizer
from transformers_programs import LIBRARY, MARKS, configured, read_variant


def matrices(params: Tree) -> Tree:
    """Returns which parameters are matrices, that is, neither biases nor scales."""
    return jax.tree.map(lambda leaf: leaf.ndim > 1, params)


def groups(params: Tree) -> Tree:
    """Returns the group of each parameter: `embedding`, `norm` or `layer`."""

    def group(path: Any, _: Any) -> str:
        words = jax.tree_util.keystr(path)
        if "wte" in words or "wpe" in words:
            return "embedding"
        return "norm" if "ln_" in words else "layer"

    return jax.tree_util.tree_map_with_path(group, params)


def partitioned(embedding: Any, norm: Any, layer: Any) -> optax.GradientTransformation:
    """Returns an optimizer with a part for each group of parameters."""
    return optax.partition({"embedding": embedding, "norm": norm, "layer": layer}, groups)


def small_updates(updates: Tree, step: Any, params: Tree) -> tuple[jax.Array, Any]:
    """Returns whether to skip a micro-batch, as `optax.MultiSteps` asks."""
    return optax.skip_large_updates(updates, step, params, max_squared_norm=10.0)


TRANSFORMS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "clip-value": lambda: optax.chain(optax.clip(0.5), optax.adamw(1e-3)),
    "clip-adaptive": lambda: optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(0.1, 0.9)),
    "clip-block": lambda: optax.chain(optax.clip_by_block_rms(1.0), optax.adam(1e-3)),
    "masked-decay": lambda: optax.adamw(1e-3, mask=matrices),
    "freeze-embedding": lambda: partitioned(
        optax.set_to_zero(), optax.adamw(1e-3), optax.adamw(1e-3)
    ),
    "partition": lambda: partitioned(optax.sgd(1e-2), optax.adam(1e-3), optax.adafactor(1e-3)),
    "multisteps": lambda: optax.MultiSteps(optax.adamw(1e-3), 4).gradient_transformation(),
    "multisteps-skip": lambda: optax.MultiSteps(
        optax.lion(1e-4), 2, should_skip_update_fn=small_updates
    ).gradient_transformation(),
    "if-finite": lambda: optax.apply_if_finite(optax.adam(1e-3), 3),
    "zero-nans": lambda: optax.chain(optax.zero_nans(), optax.adamw(1e-3)),
    "centralize": lambda: optax.chain(optax.centralize(), optax.sgd(1e-2, 0.9, nesterov=True)),
    "noise": lambda: optax.noisy_sgd(1e-2, seed=0),
    "update-ema": lambda: optax.chain(optax.adam(1e-3), optax.ema(0.99)),
    "amsgrad": lambda: optax.amsgrad(1e-3),
    "adabelief": lambda: optax.adabelief(1e-3),
    "adagrad": lambda: optax.adagrad(1e-2),
    "adadelta": lambda: optax.adadelta(1.0, weight_decay=1e-4),
    "adamax": lambda: optax.adamax(1e-3),
    "nadam": lambda: optax.nadam(1e-3),
    "yogi": lambda: optax.yogi(1e-3),
    "radam": lambda: optax.radam(1e-3),
    "novograd": lambda: optax.novograd(1e-3, weight_decay=1e-4),
    "fromage": lambda: optax.fromage(1e-3),
    "sm3": lambda: optax.sm3(1e-2),
    "rprop": lambda: optax.rprop(1e-3),
    "adan": lambda: optax.adan(1e-3, weight_decay=1e-2),
    "lars": lambda: optax.lars(0.1, weight_decay=1e-4),
    "signum": lambda: optax.signum(1e-3),
    "optimistic": lambda: optax.optimistic_gradient_descent(1e-2),
    "centred-rms": lambda: optax.rmsprop(1e-3, centered=True, momentum=0.9, nesterov=True),
    "polyak": lambda: optax.polyak_sgd(),
    "lbfgs": lambda: optax.lbfgs(memory_size=4),
    "backtracking": lambda: optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=8)
    ),
    "plateau": lambda: optax.chain(optax.adam(1e-3), contrib.reduce_on_plateau()),
    "inject": lambda: optax.inject_hyperparams(optax.adamw)(
        learning_rate=optax.cosine_onecycle_schedule(1000, 1e-3)
    ),
    "restarts": lambda: optax.sgd(optax.sgdr_schedule([SGDR, SGDR]), momentum=0.9),
    "muon": lambda: contrib.muon(2e-2),
    "prodigy": lambda: contrib.prodigy(),
    "dadapt": lambda: contrib.dadapt_adamw(),
    "schedule-free": lambda: contrib.schedule_free_adamw(2.5e-3, warmup_steps=100),
    "ademamix": lambda: contrib.ademamix(1e-3, weight_decay=1e-2),
    "adopt": lambda: contrib.adopt(1e-3),
    "madgrad": lambda: contrib.madgrad(1e-3),
    "acprop": lambda: contrib.acprop(1e-3),
    "cocob": lambda: contrib.cocob(),
    "dowg": lambda: contrib.dowg(),
    "momo": lambda: contrib.momo_adam(),
    "mechanic": lambda: contrib.mechanize(optax.adam(1.0)),
    "galore": lambda: contrib.galore(1e-3, rank=4),
    "adamw-bf16-moments": lambda: optax.adamw(1e-3, mu_dtype=jnp.bfloat16),
}
"""Optimizers by the name that they have in a variant."""

SGDR = {"init_value": 0.0, "peak_value": 0.1, "warmup_steps": 10, "decay_steps": 100}

PROGRAMS: dict[str, str] = {
    "l1-h32": "lbfgs-b2-s16 mechanic-b2-s16 cocob-b2-s16 muon-b2-s16-bf16",
    "l1-h48-a6-untied": "backtracking-b2-s16 galore-b2-s16 schedule-free-b2-s16 adan-b2-s16",
    "l2-h32": "clip-value-b2-s16 clip-adaptive-b2-s16 masked-decay-b2-s16 multisteps-b2-s16"
    " if-finite-b2-s16 radam-b2-s16 lars-b2-s16 muon-b2-s16 momo-b2-s16 scaled-loss-b2-s16"
    " weight-ema-b2-s16 sharpness-b2-s16",
    "l2-h48-a3-silu": "partition-b2-s16 freeze-embedding-b2-s16-dropout-rbg novograd-b2-s16"
    " plateau-b2-s16 adadelta-b2-s16 ademamix-b2-s16-mixed",
    "l3-h32": "clip-block-b2-s16 centralize-b2-s16 noise-b2-s16 amsgrad-b2-s16 yogi-b2-s16"
    " prodigy-b2-s16 inject-b2-s16 optimistic-b2-s16",
    "l3-h32-relu-untied": "zero-nans-b2-s16-mixed adagrad-b2-s16 sm3-b2-s16 adopt-b2-s16"
    " multisteps-skip-b2-s16 scaled-loss-b2-s16-bf16",
    "l4-h32": "update-ema-b2-s16 adabelief-b2-s16 rprop-b2-s16 madgrad-b2-s16 dadapt-b2-s16"
    " polyak-b2-s16 private-b4-s16",
    "l4-h64-a8": "fromage-b2-s16 signum-b2-s16-bf16 centred-rms-b2-s16 restarts-b2-s16"
    " adamw-bf16-moments-b2-s16",
    "l6-h32": "adamax-b2-s16 nadam-b2-s16-recompute acprop-b2-s16 dowg-b2-s16"
    " weight-ema-b2-s16-mixed",
    "l12-h32": "masked-decay-b2-s16-mixed multisteps-b1-s16 muon-b1-s16",
}
"""Model to variants, which spell out what they are."""


def lower_step(task: Task, transform: optax.GradientTransformation) -> jax.stages.Lowered:
    """Lowers a step for an optimizer that may look at the loss and call it again."""
    transform = optax.with_extra_args_support(transform)

    def step(params: Tree, moments: Tree, *batch: Any) -> Any:
        def value(params: Tree) -> jax.Array:
            return task.loss(params, {}, *batch)[0]

        loss, gradient = jax.value_and_grad(value)(params)
        extra = {"value": loss, "grad": gradient, "value_fn": value}
        updates, moments = transform.update(gradient, moments, params, **extra)
        return optax.apply_updates(params, updates), moments, loss

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, moments, *task.batch)


def lower_scaled_loss(task: Task) -> jax.stages.Lowered:
    """Lowers a step whose loss is scaled up, and skipped and scaled down where that overflows."""
    transform = optimizer("adamw-clip")

    def step(params: Tree, moments: Tree, scale: jax.Array, *batch: Any) -> Any:
        def scaled(params: Tree) -> jax.Array:
            return task.loss(params, {}, *batch)[0] * scale

        gradient = jax.tree.map(lambda leaf: leaf / scale, jax.grad(scaled)(params))
        gradient = jax.tree.map(lambda leaf, like: leaf.astype(like.dtype), gradient, params)
        finite = jnp.array([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient)]).all()

        def apply() -> Any:
            updates, following = transform.update(gradient, moments, params)
            return optax.apply_updates(params, updates), following, scale * 1.001

        return jax.lax.cond(finite, apply, lambda: (params, moments, scale / 2))

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, moments, array(), *task.batch)


def lower_weight_ema(task: Task) -> jax.stages.Lowered:
    """Lowers a step that also keeps a moving average of the parameters."""
    transform = optimizer("adamw-cosine")

    def step(params: Tree, average: Tree, moments: Tree, *batch: Any) -> Any:
        (loss, _), gradient = jax.value_and_grad(task.loss, has_aux=True)(params, {}, *batch)
        updates, moments = transform.update(gradient, moments, params)
        params = optax.apply_updates(params, updates)
        return params, optax.incremental_update(params, average, 0.001), moments, loss

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, task.params, moments, *task.batch)


def lower_sharpness_step(task: Task) -> jax.stages.Lowered:
    """Lowers a step along the gradient at the worst point near by (SAM, both gradients)."""
    transform = optimizer("sgdm")

    def step(params: Tree, moments: Tree, *batch: Any) -> Any:
        gradient = jax.grad(task.loss, has_aux=True)(params, {}, *batch)[0]
        length = 0.05 / optax.global_norm(gradient)
        worse = jax.tree.map(lambda leaf, slope: leaf + length * slope, params, gradient)
        gradient = jax.grad(task.loss, has_aux=True)(worse, {}, *batch)[0]
        updates, moments = transform.update(gradient, moments, params)
        return optax.apply_updates(params, updates), moments

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, moments, *task.batch)


def lower_private_step(task: Task) -> jax.stages.Lowered:
    """Lowers a step with differentially private gradients: clipped one by one, then noised."""
    transform = contrib.dpsgd(1e-2, l2_norm_clip=1.0, noise_multiplier=0.5, seed=0)

    def step(params: Tree, moments: Tree, *batch: Any) -> Any:
        def one(*example: Any) -> Tree:
            single = jax.tree.map(lambda leaf: leaf[None], example)
            return jax.grad(task.loss, has_aux=True)(params, {}, *single)[0]

        updates, moments = transform.update(jax.vmap(one)(*batch), moments, params)
        return optax.apply_updates(params, updates), moments

    moments = jax.eval_shape(transform.init, task.params)
    return jax.jit(step).lower(task.params, moments, *task.batch)


STEPS: dict[str, Callable[[Task], jax.stages.Lowered]] = {
    "scaled-loss": lower_scaled_loss,
    "weight-ema": lower_weight_ema,
    "sharpness": lower_sharpness_step,
    "private": lower_private_step,
}
"""Steps that are more than an optimizer."""


def recipes() -> Iterator[Recipe]:
    """Yields a training step for each of these ways to update parameters."""
    for model, variants in PROGRAMS.items():
        for variant in variants.split():
            kind, options = read_variant(variant, MARKS)
            config = configured(model, gpt2, WORDS)

            def lower(kind: str = kind, config: Any = config, options: Any = options) -> Any:
                task = gpt2_task(config, **options)
                if kind in STEPS:
                    return STEPS[kind](task)
                return lower_step(task, TRANSFORMS[kind]())

            yield Recipe(
                name=f"gpt2/{model}/train-{variant}",
                family="gpt2",
                library=LIBRARY,
                recipe=f"{CLASS} {model}; step {variant}",
                lower=lower,
                scope="training-step",
            )
