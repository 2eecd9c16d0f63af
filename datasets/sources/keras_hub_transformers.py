"""Vision transformers of keras-hub, and models of images with text or over time."""

# pyright: reportMissingImports=false
from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import keras
import keras_hub
from recipe import Recipe
from sources.keras_hub_models import FULL, HALF, MIXED
from sources.keras_hub_vision import SHAPE, VisionModel, body, vision_recipes


def vision_transformer(name: str, layers: int, width: int, **options: Any) -> keras.Model:
    """Returns ViT, DeiT, DINOv2 or DINOv3, which differ in tokens, scales and positions."""
    hidden = "mlp_dim" if name == "ViT" else "intermediate_dim"
    sizes = {"num_layers": layers, "num_heads": 4, "hidden_dim": width, hidden: 2 * width}
    return body(name, **{"patch_size": 8, **sizes, **options})


def mixed_transformer(depths: tuple[int, ...], drop: float) -> keras.Model:
    """Returns MiT, SegFormer's encoder, whose attention looks at fewer keys than queries."""
    stages = len(depths)
    return body(
        "MiT",
        layerwise_depths=list(depths),
        num_layers=stages,
        layerwise_num_heads=[1, 2, 4, 8][:stages],
        layerwise_sr_ratios=[8, 4, 2, 1][-stages:],
        max_drop_path_rate=drop,
        layerwise_patch_sizes=[7, 3, 3, 3][:stages],
        layerwise_strides=[4, 2, 2, 2][:stages],
        hidden_dims=[16, 24, 32, 64][:stages],
    )


def segformer(depths: tuple[int, ...]) -> keras.Model:
    """Returns SegFormer: the encoder's stages brought to one size and mixed."""
    encoder = mixed_transformer(depths, 0.0)
    return keras_hub.models.SegFormerBackbone(image_encoder=encoder, projection_filters=16)


def swin(depths: tuple[int, ...], **options: Any) -> keras.Model:
    """Returns a Swin transformer, with shifted windows."""
    heads = [2 * 2**stage for stage in range(len(depths))]
    return body(
        "SwinTransformer", embed_dim=16, depths=depths, num_heads=heads, window_size=4, **options
    )


def vitdet(layers: int, globals_at: tuple[int, ...]) -> keras.Model:
    """Returns ViTDet, the encoder of SAM, with windows and relative positions."""
    return body(
        "ViTDet",
        hidden_size=32,
        num_layers=layers,
        intermediate_dim=64,
        num_heads=4,
        global_attention_layer_indices=list(globals_at),
        patch_size=4,
        num_output_channels=16,
        window_size=4,
    )


def encoder(name: str, side: str) -> Any:
    """Returns the class of one tower of an image-text model, which the library does not export."""
    model = name.lower()
    path = f"keras_hub.src.models.{model}.{model}_{side.lower()}_encoder"
    return getattr(importlib.import_module(path), f"{name}{side}Encoder")


def image_text(name: str, layers: int) -> keras.Model:
    """Returns CLIP or SigLIP, two towers whose embeddings are compared."""
    clip = name == "CLIP"
    sizes = {"hidden_dim": 32, "num_layers": layers, "num_heads": 4, "intermediate_dim": 64}
    vision, text = encoder(name, "Vision"), encoder(name, "Text")
    act = {"intermediate_activation": "quick_gelu"} if clip else {}
    seen = vision(patch_size=8, image_shape=SHAPE, **sizes, **act)
    widths = {"vocabulary_size": 64, "embedding_dim": 32, "max_sequence_length": 16}
    extra = {} if clip else {"projection_dim": 32}
    read = text(**widths, **sizes, **act, **extra)
    backbone = getattr(keras_hub.models, f"{name}Backbone")
    shared = {"projection_dim": 32} if clip else {}
    return backbone(vision_encoder=seen, text_encoder=read, **shared)


def depth_anything(layers: int) -> keras.Model:
    """Returns Depth Anything, dense prediction from four stages of DINOv2."""
    stages = [f"stage{stage}" for stage in range(layers - 3, layers + 1)]
    return keras_hub.models.DepthAnythingBackbone(
        image_encoder=vision_transformer(
            "DINOV2", layers, 32, patch_size=4, position_embedding_shape=SHAPE
        ),
        reassemble_factors=[4, 2, 1, 0.5],
        neck_hidden_dims=[8, 8, 16, 16],
        fusion_hidden_dim=8,
        head_hidden_dim=8,
        head_in_index=-1,
        feature_keys=stages,
    )


