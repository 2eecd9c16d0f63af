"""Image models of keras.applications at the sizes that they are used with."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recipe import Recipe
from sources.keras_applications import application, program_recipes

LIBRARY = "keras"

MODELS: tuple[tuple[str, str, str, int, int, str], ...] = (
    # Family, model, class, size, batch, programs.
    ("mobilenet", "v1", "MobileNet", 224, 1, "forward"),
    ("mobilenet", "v1", "MobileNet", 128, 4, "fit-adamw"),
    ("mobilenet", "v2", "MobileNetV2", 224, 1, "forward"),
    ("mobilenet", "v2", "MobileNetV2", 96, 4, "train-sgdm"),
    ("mobilenet", "v3-small", "MobileNetV3Small", 224, 4, "forward"),
    ("mobilenet", "v3-large", "MobileNetV3Large", 160, 2, "saliency"),
    ("resnet", "resnet50", "ResNet50", 224, 1, "forward"),
    ("resnet", "resnet50", "ResNet50", 96, 1, "train-sgdm"),
    ("resnet", "resnet101v2", "ResNet101V2", 128, 1, "forward"),
    ("vgg", "vgg16", "VGG16", 128, 1, "forward"),
    ("vgg", "vgg16", "VGG16", 96, 1, "saliency"),
    ("inception", "v3", "InceptionV3", 160, 1, "forward"),
    ("inception", "v3", "InceptionV3", 96, 4, "finetune-adam"),
    ("xception", "xception", "Xception", 160, 1, "forward"),
    ("densenet", "121", "DenseNet121", 160, 1, "forward"),
    ("densenet", "121", "DenseNet121", 96, 2, "finetune-adamw"),
    ("nasnet", "mobile", "NASNetMobile", 224, 1, "forward"),
    ("convnext", "tiny", "ConvNeXtTiny", 128, 1, "forward"),
    ("efficientnet", "b0", "EfficientNetB0", 224, 1, "forward"),
    ("efficientnet", "b0", "EfficientNetB0", 96, 2, "finetune-rmsprop"),
    ("efficientnet", "v2-b0", "EfficientNetV2B0", 160, 2, "forward"),
)


def recipes() -> Iterator[Recipe]:
    """Yields the programs, each with its image size and batch in its name."""
    for family, model, class_name, size, batch, kinds in MODELS:
        build = partial(application, class_name, size, classes=1000)
        words = f"keras.applications.{class_name}, {size} px, 1000 classes"
        name = f"keras-{model}-{size}px"
        yield from program_recipes(family, name, words, build, kinds, batch=batch)
