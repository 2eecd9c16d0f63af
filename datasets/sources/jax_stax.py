"""Networks and optimizers of jax.example_libraries: needs nothing but jax."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.example_libraries import optimizers, stax
from recipe import Recipe, array

LIBRARY = "jax"
FAMILY = "stax"

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": partial(optimizers.sgd, 1e-2),
    "momentum": partial(optimizers.momentum, 1e-2, mass=0.9),
    "nesterov": partial(optimizers.nesterov, 1e-2, mass=0.9),
    "adagrad": partial(optimizers.adagrad, 1e-2),
    "rmsprop": partial(optimizers.rmsprop, 1e-2),
    "rmsprop-momentum": partial(optimizers.rmsprop_momentum, 1e-2),
    "adam": partial(optimizers.adam, 1e-3),
    "adamax": partial(optimizers.adamax, 1e-3),
}


def mlp(widths: tuple[int, ...], activation: Any) -> Any:
    """Returns a perceptron with log-softmax outputs."""
    layers = [layer for width in widths for layer in (stax.Dense(width), activation)]
    return stax.serial(*layers, stax.Dense(10), stax.LogSoftmax)


def convolutional(*, norm: bool, pool: Any) -> Any:
    """Returns a small convolutional classifier."""
    block = [stax.Conv(8, (3, 3), padding="SAME"), *([stax.BatchNorm()] if norm else []), stax.Relu]
    pooled = pool((2, 2), strides=(2, 2))
    return stax.serial(
        *block, pooled, *block, pooled, stax.Flatten, stax.Dense(10), stax.LogSoftmax
    )


def residual(blocks: int) -> Any:
    """Returns a residual classifier, as in jax's own ResNet example."""

    def block(stride: int) -> Any:
        main = stax.serial(
            stax.BatchNorm(),
            stax.Relu,
            stax.Conv(16, (3, 3), (stride, stride), padding="SAME"),
            stax.BatchNorm(),
            stax.Relu,
            stax.Conv(16, (3, 3), padding="SAME"),
        )
        shortcut = stax.Conv(16, (1, 1), (stride, stride), padding="SAME")
        return stax.serial(
            stax.FanOut(2),
            stax.parallel(main, shortcut if stride > 1 else stax.Identity),
            stax.FanInSum,
        )

    stem = stax.Conv(16, (3, 3), padding="SAME")
    body = [block(2 if index % 2 else 1) for index in range(blocks)]
    return stax.serial(
        stem, *body, stax.AvgPool((4, 4)), stax.Flatten, stax.Dense(10), stax.LogSoftmax
    )


def lower(network: Any, shape: tuple[int, ...], program: str) -> jax.stages.Lowered:
    """Lowers one program of a network.

    Args:
        network: Initialiser and application, as stax makes them.
        shape: Shape of the inputs, the batch first.
        program: `forward`, `grad`, or `train-OPTIMIZER`.
    """
    initialise, apply = network
    params = jax.eval_shape(lambda rng: initialise(rng, shape)[1], jax.random.key(0))
    inputs, labels = array(*shape), array(shape[0], 10)

    def loss(params: Any, inputs: jax.Array, labels: jax.Array) -> jax.Array:
        return -jnp.mean(jnp.sum(apply(params, inputs) * labels, axis=1))

    if program == "forward":
        return jax.jit(apply).lower(params, inputs)
    if program == "grad":
        return jax.jit(jax.value_and_grad(loss)).lower(params, inputs, labels)
    start, update, current = OPTIMIZERS[program.removeprefix("train-")]()

    def step(index: jax.Array, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        gradient = jax.grad(loss)(current(state), inputs, labels)
        return update(index, optimizers.clip_grads(gradient, 1.0), state)

    state = jax.eval_shape(start, params)
    return jax.jit(step).lower(array(dtype=jnp.int32), state, inputs, labels)


def recipes() -> Iterator[Recipe]:
    """Yields every stax recipe."""
    images, large, flat = (4, 16, 16, 3), (4, 32, 32, 3), (8, 32)
    networks: dict[str, tuple[Any, tuple[int, ...], list[str]]] = {
        "mlp-2x32": (mlp((32, 32), stax.Relu), flat, ["forward", "train-sgd"]),
        "mlp-4x16-gelu": (mlp((16,) * 4, stax.Gelu), flat, ["grad", "train-adam", "train-adamax"]),
        "mlp-3x16-elu": (mlp((16,) * 3, stax.Elu), flat, ["train-rmsprop-momentum"]),
        "conv-max": (
            convolutional(norm=False, pool=stax.MaxPool),
            images,
            ["forward", "train-momentum"],
        ),
        "conv-norm-avg": (
            convolutional(norm=True, pool=stax.AvgPool),
            images,
            ["grad", "train-adagrad"],
        ),
        "residual-2": (residual(2), images, ["forward", "train-nesterov", "train-rmsprop"]),
        "residual-6": (residual(6), large, ["grad", "train-adam"]),
    }
    for model, (network, shape, programs) in networks.items():
        for program in programs:
            yield Recipe(
                name=f"{FAMILY}/{model}/{program}-b{shape[0]}",
                family=FAMILY,
                library=LIBRARY,
                recipe=f"jax.example_libraries.stax {model}, inputs {shape}; {program}, clipped",
                lower=partial(lower, network, shape, program),
                scope="training-step" if program.startswith("train") else "model",
            )
