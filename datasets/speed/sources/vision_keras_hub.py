"""Image models of keras-hub: transformers, segmentation, detection, and images with text."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import keras
import keras_hub
from recipe import Recipe
from sources.keras_hub_models import Builder, hub_recipes
from sources.keras_hub_transformers import encoder, vision_transformer
from sources.keras_hub_vision import body, classifier, resnet

LIBRARY = "keras-hub"


def shape(size: int) -> tuple[int, int, int]:
    """Returns the shape of a square image."""
    return size, size, 3


def mixed_transformer(size: int, depth: int) -> keras.Model:
    """Returns MiT-B0, SegFormer's encoder, with `depth` layers in each stage."""
    return body(
        "MiT",
        layerwise_depths=[depth] * 4,
        num_layers=4,
        layerwise_num_heads=[1, 2, 5, 8],
        layerwise_sr_ratios=[8, 4, 2, 1],
        max_drop_path_rate=0.1,
        layerwise_patch_sizes=[7, 3, 3, 3],
        layerwise_strides=[4, 2, 2, 2],
        hidden_dims=[32, 64, 160, 256],
        image_shape=shape(size),
    )


def segformer(size: int, depth: int) -> keras.Model:
    """Returns SegFormer: the encoder's stages brought to one size and mixed."""
    encoder = mixed_transformer(size, depth)
    return keras_hub.models.SegFormerBackbone(image_encoder=encoder, projection_filters=128)


def swin(size: int, width: int, depths: tuple[int, ...]) -> keras.Model:
    """Returns a Swin transformer with windows of 7 patches, shifted in every second layer."""
    return body(
        "SwinTransformer",
        embed_dim=width,
        depths=depths,
        num_heads=[3 * 2**stage for stage in range(len(depths))],
        window_size=7,
        image_shape=shape(size),
    )


def segment_anything(size: int, layers: int, width: int) -> keras.Model:
    """Returns ViTDet, the encoder of SAM: windows, every third layer global, relative positions."""
    return body(
        "ViTDet",
        hidden_size=width,
        num_layers=layers,
        intermediate_dim=4 * width,
        num_heads=6,
        global_attention_layer_indices=list(range(2, layers, 3)),
        patch_size=8,
        num_output_channels=64,
        window_size=7,
        image_shape=shape(size),
    )


def deeplab(size: int) -> keras.Model:
    """Returns DeepLab v3+ on a ResNet-18: dilated convolutions side by side."""
    return keras_hub.models.DeepLabV3Backbone(
        image_encoder=resnet("basic_block", (2, 2, 2, 2), image_shape=shape(size)),
        spatial_pyramid_pooling_key="P4",
        low_level_feature_key="P2",
        upsampling_size=4,
        dilation_rates=[6, 12, 18],
        projection_filters=48,
        image_shape=shape(size),
    )


def retinanet(size: int) -> keras.Model:
    """Returns RetinaNet's feature pyramid on a ResNet of bottlenecks."""
    return keras_hub.models.RetinaNetBackbone(
        image_encoder=resnet("bottleneck_block", (2, 2, 2, 2), image_shape=shape(size)),
        min_level=3,
        max_level=6,
        use_p5=True,
        use_fpn_batch_norm=True,
        image_shape=shape(size),
    )


def cspnet(size: int) -> keras.Model:
    """Returns a cross-stage partial net, the backbone of YOLO's kind."""
    return body(
        "CSPNet",
        stem_filters=32,
        stem_kernel_size=3,
        stem_strides=1,
        stackwise_depth=[1, 2, 2, 1],
        stackwise_strides=[2] * 4,
        stackwise_num_filters=[64, 128, 256, 512],
        block_type="bottleneck_block",
        stage_type="csp",
        bottle_ratio=[0.5],
        expand_ratio=[2.0],
        cross_linear=True,
        image_shape=shape(size),
    )


def hgnet(size: int) -> keras.Model:
    """Returns HGNetV2 with light blocks, which join the outputs of all their layers."""
    return body(
        "HGNetV2",
        depths=[1, 1, 2, 1],
        embedding_size=16,
        hidden_sizes=[64, 256, 512, 1024],
        stem_channels=[3, 16, 16],
        hidden_act="relu",
        use_learnable_affine_block=True,
        stackwise_stage_filters=[
            [16, 16, 64, 1, 3, 3],
            [64, 32, 256, 1, 3, 3],
            [256, 64, 512, 2, 3, 5],
            [512, 128, 1024, 1, 3, 5],
        ],
        apply_downsample=[False, True, True, True],
        use_lightweight_conv_block=[False, False, True, True],
        image_shape=shape(size),
    )


