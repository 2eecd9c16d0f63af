"""Short models built by the functions behind keras.applications, with Keras's own train steps.

The blocks are those of the published models, fewer of them: what varies is the kind of block, the
optimizer (optax's or Keras's), the types, and what of the model is trained.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import copy
import importlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import keras
from recipe import Recipe
from sources.keras_applications import application, program_recipes

SIZE = 32
HEAD = {"weights": None, "classes": 10, "classifier_activation": None}


def module(name: str) -> Any:
    """Returns a module of the applications, whose general functions are not exported."""
    return importlib.import_module(f"keras.src.applications.{name}")


def resnet(version: int, blocks: tuple[int, ...], use_bias: bool = True) -> keras.Model:
    """Returns a bottleneck ResNet with some blocks in each stage."""
    code = module("resnet")
    stack = getattr(code, f"stack_residual_blocks_v{version}")

    def stages(hidden: Any) -> Any:
        for stage, count in enumerate(blocks):
            hidden = stack(hidden, 8 * 2**stage, count, 1 if stage == 0 else 2, f"stage{stage}")
        return hidden

    shape = (SIZE, SIZE, 3)
    return code.ResNet(stages, version == 2, use_bias, input_shape=shape, **HEAD)


def densenet(blocks: tuple[int, ...]) -> keras.Model:
    """Returns a DenseNet with some layers in each dense block."""
    return module("densenet").DenseNet(list(blocks), input_shape=(SIZE, SIZE, 3), **HEAD)


def nasnet(blocks: int, filters: int, **options: Any) -> keras.Model:
    """Returns a NASNet with some cells in each stage."""
    sizes = {"num_blocks": blocks, "penultimate_filters": filters, "stem_block_filters": 8}
    code = module("nasnet")
    return code.NASNet((SIZE, SIZE, 3), **sizes, default_size=SIZE, **options, **HEAD)


def efficientnet(version: int, stages: tuple[int, ...], **options: Any) -> keras.Model:
    """Returns an EfficientNet with some of the published stages, one block in each.

    Args:
        version: 1 or 2 (which begins with fused blocks).
        stages: Which of the published stages.
        **options: What the general function takes, such as the activation.
    """
    code = module("efficientnet" if version == 1 else "efficientnet_v2")
    published = code.DEFAULT_BLOCKS_ARGS
    blocks = copy.deepcopy(published if version == 1 else published["efficientnetv2-b0"])
    blocks = [blocks[stage] for stage in stages]
    for previous, block in itertools.pairwise(blocks):
        key = "filters_in" if version == 1 else "input_filters"
        block[key] = previous["filters_out" if version == 1 else "output_filters"]
    for block in blocks:
        block["repeats" if version == 1 else "num_repeat"] = 1
    build = code.EfficientNet if version == 1 else code.EfficientNetV2
    shape = (SIZE, SIZE, 3)
    return build(0.5, 1.0, SIZE, blocks_args=blocks, input_shape=shape, **options, **HEAD)


def convnext(depths: tuple[int, ...], width: int, **options: Any) -> keras.Model:
    """Returns a ConvNeXt with some blocks in each of its four stages."""
    widths = [width * 2**stage for stage in range(4)]
    shape = (SIZE, SIZE, 3)
    return module("convnext").ConvNeXt(depths, widths, input_shape=shape, **options, **HEAD)


def recipes() -> Iterator[Recipe]:
    """Yields the short models."""
    half, mixed = "bfloat16", "mixed_bfloat16"
    mobile, small, large = "MobileNet", "MobileNetV3Small", "MobileNetV3Large"
    models: list[tuple[str, str, Callable[[], keras.Model], str, str]] = [
        # Family, model, builder, types, programs.
        ("resnet", "v1-1x1", partial(resnet, 1, (1, 1)), "float32", "fit-sgd fit-adamax evaluate"),
        ("resnet", "v1-2x2", partial(resnet, 1, (2, 2)), mixed, "forward fit-momentum fit-scaled"),
        ("resnet", "v1-1x1x1x1", partial(resnet, 1, (1, 1, 1, 1), False), half, "forward grad"),
        ("resnet", "v1-1x2x1", partial(resnet, 1, (1, 2, 1)), "float32", "fit-muon hvp remat-grad"),
        ("resnet", "v2-2", partial(resnet, 2, (2,)), "float32", "finetune-adam fit-averaged"),
        ("resnet", "v2-2x2", partial(resnet, 2, (2, 2)), mixed, "grad accumulate-sgdm"),
        ("resnet", "v2-2x3", partial(resnet, 2, (2, 3)), "float32", "loop-nesterov fit-lamb"),
        ("vgg", "vgg16", partial(application, "VGG16", SIZE), mixed, "forward grad fit-scaled"),
        ("vgg", "vgg16-half", partial(application, "VGG16", SIZE), half, "train-lion forward"),
        ("vgg", "vgg16-steps", partial(application, "VGG16", SIZE), "float32", "fit-muon evaluate"),
        (
            "vgg",
            "vgg19-steps",
            partial(application, "VGG19", SIZE),
            "float32",
            "finetune-adamw fit-adagrad accumulate-adam per-example-grad remat-grad",
        ),
        ("inception", "v3", partial(application, "InceptionV3", 75), half, "forward"),
        ("inception", "v3", partial(application, "InceptionV3", 75), "float32", "finetune-sgdm"),
        ("xception", "xception", partial(application, "Xception", 71), mixed, "forward grad"),
        ("xception", "xception", partial(application, "Xception", 71), "float32", "finetune-adam"),
        ("xception", "xception", partial(application, "Xception", 71), half, "fit-sgd"),
        (
            "densenet",
            "1x1x1x1",
            partial(densenet, (1, 1, 1, 1)),
            "float32",
            "fit-adam fit-adadelta hvp",
        ),
        (
            "densenet",
            "2x2x2x2",
            partial(densenet, (2, 2, 2, 2)),
            mixed,
            "forward fit-adamw loop-adam",
        ),
        (
            "densenet",
            "2x3x2x1",
            partial(densenet, (2, 3, 2, 1)),
            "float32",
            "forward grad fit-lion",
        ),
        ("densenet", "1x3x3x1", partial(densenet, (1, 3, 3, 1)), half, "forward train-rmsprop"),
        ("densenet", "2x4x4x2", partial(densenet, (2, 4, 4, 2)), "float32", "train-adamw-clip"),
        (
            "densenet",
            "3x3x3x3",
            partial(densenet, (3, 3, 3, 3)),
            "float32",
            "saliency finetune-adam",
        ),
        ("nasnet", "n1-f96", partial(nasnet, 1, 96), "float32", "forward train-sgd evaluate"),
        ("nasnet", "n1-f96-half", partial(nasnet, 1, 96), half, "forward"),
        (
            "nasnet",
            "n1-f96-noskip",
            partial(nasnet, 1, 96, skip_reduction=False),
            "float32",
            "forward saliency",
        ),
        ("nasnet", "n2-f192", partial(nasnet, 2, 192), "float32", "forward finetune-adam"),
        (
            "efficientnet",
            "v1-3blocks",
            partial(efficientnet, 1, (0, 1, 2)),
            "float32",
            "forward fit-rmsprop fit-ftrl",
        ),
        ("efficientnet", "v1-5blocks", partial(efficientnet, 1, (0, 2, 3, 4, 5)), mixed, "grad"),
        (
            "efficientnet",
            "v1-3blocks-relu",
            partial(efficientnet, 1, (0, 1, 4), activation="relu", dropout_rate=0.0),
            "float32",
            "train-adamw hvp loop-sgdm",
        ),
        (
            "efficientnet",
            "v2-3blocks",
            partial(efficientnet, 2, (0, 1, 3), dropout_rate=0.5),
            "float32",
            "forward fit-lion accumulate-adamw",
        ),
        (
            "efficientnet",
            "v2-4blocks-raw",
            partial(efficientnet, 2, (0, 2, 3, 4), include_preprocessing=False),
            half,
            "forward train-sgdm",
        ),
        ("convnext", "1x1x1x1", partial(convnext, (1, 1, 1, 1), 8), "float32", "fit-adamw hvp"),
        (
            "convnext",
            "1x1x2x1",
            partial(convnext, (1, 1, 2, 1), 8),
            "float32",
            "forward train-adamw-clip-cosine fit-cosine",
        ),
        (
            "convnext",
            "1x1x1x1-noscale",
            partial(convnext, (1, 1, 1, 1), 8, layer_scale_init_value=0.0),
            "float32",
            "loop-adamw fit-accumulated per-example-grad",
        ),
        ("convnext", "2x2x2x2", partial(convnext, (2, 2, 2, 2), 8), mixed, "forward fit-amsgrad"),
        ("convnext", "1x1x3x1", partial(convnext, (1, 1, 3, 1), 8), half, "forward grad"),
        (
            "mobilenet",
            "mobilenet-d2",
            partial(application, mobile, SIZE, alpha=0.5, depth_multiplier=2, dropout=0.0),
            "float32",
            "forward fit-adam saliency",
        ),
        ("mobilenet", "mobilenet-mixed", partial(application, mobile, SIZE), mixed, "grad"),
        ("mobilenet", "mobilenet-half", partial(application, mobile, SIZE), half, "forward"),
        (
            "mobilenet",
            "v3-small-minimalistic",
            partial(application, small, SIZE, minimalistic=True),
            "float32",
            "forward fit-adagrad finetune-adam",
        ),
        (
            "mobilenet",
            "v3-large-minimalistic",
            partial(application, large, SIZE, minimalistic=True, include_preprocessing=False),
            mixed,
            "forward grad",
        ),
        (
            "mobilenet",
            "v2-pooled",
            partial(application, "MobileNetV2", SIZE, alpha=0.75),
            half,
            "forward saliency",
        ),
    ]
    for family, model, build, policy, kinds in models:
        words = f"keras.applications, {family} {model} with fewer blocks or other options"
        name = f"keras-short-{model}"
        yield from program_recipes(family, name, words, build, kinds, policy=policy)
