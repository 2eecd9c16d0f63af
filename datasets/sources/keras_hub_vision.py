"""Convolutional vision models of keras-hub: classifiers, segmenters, detectors' backbones.

The vision transformers take what makes their recipes from here.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import keras
import keras_hub
from recipe import Recipe
from sources.keras_hub_models import FULL, HALF, MIXED, Builder, hub_recipes, uncompiled

SIZE = 32
SHAPE = (SIZE, SIZE, 3)

VisionModel = tuple[str, str, str | None, Builder, str, str]
"""Family, model, class of the head, backbone, types, programs."""


def body(name: str, **options: Any) -> keras_hub.models.Backbone:
    """Returns a backbone for small images."""
    return getattr(keras_hub.models, f"{name}Backbone")(**{"image_shape": SHAPE, **options})


def classifier(name: str, backbone: Builder) -> keras.Model:
    """Returns an image classifier of keras-hub on a backbone."""
    published = uncompiled(getattr(keras_hub.models, f"{name}ImageClassifier"))
    return published(backbone=backbone(), num_classes=10, preprocessor=None)


def vision_recipes(models: list[VisionModel]) -> Iterator[Recipe]:
    """Yields the programs of vision models."""
    for family, model, head, backbone, policy, kinds in models:
        build = partial(classifier, head, backbone) if head else backbone
        words = f"{model} of keras-hub, {family}, {head or 'no'} classifier, {SIZE} px"
        yield from hub_recipes(family, model, words, build, kinds, length=None, policy=policy)


def resnet(kind: str, blocks: tuple[int, ...], *, pre: bool = False, **options: Any) -> keras.Model:
    """Returns a ResNet of basic, bottleneck or (the D variants) averaging blocks."""
    deep = kind.endswith("_vd")
    return body(
        "ResNet",
        input_conv_filters=[8, 8, 64] if deep else [64],
        input_conv_kernel_sizes=[3, 3, 3] if deep else [7],
        stackwise_num_filters=[64 * 2**stage for stage in range(len(blocks))],
        stackwise_num_blocks=list(blocks),
        stackwise_num_strides=[1 if stage == 0 else 2 for stage in range(len(blocks))],
        block_type=kind,
        use_pre_activation=pre,
        **options,
    )


def densenet(repeats: tuple[int, ...]) -> keras.Model:
    """Returns a DenseNet."""
    return body("DenseNet", stackwise_num_repeats=list(repeats), growth_rate=8)


def vgg(repeats: tuple[int, ...]) -> keras.Model:
    """Returns a VGG without its dense layers."""
    filters = [8 * 2**stage for stage in range(len(repeats))]
    return body("VGG", stackwise_num_repeats=list(repeats), stackwise_num_filters=filters)


def xception(stages: int) -> keras.Model:
    """Returns an Xception with some pooled stages and one without."""
    filters = [[8 * 2**stage] * 2 for stage in range(stages)]
    pooling = [True] * (stages - 1) + [False]
    return body("Xception", stackwise_conv_filters=filters, stackwise_pooling=pooling)


def cspnet(block: str, stage: str, depths: tuple[int, ...], **options: Any) -> keras.Model:
    """Returns a cross-stage partial net, the backbone of YOLO's kind."""
    return body(
        "CSPNet",
        stem_filters=8,
        stem_kernel_size=3,
        stem_strides=1,
        stackwise_depth=list(depths),
        stackwise_strides=[2] * len(depths),
        stackwise_num_filters=[16 * 2**level for level in range(len(depths))],
        block_type=block,
        stage_type=stage,
        **options,
    )


def hgnet(light: bool) -> keras.Model:
    """Returns HGNetV2, whose blocks join the outputs of all their layers."""
    return body(
        "HGNetV2",
        depths=[1, 1],
        embedding_size=8,
        hidden_sizes=[16, 32],
        stem_channels=[3, 8, 8],
        hidden_act="relu",
        use_learnable_affine_block=light,
        stackwise_stage_filters=[[8, 8, 16, 1, 3, 3], [16, 8, 32, 1, 3, 3]],
        apply_downsample=[False, True],
        use_lightweight_conv_block=[light, light],
    )


def deeplab(rates: tuple[int, ...], low: str | None) -> keras.Model:
    """Returns DeepLab v3 (v3+ with low-level features) on a ResNet."""
    return keras_hub.models.DeepLabV3Backbone(
        image_encoder=resnet("basic_block", (1, 1, 1)),
        spatial_pyramid_pooling_key="P4",
        low_level_feature_key=low,
        upsampling_size=4,
        dilation_rates=list(rates),
        projection_filters=8,
        image_shape=SHAPE,
    )


