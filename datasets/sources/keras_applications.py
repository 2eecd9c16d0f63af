"""The models of keras.applications at their full depth, on the JAX backend.

The other files of Keras models take what makes their programs from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import keras
from recipe import Recipe, array
from tasks import Task, cross_entropy, lower_task, scope_of

LIBRARY = "keras"

POLICY_MARKS = {"float32": "", "bfloat16": "-bf16", "mixed_bfloat16": "-mixed"}
"""Last word of a variant, by Keras's types of variables and computation."""


def shapes(variables: list[Any]) -> list[Any]:
    """Returns Keras variables as shapes and types."""
    return [jax.ShapeDtypeStruct(variable.shape, variable.dtype) for variable in variables]


def unallocated(build: Callable[[], keras.Model], policy: str = "float32") -> keras.Model:
    """Returns a Keras model whose variables have shapes but no values.

    Args:
        build: Makes the model.
        policy: Keras's types of variables and computation, such as `mixed_bfloat16`.
    """
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    # In a stateless scope a variable waits for its value, and this one never hands them out:
    # drawing the weights would take most of the time.
    try:
        with keras.StatelessScope(initialize_variables=False):
            return build()
    finally:
        keras.config.set_dtype_policy(before)


def classification_task(model: keras.Model, *, batch: int) -> Task:
    """Returns image classification with a Keras model, through its stateless call.

    Args:
        model: A built model; its weights are used for their shapes only.
        batch: Images in a batch.
    """

    def forward(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
        return model.stateless_call(params, state, images, training=False)[0]

    def loss(params: Any, state: Any, images: jax.Array, labels: jax.Array) -> Any:
        logits, state, *_ = model.stateless_call(params, state, images, training=True)
        return cross_entropy(logits, labels), state

    return Task(
        params=shapes(model.trainable_variables),
        state=shapes(model.non_trainable_variables),
        batch=(array(batch, *model.input_shape[1:]), array(batch, dtype=jnp.int32)),
        forward=forward,
        loss=loss,
    )


def lower_fit(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, *, batch: int, trained: bool = True
) -> jax.stages.Lowered:
    """Lowers what `Model.fit` or `Model.evaluate` run for one batch: loss, metrics, optimizer.

    Args:
        model: A classifier without values.
        optimizer: One of Keras's own optimizers.
        batch: Images in a batch.
        trained: Lower the training step in place of the test step.
    """
    images, labels = array(batch, *model.input_shape[1:]), array(batch, dtype=jnp.int32)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with keras.StatelessScope(initialize_variables=False):
        model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"])
        symbols = [keras.KerasTensor(leaf.shape, str(leaf.dtype)) for leaf in (images, labels)]
        model._symbolic_build(data_batch=tuple(symbols))
    weights = [model.trainable_variables, model.non_trainable_variables]
    if trained:
        weights.append(model.optimizer.variables)
    weights.append(model.metrics_variables)
    step = model.train_step if trained else model.test_step
    return jax.jit(step).lower(tuple(map(shapes, weights)), (images, labels))


def lower_saliency(model: keras.Model, *, batch: int) -> jax.stages.Lowered:
    """Lowers the gradient of the loss by the images, with the weights at rest."""
    task = classification_task(model, batch=batch)

    def saliency(images: jax.Array, params: Any, state: Any, labels: jax.Array) -> jax.Array:
        def loss(images: jax.Array) -> jax.Array:
            return cross_entropy(task.forward(params, state, images, labels), labels)

        return jnp.abs(jax.grad(loss)(images)).max(axis=-1)

    images, labels = task.batch
    return jax.jit(saliency).lower(images, task.params, task.state, labels)


def lower_program(
    build: Callable[[], keras.Model], kind: str, *, batch: int, policy: str = "float32"
) -> jax.stages.Lowered:
    """Lowers one program of a Keras classifier.

    Args:
        build: Makes the model.
        kind: What `lower_task` takes, `fit-OPTIMIZER` or `evaluate` for Keras's own steps,
            `saliency`, or `finetune-OPTIMIZER`, which trains the last layer only.
        batch: Images in a batch.
        policy: Keras's types of variables and computation.
    """
    model = unallocated(build, policy)
    if kind == "saliency":
        return lower_saliency(model, batch=batch)
    if kind == "evaluate":
        return lower_fit(model, keras.optimizers.SGD(), batch=batch, trained=False)
    prefix, _, name = kind.partition("-")
    if prefix == "fit":
        return lower_fit(model, OPTIMIZERS[name](), batch=batch)
    if prefix == "finetune":
        for layer in model.layers[:-1]:
            layer.trainable = False
        kind = f"train-{name}"
    return lower_task(classification_task(model, batch=batch), kind)


OPTIMIZERS: dict[str, Callable[[], keras.optimizers.Optimizer]] = {
    "sgd": keras.optimizers.SGD,
    "momentum": partial(keras.optimizers.SGD, momentum=0.9, nesterov=True, clipnorm=1.0),
    "adam": keras.optimizers.Adam,
    "adamw": partial(keras.optimizers.AdamW, global_clipnorm=1.0),
    "amsgrad": partial(keras.optimizers.Adam, amsgrad=True),
    "adamax": keras.optimizers.Adamax,
    "rmsprop": partial(keras.optimizers.RMSprop, centered=True, momentum=0.9),
    "adagrad": keras.optimizers.Adagrad,
    "adadelta": keras.optimizers.Adadelta,
    "ftrl": keras.optimizers.Ftrl,
    "lion": partial(keras.optimizers.Lion, clipvalue=0.5),
    "lamb": keras.optimizers.Lamb,
    "muon": keras.optimizers.Muon,
    "scaled": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()),
    "averaged": partial(keras.optimizers.SGD, use_ema=True, ema_momentum=0.9),
    "accumulated": partial(keras.optimizers.Adam, gradient_accumulation_steps=4),
    "cosine": lambda: keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(0.0, 1000, warmup_target=1e-3, warmup_steps=100)
    ),
}
"""Keras's own optimizers by the name that they have after `fit-`."""


