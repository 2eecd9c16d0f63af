"""The split that a program of the set `speed` belongs to: whole families, by the table below.

Kinds are for the balance of the splits: each kind occurs in `train` and in `test`.
"""

from __future__ import annotations

from collections.abc import Iterable

from manifest import Row

FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {
        "vision": (
            *("mobilenet", "resnet", "densenet", "nasnet", "vgg", "xception", "cspnet", "deeplab"),
            *("vit", "dino", "clip", "mixer", "cnn", "segmentation-unet", "super-resolution"),
            *("vqvae", "vae", "vitdet", "retinanet"),
        ),
        "language": (
            *("gpt2", "gpt-neo", "gpt-neox", "bert", "albert", "bart", "whisper", "lstm"),
            *("gru", "translator", "mamba", "wavenet", "moe", "graph-attention"),
            *("interaction-network", "llama", "mistral", "gpt-j", "bloom", "big-bird", "fnet"),
            *("long-convolution", "graph-convolution"),
        ),
        "science": (
            *("gaussian-process", "molecular-dynamics", "kalman", "mcmc", "stencil", "fluid"),
            *("optimizer", "lattice"),
        ),
        "algorithms": (
            *("k-means", "clustering", "optimal-transport", "sorting", "selection", "linear-solve"),
            *("evolution", "fft", "graph-algorithm", "dynamic-programming", "loss", "transpose"),
            *("depthwise-convolution", "transposed-convolution", "one-hot-product"),
            *("cumulative-sum",),
        ),
    },
    "validation": {
        "vision": ("efficientnet", "segformer", "hgnet"),
        "language": ("t5", "roformer", "deberta", "falcon"),
        "science": ("variational-inference", "sde", "rigid-body"),
        "algorithms": ("nearest-neighbours", "decomposition", "image-processing"),
    },
    "test": {
        "vision": (*("convnext", "inception", "swin", "conv-lstm", "nerf", "diffusion-unet"),),
        "language": (
            *("gemma", "mixtral", "wav2vec2", "rwkv", "state-space", "vocoder", "graph-network"),
        ),
        "science": ("n-body", "ode", "hidden-markov", "wave"),
        "algorithms": (
            *("reduction", "searching", "dense-linear-algebra", "signal", "sampling"),
            *("small-loop", "convolution-loop", "pairwise-distance", "gather-project"),
        ),
    },
}
"""Families by split and kind. A new family is one word here."""

SPLITS: dict[str, str] = {
    family: split
    for split, kinds in FAMILIES.items()
    for families in kinds.values()
    for family in families
}
"""Split by family."""


def split_of_family(family: str) -> str:
    """Returns the split of a family.

    Raises:
        LookupError: The table has no such family.
    """
    if family not in SPLITS:
        raise LookupError(f"family {family} has no split: add it to FAMILIES in {__name__}.py")
    return SPLITS[family]


def kind_of_family(family: str) -> str:
    """Returns the kind of a family: vision, language, science or algorithms."""
    kinds = FAMILIES[split_of_family(family)]
    return next(kind for kind, families in kinds.items() if family in families)


def assign(rows: Iterable[Row]) -> list[Row]:
    """Returns the rows with their set and splits."""
    return [row._replace(set="speed", split=split_of_family(row.family)) for row in rows]