def depth_anything(size: int, layers: int) -> keras.Model:
    """Returns Depth Anything, dense prediction from four stages of DINOv2."""
    image = shape(size)
    positions = {"position_embedding_shape": image, "image_shape": image}
    return keras_hub.models.DepthAnythingBackbone(
        image_encoder=vision_transformer("DINOV2", layers, 192, patch_size=14, **positions),
        reassemble_factors=[4, 2, 1, 0.5],
        neck_hidden_dims=[48, 96, 192, 384],
        fusion_hidden_dim=64,
        head_hidden_dim=32,
        head_in_index=-1,
        feature_keys=[f"stage{stage}" for stage in range(layers - 3, layers + 1)],
    )


def clip(size: int, layers: int, width: int) -> keras.Model:
    """Returns CLIP, two towers whose embeddings are compared."""
    sizes: dict[str, Any] = {"hidden_dim": width, "num_layers": layers, "num_heads": 4}
    sizes |= {"intermediate_dim": 4 * width, "intermediate_activation": "quick_gelu"}
    seen = encoder("CLIP", "Vision")(patch_size=16, image_shape=shape(size), **sizes)
    read = encoder("CLIP", "Text")(
        vocabulary_size=8192, embedding_dim=width, max_sequence_length=32, **sizes
    )
    return keras_hub.models.CLIPBackbone(vision_encoder=seen, text_encoder=read, projection_dim=128)


def patches(name: str, size: int, layers: int, width: int, **options: Any) -> keras.Model:
    """Returns a vision transformer with patches of 16 pixels."""
    return vision_transformer(
        name, layers, width, patch_size=16, image_shape=shape(size), **options
    )


def recipes() -> Iterator[Recipe]:
    """Yields the programs; a model's name has its size and the image's."""
    vit = partial(classifier, "ViT", partial(patches, "ViT", 224, 6, 192))
    deit = partial(classifier, "DeiT", partial(patches, "DeiT", 160, 6, 192))
    dinov3 = partial(patches, "DINOV3", 160, 4, 256)
    models: list[tuple[str, str, Builder, int, str]] = [
        ("vit", "vit-l6-h192-224px", vit, 1, "forward"),
        ("vit", "deit-l6-h192-160px", deit, 2, "train-adamw-clip"),
        ("dino", "v3-l4-h256-160px", dinov3, 1, "forward"),
        ("dino", "depth-anything-l4-h192-112px", partial(depth_anything, 112, 4), 1, "forward"),
        ("segformer", "mit-d2-128px", partial(mixed_transformer, 128, 2), 2, "forward"),
        ("segformer", "full-d1-128px", partial(segformer, 128, 1), 1, "train-adamw"),
        ("swin", "w48-d2x2x2-112px", partial(swin, 112, 48, (2, 2, 2)), 2, "forward"),
        ("swin", "w48-d2x2-112px", partial(swin, 112, 48, (2, 2)), 2, "train-adamw"),
        ("vitdet", "l6-h192-112px", partial(segment_anything, 112, 6, 192), 1, "forward grad"),
        ("deeplab", "v3plus-resnet18-128px", partial(deeplab, 128), 1, "forward train-sgdm"),
        ("retinanet", "resnet26-128px", partial(retinanet, 128), 1, "forward"),
        ("cspnet", "bottleneck-160px", partial(cspnet, 160), 1, "forward"),
        ("cspnet", "bottleneck-96px", partial(cspnet, 96), 2, "train-adamw"),
        ("hgnet", "light-160px", partial(hgnet, 160), 1, "forward"),
        ("clip", "l4-h256-160px", partial(clip, 160, 4, 256), 2, "forward train-adamw"),
    ]
    for family, model, build, batch, kinds in models:
        words = f"{model} of keras-hub, {family}"
        length = 32 if family == "clip" else None
        yield from hub_recipes(family, model, words, build, kinds, batch=batch, length=length)