def retinanet(norm: bool) -> keras.Model:
    """Returns RetinaNet's feature pyramid on a ResNet."""
    return keras_hub.models.RetinaNetBackbone(
        image_encoder=resnet("bottleneck_block", (1, 1, 1, 1)),
        min_level=3,
        max_level=6,
        use_p5=True,
        use_fpn_batch_norm=norm,
        image_shape=SHAPE,
    )


def basnet() -> keras.Model:
    """Returns BASNet: segmentation refined by a second encoder and decoder."""
    encoder = resnet("basic_block", (1, 1, 1, 1), image_shape=(None, None, 3))
    return keras_hub.models.BASNetBackbone(image_encoder=encoder, num_classes=1, image_shape=SHAPE)


def recipes() -> Iterator[Recipe]:
    """Yields the convolutional models."""
    basic, neck = "basic_block", "bottleneck_block"
    models: list[VisionModel] = [
        ("resnet", "basic", "ResNet", partial(resnet, basic, (1, 1)), FULL, "forward train-adam"),
        ("resnet", "neck", "ResNet", partial(resnet, neck, (1, 2)), MIXED, "forward train-sgdm"),
        ("resnet", "pre", "ResNet", partial(resnet, basic, (2, 2), pre=True), FULL, "grad"),
        ("resnet", "vd", "ResNet", partial(resnet, "basic_block_vd", (1, 1)), FULL, "forward grad"),
        (
            "resnet",
            "neck-vd",
            "ResNet",
            partial(resnet, "bottleneck_block_vd", (1, 1)),
            HALF,
            "grad",
        ),
        ("densenet", "r1x2", "DenseNet", partial(densenet, (1, 2)), FULL, "forward train-adamw"),
        ("densenet", "r2x2x2", "DenseNet", partial(densenet, (2, 2, 2)), HALF, "forward grad"),
        ("vgg", "r1x1x2", None, partial(vgg, (1, 1, 2)), FULL, "forward train-adam"),
        ("vgg", "r2x2x3x3", None, partial(vgg, (2, 2, 3, 3)), MIXED, "forward grad"),
        ("xception", "s2", "Xception", partial(xception, 2), FULL, "forward train-adam"),
        ("xception", "s3", "Xception", partial(xception, 3), HALF, "forward grad"),
        (
            "cspnet",
            "dark",
            "CSPNet",
            partial(cspnet, "dark_block", "dark", (1, 1)),
            FULL,
            "forward train-adamw",
        ),
        (
            "cspnet",
            "csp",
            "CSPNet",
            partial(
                cspnet,
                "bottleneck_block",
                "csp",
                (1, 2),
                bottle_ratio=[0.5],
                expand_ratio=[2.0],
                cross_linear=True,
            ),
            FULL,
            "forward train-sgdm hvp",
        ),
        (
            "cspnet",
            "cs3-edge",
            "CSPNet",
            partial(
                cspnet,
                "edge_block",
                "cs3",
                (1, 1),
                block_ratio=[0.5],
                bottle_ratio=[1.5],
                activation="silu",
            ),
            MIXED,
            "forward grad",
        ),
        (
            "cspnet",
            "grouped",
            "CSPNet",
            partial(
                cspnet,
                "bottleneck_block",
                "csp",
                (2, 2),
                block_ratio=[0.5],
                groups=2,
                avg_down=True,
            ),
            HALF,
            "forward train-lion",
        ),
        ("hgnet", "plain", "HGNetV2", partial(hgnet, False), FULL, "forward train-adam"),
        ("hgnet", "light", "HGNetV2", partial(hgnet, True), FULL, "forward grad"),
        ("hgnet", "light-mixed", "HGNetV2", partial(hgnet, True), MIXED, "train-sgdm"),
        ("resnet", "deeplab-v3", None, partial(deeplab, (2, 4), None), FULL, "forward grad"),
        ("resnet", "deeplab-v3plus", None, partial(deeplab, (2, 4), "P2"), FULL, "train-adam"),
        ("resnet", "retinanet", None, partial(retinanet, False), FULL, "forward grad"),
        ("resnet", "retinanet-norm", None, partial(retinanet, True), FULL, "train-sgdm"),
        ("resnet", "basnet", None, basnet, FULL, "forward"),
    ]
    yield from vision_recipes(models)
