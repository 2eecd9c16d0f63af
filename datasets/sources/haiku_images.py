"""Nets of dm-haiku for images and films: published ones, norms, convolutional recurrence.

The task of a classifier and the recipes' form are here too, for haiku's other files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import jmp
from recipe import Recipe, array, key
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "dm-haiku"

Row = tuple[str, str, Callable[[], Task], str]
"""Family, model, its task, and kinds of programs."""


def stateful_classification(network: Callable[..., Any], inputs: Any, batch: int) -> Task:
    """Returns the task of a classifier that keeps batch statistics."""
    model = hk.transform_with_state(network)
    initialise = partial(model.init, is_training=True)
    params, state = jax.eval_shape(initialise, key(), inputs)

    def loss(params: Any, state: Any, inputs: jax.Array, labels: jax.Array) -> Any:
        logits, state = model.apply(params, state, None, inputs, is_training=True)
        return cross_entropy(logits, labels), state

    return Task(
        params=params,
        state=state,
        batch=(inputs, array(batch, dtype=jnp.int32)),
        forward=lambda params, state, inputs, labels: model.apply(
            params, state, None, inputs, is_training=False
        )[0],
        loss=loss,
    )


def published_task(name: str, *, batch: int, size: int, half: bool = False, **options: Any) -> Task:
    """Returns image classification with one of `hk.nets`.

    Args:
        name: Class of the net, such as `ResNet50`.
        batch: Images in a batch.
        size: Height and width of an image.
        half: Compute in bfloat16, with parameters and batch norm in float32.
        **options: What the class takes.
    """
    net = getattr(hk.nets, name)

    def network(images: jax.Array, is_training: bool) -> jax.Array:
        if half:
            # Policies belong to a class: they are set where the graph is traced, and taken back.
            whole = "params=float32,compute=bfloat16,output=float32"
            norms = "params=float32,compute=float32,output=bfloat16"
            hk.mixed_precision.set_policy(net, jmp.get_policy(whole))
            hk.mixed_precision.set_policy(hk.BatchNorm, jmp.get_policy(norms))
        try:
            return net(num_classes=10, **options)(images, is_training)
        finally:
            for changed in (net, hk.BatchNorm) if half else ():
                hk.mixed_precision.clear_policy(changed)

    return stateful_classification(network, array(batch, size, size, 3), batch)


def film_task(width: int, *, batch: int, frames: int, size: int) -> Task:
    """Returns classification of films with `hk.Conv2DLSTM`."""

    def network(film: jax.Array, is_training: bool) -> jax.Array:
        core = hk.Conv2DLSTM((size, size), width, 3)
        outputs, _ = hk.dynamic_unroll(core, film, core.initial_state(batch), time_major=False)
        return hk.Linear(10)(outputs[:, -1].mean(axis=(1, 2)))

    return stateful_classification(network, array(batch, frames, size, size, 3), batch)


def norm_layer(norm: str, is_training: bool) -> Callable[[jax.Array], jax.Array]:
    """Returns one of haiku's norms: `group`, `instance`, `rms` or `batch`."""
    layers: dict[str, Callable[[], Any]] = {
        "group": lambda: hk.GroupNorm(4),
        "instance": lambda: hk.InstanceNorm(True, True),
        "rms": lambda: hk.RMSNorm(-1),
        "batch": lambda: partial(hk.BatchNorm(True, True, 0.9), is_training=is_training),
    }
    return layers[norm]()


def normed_task(norm: str) -> Task:
    """Returns classification with convolutions under one of haiku's norms."""

    def network(images: jax.Array, is_training: bool) -> jax.Array:
        hidden = images
        for width in (8, 16):
            hidden = hk.Conv2D(width, 3, stride=2)(hidden)
            hidden = jax.nn.leaky_relu(norm_layer(norm, is_training)(hidden))
        hidden = hk.max_pool(hidden, 2, 2, "SAME").mean(axis=(1, 2))
        return hk.nets.MLP([32, 10])(norm_layer("batch", is_training)(hidden))

    return stateful_classification(network, array(4, 16, 16, 3), 4)


def model_recipes(rows: Iterable[Row]) -> Iterator[Recipe]:
    """Yields the recipes of models whose variants have the names of their kinds."""
    for family, model, task, kinds in rows:
        variants = {kind: kind for kind in kinds.split()}
        yield from task_recipes(family, LIBRARY, model, f"dm-haiku {model}", task, variants)


def recipes() -> Iterator[Recipe]:
    """Yields the published nets, the norms and the net for films."""
    net = partial(partial, published_task, batch=2, size=32)
    tiny = partial(
        net, "ResNet", resnet_v2=False, bottleneck=False, channels_per_group=(8, 8, 16, 16)
    )
    narrow = {"use_bn": False, "strides": (1, 2, 1), "channels": (8, 16, 32)}
    film = partial(film_task, 8, batch=2, frames=6, size=12)
    rows: list[Row] = [
        ("resnet", "haiku-18", net("ResNet18"), "forward train-adam"),
        ("resnet", "haiku-18-mixed", net("ResNet18", half=True), "forward grad"),
        ("resnet", "haiku-34", net("ResNet34"), "forward grad"),
        ("resnet", "haiku-50-v1", net("ResNet50", resnet_v2=False), "forward grad"),
        ("resnet", "haiku-101", net("ResNet101", resnet_v2=True), "forward"),
        ("resnet", "haiku-152", net("ResNet152"), "forward"),
        ("resnet", "haiku-200", net("ResNet200", resnet_v2=True), "forward"),
        (
            "resnet",
            "haiku-basic-v1-1x1x1x1",
            tiny(blocks_per_group=(1, 1, 1, 1)),
            "forward hvp loop-sgdm",
        ),
        (
            "resnet",
            "haiku-basic-v1-2x1x1x1",
            tiny(blocks_per_group=(2, 1, 1, 1)),
            "accumulate-nesterov train-lamb",
        ),
        ("mobilenet", "haiku-v1", net("MobileNetV1"), "forward train-adam"),
        ("mobilenet", "haiku-v1-nobn", net("MobileNetV1", **narrow), "grad"),
        ("rnn", "haiku-conv-lstm", film, "forward grad"),
        ("cnn", "haiku-groupnorm", partial(normed_task, "group"), "train-adam"),
        ("cnn", "haiku-instance", partial(normed_task, "instance"), "train-sgdm"),
        ("cnn", "haiku-rms", partial(normed_task, "rms"), "train-lion"),
        ("cnn", "haiku-batch", partial(normed_task, "batch"), "forward loop-adam"),
    ]
    yield from model_recipes(rows)
