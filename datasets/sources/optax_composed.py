"""Second-order, composed and private optimizers of optax, as training steps of small networks."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib as contrib
from recipe import Recipe, array
from sources.optax_optimizers import BATCH, LIBRARY, NETWORKS, RATE, Optimizer, optimizer_recipes
from tasks import cross_entropy


def second_order() -> dict[str, Optimizer]:
    """Returns optimizers that look at curvature, at lines or at whole matrices."""
    return {
        "lbfgs": lambda: optax.lbfgs(memory_size=5),
        "lbfgs-backtracking": lambda: optax.lbfgs(
            RATE,
            memory_size=3,
            linesearch=optax.scale_by_backtracking_linesearch(10, store_grad=True),
        ),
        "sgd-zoom": lambda: optax.chain(
            optax.sgd(1.0), optax.scale_by_zoom_linesearch(10, approx_dec_rtol=1e-4)
        ),
        "adam-backtracking": lambda: optax.chain(
            optax.adam(1.0), optax.scale_by_backtracking_linesearch(8)
        ),
        "sophia": lambda: contrib.sophia(RATE),
        "muon-nesterov": lambda: contrib.muon(RATE),
        "muon-decayed": lambda: contrib.muon(RATE, nesterov=False, ns_steps=3, weight_decay=1e-2),
        "galore": lambda: contrib.galore(RATE, rank=4, update_proj_gap=10),
        "adafactor-momentum": lambda: optax.adafactor(
            RATE, min_dim_size_to_factor=8, momentum=0.9, weight_decay_rate=1e-3
        ),
        "normalized-sgd": lambda: optax.chain(contrib.normalize(), optax.sgd(RATE)),
    }


def composed() -> dict[str, Optimizer]:
    """Returns optimizers put together from others, with schedules, masks and the like."""
    schedule = optax.sgdr_schedule(
        [{"init_value": 0.0, "peak_value": 1e-2, "decay_steps": 50, "warmup_steps": 5}] * 3
    )
    piecewise = optax.piecewise_interpolate_schedule("cosine", 1e-2, {20: 0.5, 60: 0.1})
    joined = optax.join_schedules(
        [optax.linear_schedule(0.0, RATE, 10), optax.exponential_decay(RATE, 20, 0.9)], [10]
    )
    labels = partial(jax.tree.map, lambda leaf: "matrix" if leaf.ndim > 1 else "vector")
    matrices = partial(jax.tree.map, lambda leaf: leaf.ndim > 1)
    return {
        "sam-opaque": lambda: contrib.sam(
            optax.sgd(RATE, 0.9),
            optax.chain(contrib.normalize(), optax.sgd(0.05)),
            sync_period=3,
            opaque_mode=True,
        ),
        "sam": lambda: contrib.sam(
            optax.adam(RATE), optax.chain(contrib.normalize(), optax.sgd(0.05))
        ),
        "multi-steps": lambda: optax.MultiSteps(optax.adamw(RATE), 4).gradient_transformation(),
        "apply-if-finite": lambda: optax.apply_if_finite(optax.adam(RATE), 5),
        "lookahead-ema": lambda: optax.chain(optax.adam(RATE), optax.ema(0.99)),
        "agc-sgd": lambda: optax.chain(optax.adaptive_grad_clip(0.01), optax.sgd(RATE, 0.9)),
        "noise-centralize": lambda: optax.chain(
            optax.centralize(), optax.add_noise(0.1, 0.5, 0), optax.adam(RATE)
        ),
        "partition": lambda: optax.partition(
            {"matrix": contrib.muon(RATE), "vector": optax.adamw(RATE)}, labels
        ),
        "masked-decay": lambda: optax.chain(
            optax.scale_by_adam(),
            optax.add_decayed_weights(1e-2, matrices),
            optax.masked(optax.normalize_by_update_norm(), matrices),
            optax.scale(-RATE),
        ),
        "inject-hyperparams": lambda: optax.inject_hyperparams(optax.adamw)(
            learning_rate=schedule, b1=joined
        ),
        "flatten-adam": lambda: optax.flatten(optax.adam(RATE)),
        "block-rms": lambda: optax.chain(
            optax.clip_by_block_rms(1.0), optax.scale_by_trust_ratio(), optax.adagrad(piecewise)
        ),
        "nonnegative": lambda: optax.chain(optax.adam(RATE), optax.keep_params_nonnegative()),
        "bf16-moments": lambda: optax.adam(RATE, mu_dtype=jnp.bfloat16),
        "skip-large": lambda: optax.MultiSteps(
            optax.lion(RATE),
            2,
            should_skip_update_fn=partial(optax.skip_large_updates, max_squared_norm=10.0),
        ).gradient_transformation(),
    }


def lower_private(network: str) -> jax.stages.Lowered:
    """Lowers a step of differentially private descent: gradients one by one, clipped, noised."""
    params, inputs, apply = NETWORKS[network]()
    transform = contrib.dpsgd(1e-2, l2_norm_clip=1.0, noise_multiplier=1.1, seed=0)

    def step(params: Any, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        def objective(params: Any, one: jax.Array, label: jax.Array) -> jax.Array:
            return cross_entropy(apply(params, one[None]), label[None])

        gradients = jax.vmap(jax.grad(objective), (None, 0, 0))(params, inputs, labels)
        updates, state = transform.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    state = jax.eval_shape(transform.init, params)
    return jax.jit(step).lower(params, state, inputs, array(BATCH, dtype=jnp.int32))


def recipes() -> Iterator[Recipe]:
    """Yields the second-order, composed and private optimizers."""
    yield from optimizer_recipes("optimizer-second-order", second_order())
    yield from optimizer_recipes("optimizer-composed", composed())
    for network in ("mlp", "cnn"):
        yield Recipe(
            name=f"optimizer-private/dpsgd/step-{network}",
            family="optimizer-private",
            library=LIBRARY,
            recipe=f"optax.contrib.dpsgd on the {network}, batch {BATCH}",
            lower=partial(lower_private, network),
            scope="training-step",
        )
