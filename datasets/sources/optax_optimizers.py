"""First-order and parameter-free optimizers of optax, as training steps of small networks.

The other files of optax's optimizers take the networks and the step from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax
import optax.contrib as contrib
from recipe import Recipe, array, key
from sources.flax_linen import ConvNet
from tasks import cross_entropy

LIBRARY = "optax"
BATCH, CLASSES, RATE = 8, 10, 1e-3

Optimizer = Callable[[], Any]


def mlp() -> tuple[Any, Any, Callable[..., jax.Array]]:
    """Returns abstract parameters, abstract inputs and the forward pass of an MLP."""
    net = hk.without_apply_rng(hk.transform(lambda inputs: hk.nets.MLP([24, 24, CLASSES])(inputs)))
    inputs = array(BATCH, 16)
    return jax.eval_shape(net.init, key(), inputs), inputs, net.apply


def cnn() -> tuple[Any, Any, Callable[..., jax.Array]]:
    """Returns abstract parameters, abstract inputs and the forward pass of a small CNN."""
    net = ConvNet(widths=(8, 16))
    inputs = array(BATCH, 16, 16, 1)
    params = jax.eval_shape(net.init, key(), inputs)["params"]
    return params, inputs, lambda params, inputs: net.apply({"params": params}, inputs)


def rnn() -> tuple[Any, Any, Callable[..., jax.Array]]:
    """Returns abstract parameters, abstract inputs and the forward pass of an LSTM."""

    def forward(inputs: jax.Array) -> jax.Array:
        core = hk.LSTM(16)
        states, _ = hk.dynamic_unroll(core, inputs, core.initial_state(inputs.shape[1]))
        return hk.Linear(CLASSES)(states[-1])

    net = hk.without_apply_rng(hk.transform(forward))
    inputs = array(12, BATCH, 8)
    return jax.eval_shape(net.init, key(), inputs), inputs, net.apply


NETWORKS = {"mlp": mlp, "cnn": cnn, "rnn": rnn}

SEARCH = ("value", "grad", "value_fn")
EXTRAS: dict[str, tuple[str, ...]] = {"sam": (), "sam-opaque": ("grad_fn",), "sophia": ("obj_fn",)}
"""Keyword arguments of an optimizer's update, if not those of a line search."""


def lower_step(
    network: str, make: Optimizer, steps: int, wanted: tuple[str, ...]
) -> jax.stages.Lowered:
    """Lowers training with an optimizer that may want the value, or the objective itself.

    Args:
        network: A key of `NETWORKS`.
        make: Makes the optimizer.
        steps: Steps in a scan; 0 for one step without.
        wanted: What the optimizer's update takes beside gradient and parameters.
    """
    params, inputs, apply = NETWORKS[network]()
    transform = optax.with_extra_args_support(make())

    def step(params: Any, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        def objective(params: Any) -> jax.Array:
            return cross_entropy(apply(params, inputs), labels)

        value, gradient = jax.value_and_grad(objective)(params)
        available = {
            "value": value,
            "grad": gradient,
            "value_fn": objective,
            "obj_fn": objective,
            "grad_fn": lambda params, _: jax.grad(objective)(params),
        }
        extra = {name: available[name] for name in wanted}
        updates, state = transform.update(gradient, state, params, **extra)
        return optax.apply_updates(params, updates), state, value

    def loop(params: Any, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        def body(carry: Any, _: None) -> Any:
            *carry, value = step(*carry, inputs, labels)
            return tuple(carry), value

        return jax.lax.scan(body, (params, state), length=steps)

    state = jax.eval_shape(transform.init, params)
    labels = array(BATCH, dtype=jnp.int32)
    return jax.jit(loop if steps else step).lower(params, state, inputs, labels)


def optimizer_recipes(family: str, table: dict[str, Optimizer]) -> Iterator[Recipe]:
    """Yields one recipe for each optimizer of a family; networks and loops take turns."""
    networks = tuple(NETWORKS)
    for index, (name, make) in enumerate(table.items()):
        network = networks[index % 3]
        steps = 10 if index % 4 == 3 else 0
        kind = f"loop{steps}" if steps else "step"
        yield Recipe(
            name=f"{family}/{name}/{kind}-{network}",
            family=family,
            library=LIBRARY,
            recipe=f"optax {name} on the {network}, batch {BATCH}, {kind}",
            lower=partial(lower_step, network, make, steps, EXTRAS.get(name, SEARCH)),
            scope="training-step",
        )


def first_order() -> dict[str, Optimizer]:
    """Returns optimizers that take a learning rate and the gradient."""
    return {
        "adabelief": lambda: optax.adabelief(RATE),
        "adadelta": lambda: optax.adadelta(RATE),
        "adagrad": lambda: optax.adagrad(RATE),
        "adamax": lambda: optax.adamax(RATE),
        "adamaxw": lambda: optax.adamaxw(RATE),
        "adan": lambda: optax.adan(RATE),
        "amsgrad": lambda: optax.amsgrad(RATE),
        "fromage": lambda: optax.fromage(RATE),
        "lars": lambda: optax.lars(RATE, weight_decay=1e-4, momentum=0.9),
        "nadamw": lambda: optax.nadamw(RATE),
        "novograd": lambda: optax.novograd(RATE),
        "noisy-sgd": lambda: optax.noisy_sgd(RATE, key=0),
        "optimistic-gradient": lambda: optax.optimistic_gradient_descent(RATE),
        "optimistic-adam": lambda: optax.optimistic_adam_v2(RATE),
        "radam": lambda: optax.radam(RATE, nesterov=True),
        "rprop": lambda: optax.rprop(RATE),
        "sign-sgd": lambda: optax.sign_sgd(RATE),
        "signum": lambda: optax.signum(RATE),
        "sm3": lambda: optax.sm3(RATE),
        "yogi": lambda: optax.yogi(RATE),
        "rmsprop-centered": lambda: optax.rmsprop(RATE, centered=True, momentum=0.9, nesterov=True),
        "acprop": lambda: contrib.acprop(RATE),
        "ademamix": lambda: contrib.ademamix(RATE),
        "simplified-ademamix": lambda: contrib.simplified_ademamix(RATE),
        "adopt": lambda: contrib.adopt(RATE),
        "madgrad": lambda: contrib.madgrad(RATE),
    }


def parameter_free() -> dict[str, Optimizer]:
    """Returns optimizers that find their learning RATE, and averages that need no schedule."""
    return {
        "cocob": contrib.cocob,
        "dadapt-adamw": contrib.dadapt_adamw,
        "dog": lambda: contrib.dog(1.0),
        "dowg": lambda: contrib.dowg(1.0),
        "mechanic-adam": lambda: contrib.mechanize(optax.adam(RATE)),
        "momo": contrib.momo,
        "momo-adam": contrib.momo_adam,
        "prodigy": contrib.prodigy,
        "schedule-free-sgd": contrib.schedule_free_sgd,
        "schedule-free-adamw": lambda: contrib.schedule_free_adamw(RATE, warmup_steps=10),
        "schedule-free-radam": lambda: contrib.schedule_free(optax.radam(RATE), RATE),
        "polyak-sgd": optax.polyak_sgd,
        "reduce-on-plateau": lambda: optax.chain(optax.adam(RATE), contrib.reduce_on_plateau()),
    }


def recipes() -> Iterator[Recipe]:
    """Yields the first-order and the parameter-free optimizers."""
    yield from optimizer_recipes("optimizer-first-order", first_order())
    yield from optimizer_recipes("optimizer-parameter-free", parameter_free())