def application(name: str, size: int, **options: Any) -> keras.Model:
    """Returns a model of `keras.applications` for ten classes, without pretrained weights."""
    options = {"classes": 10, "classifier_activation": None, **options}
    return getattr(keras.applications, name)(input_shape=(size, size, 3), weights=None, **options)


def program_recipes(
    family: str,
    model: str,
    words: str,
    build: Callable[[], keras.Model],
    kinds: str,
    *,
    batch: int = 2,
    policy: str = "float32",
) -> Iterator[Recipe]:
    """Yields one recipe for each kind of program of a Keras classifier.

    Args:
        family: Model family.
        model: Second part of the benchmark's name.
        words: The model's class and configuration.
        build: Makes the model.
        kinds: Kinds as `lower_program` takes them, with blanks between.
        batch: Images in a batch.
        policy: Keras's types of variables and computation.
    """
    for kind in kinds.split():
        stepped = kind.startswith(("fit-", "finetune-"))
        yield Recipe(
            name=f"{family}/{model}/{kind}-b{batch}{POLICY_MARKS[policy]}",
            family=family,
            library=LIBRARY,
            recipe=f"{words}, batch {batch}, {policy}; {kind}",
            lower=partial(lower_program, build, kind, batch=batch, policy=policy),
            scope="training-step" if stepped else scope_of(kind),
        )


def recipes() -> Iterator[Recipe]:
    """Yields the models at full depth; images are as small as each model takes them."""
    models: list[tuple[str, str, str, int, str]] = [
        # Family, model, class, size, programs. Training steps of the deepest models are
        # left out: they hold tens of thousands of instructions and say nothing new.
        ("resnet", "resnet50", "ResNet50", 32, "forward grad train-sgdm saliency"),
        ("resnet", "resnet101", "ResNet101", 32, "forward"),
        ("resnet", "resnet152", "ResNet152", 32, "forward train-sgd"),
        ("resnet", "resnet50v2", "ResNet50V2", 32, "forward grad train-adam"),
        ("resnet", "resnet101v2", "ResNet101V2", 32, "forward"),
        ("resnet", "resnet152v2", "ResNet152V2", 32, "forward"),
        ("vgg", "vgg16", "VGG16", 32, "forward grad train-adamw-clip fit-adam hvp"),
        ("vgg", "vgg19", "VGG19", 32, "forward train-sgdm loop-sgdm saliency"),
        ("inception", "v3", "InceptionV3", 75, "forward train-sgd"),
        ("inception", "resnet-v2", "InceptionResNetV2", 75, "forward train-sgd"),
        ("xception", "xception", "Xception", 71, "forward grad train-sgdm saliency"),
        ("densenet", "121", "DenseNet121", 32, "forward"),
        ("densenet", "169", "DenseNet169", 32, "forward"),
        ("densenet", "201", "DenseNet201", 32, "forward"),
        ("nasnet", "mobile", "NASNetMobile", 32, "forward grad"),
        ("nasnet", "large", "NASNetLarge", 32, "forward"),
        ("mobilenet", "mobilenet", "MobileNet", 32, "train-adamw evaluate"),
        ("mobilenet", "mobilenet-v2", "MobileNetV2", 32, "forward grad"),
        ("mobilenet", "v3-small", "MobileNetV3Small", 32, "forward train-rmsprop"),
        ("mobilenet", "v3-large", "MobileNetV3Large", 32, "forward saliency"),
        ("convnext", "tiny", "ConvNeXtTiny", 32, "forward train-adamw"),
        ("convnext", "small", "ConvNeXtSmall", 32, "forward"),
        ("convnext", "base", "ConvNeXtBase", 32, "train-adamw"),
        ("convnext", "large", "ConvNeXtLarge", 64, "forward"),
        ("convnext", "xlarge", "ConvNeXtXLarge", 64, "forward"),
        ("efficientnet", "b0", "EfficientNetB0", 32, "forward train-rmsprop"),
        ("efficientnet", "b1", "EfficientNetB1", 32, "forward saliency"),
        ("efficientnet", "b2", "EfficientNetB2", 32, "forward"),
        ("efficientnet", "b3", "EfficientNetB3", 32, "forward"),
        ("efficientnet", "b4", "EfficientNetB4", 32, "forward"),
        ("efficientnet", "b5", "EfficientNetB5", 32, "forward"),
        ("efficientnet", "b6", "EfficientNetB6", 32, "forward"),
        ("efficientnet", "b7", "EfficientNetB7", 32, "forward grad"),
        ("efficientnet", "v2-b0", "EfficientNetV2B0", 32, "forward train-sgdm"),
        ("efficientnet", "v2-b1", "EfficientNetV2B1", 32, "forward"),
        ("efficientnet", "v2-b2", "EfficientNetV2B2", 32, "forward"),
        ("efficientnet", "v2-b3", "EfficientNetV2B3", 32, "forward saliency"),
        ("efficientnet", "v2-s", "EfficientNetV2S", 32, "forward"),
        ("efficientnet", "v2-m", "EfficientNetV2M", 32, "forward"),
        ("efficientnet", "v2-l", "EfficientNetV2L", 32, "forward"),
    ]
    for family, model, class_name, size, kinds in models:
        build = partial(application, class_name, size)
        words = f"keras.applications.{class_name}, {size} px"
        yield from program_recipes(family, f"keras-{model}", words, build, kinds)