def parseq(layers: int) -> keras.Model:
    """Returns PARSeq, reading of text in images."""
    sizes = {"decoder_hidden_dim": 32, "num_decoder_heads": 4, "decoder_mlp_dim": 64}
    encoder = vision_transformer("ViT", layers, 32, use_class_token=False)
    options = {"vocabulary_size": 40, "max_label_length": 16, "num_decoder_layers": layers}
    return keras_hub.models.PARSeqBackbone(image_encoder=encoder, **sizes, **options)


def video_prism(spatial: int, temporal: int) -> keras.Model:
    """Returns VideoPrism: attention within frames, then between them."""
    return body(
        "VideoPrism",
        num_frames=4,
        patch_size=8,
        hidden_dim=32,
        intermediate_dim=64,
        num_heads=4,
        num_spatial_layers=spatial,
        num_temporal_layers=temporal,
        num_auxiliary_layers=0,
    )


def recipes() -> Iterator[Recipe]:
    """Yields the vision transformers."""
    vit = vision_transformer
    small = {"position_embedding_shape": SHAPE}
    models: list[VisionModel] = [
        ("vit", "vit-l1", "ViT", partial(vit, "ViT", 1, 32), FULL, "forward train-adam"),
        ("vit", "vit-l3", "ViT", partial(vit, "ViT", 3, 32, dropout_rate=0.1), FULL, "grad"),
        ("vit", "vit-l2", "ViT", partial(vit, "ViT", 2, 32), MIXED, "forward train-adamw-clip"),
        ("vit", "deit-l2", "DeiT", partial(vit, "DeiT", 2, 32), FULL, "forward train-lamb"),
        ("vit", "dinov2-l2", None, partial(vit, "DINOV2", 2, 32, **small), FULL, "forward"),
        (
            "vit",
            "dinov2-l2-swiglu",
            None,
            partial(vit, "DINOV2", 2, 32, **small, use_swiglu_ffn=True, num_register_tokens=2),
            FULL,
            "train-adamw",
        ),
        ("vit", "dinov3-l2", None, partial(vit, "DINOV3", 2, 32), FULL, "forward grad"),
        ("vit", "vitdet-l2", None, partial(vitdet, 2, (1,)), FULL, "forward train-adam"),
        ("vit", "vitdet-l3", None, partial(vitdet, 3, (2,)), HALF, "grad"),
        ("segformer", "mit", "MiT", partial(mixed_transformer, (1, 1), 0.0), FULL, "forward hvp"),
        ("segformer", "mit-drop", "MiT", partial(mixed_transformer, (1, 1), 0.2), FULL, "grad"),
        (
            "segformer",
            "mit4",
            "MiT",
            partial(mixed_transformer, (1,) * 4, 0.1),
            FULL,
            "train-adamw",
        ),
        ("segformer", "full", None, partial(segformer, (1, 1, 1, 1)), FULL, "forward train-adam"),
        ("segformer", "full-half", None, partial(segformer, (1, 1, 1, 1)), HALF, "forward"),
        ("swin", "d1x1", "SwinTransformer", partial(swin, (1, 1)), FULL, "forward grad"),
        ("swin", "d2x2", "SwinTransformer", partial(swin, (2, 2)), FULL, "forward train-adamw"),
        ("swin", "d2", "SwinTransformer", partial(swin, (2,), drop_path=0.0), MIXED, "forward hvp"),
        ("clip", "l1", None, partial(image_text, "CLIP", 1), FULL, "forward train-adamw"),
        ("clip", "l2", None, partial(image_text, "CLIP", 2), MIXED, "grad"),
        ("clip", "siglip-l1", None, partial(image_text, "SigLIP", 1), FULL, "forward train-adam"),
        ("clip", "siglip-l2", None, partial(image_text, "SigLIP", 2), FULL, "grad"),
        ("vit", "depth-anything-l4", None, partial(depth_anything, 4), FULL, "forward grad"),
        ("vit", "parseq-l1", None, partial(parseq, 1), FULL, "forward train-adam"),
        ("vit", "video-prism-s1-t1", None, partial(video_prism, 1, 1), FULL, "forward train-adamw"),
    ]
    yield from vision_recipes(models)
