"""Nets of flax and haiku spread over eight devices, as XLA's SPMD partitioner leaves them."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from partitioned import request_devices, sharded_recipes
from recipe import Recipe
from sources.flax_linen import convnet_task, experts_task, mixer_task, tagger_task
from sources.haiku_modules import mlp_task, recurrent_task, resnet_task, stacked_task
from tasks import Task

# Axis that tensor or expert parallelism splits: outputs of a pair's first matrix, inputs of its
# second; the experts of a mixture.
MLP_SPLIT = {r"linear_[02]/[wb]": -1, r"linear_[13]/w": 0}
MIXER_SPLIT = {r"Dense_[02]/kernel": 1, r"Dense_[02]/bias": 0, r"Dense_[13]/kernel": 0}
EXPERTS_SPLIT = {r"inner|outer": 0}
STACK_SPLIT = {r"(query|key|value|linear_0)/w": 2, r"attention/linear/w|linear_1/w": 1}
LSTM_SPLIT = {r"lstm[^/]*/linear/w": 1, r"lstm[^/]*/linear/b": 0}

Model = tuple[
    str, str, str, str, Callable[[], Task], dict[str, tuple[str, ...]], str, dict[str, int]
]


def models() -> list[Model]:
    """Returns family, library, model, class, task, kinds by layout, size and split of each net."""
    mlp = partial(mlp_task, batch=16)
    experts = partial(experts_task, 8, 16)
    flax, haiku = "flax", "dm-haiku"
    mlp_words, moe_words = "hk.nets.MLP", "Mixture of experts in flax.linen"
    return [
        (
            "mlp",
            haiku,
            "32x64x64x8",
            mlp_words,
            partial(mlp, (32, 64, 64, 8)),
            {
                "dp8": ("train-adam",),
                "tp8": ("grad",),
                "dp4-tp2": ("train-sgdm", "hvp"),
                "fsdp8": ("train-adamw-clip",),
                "dp2-fsdp2-tp2": ("loop-adam",),
            },
            "b16",
            MLP_SPLIT,
        ),
        (
            "mlp",
            haiku,
            "32x64x64x64x8-dropout",
            mlp_words,
            partial(mlp, (32, 64, 64, 64, 8), dropout="threefry2x32"),
            {"dp4-tp2": ("train-rmsprop",)},
            "b16",
            MLP_SPLIT,
        ),
        (
            "cnn",
            flax,
            "w8x16",
            "Convolutions, group norm, max-pooling in flax.linen",
            partial(convnet_task, 8, 28, (8, 16)),
            {"dp8": ("train-adam", "per-example-grad"), "fsdp8": ("grad",), "dp4-sp2": ("grad",)},
            "b8",
            {},
        ),
        (
            "resnet",
            haiku,
            "v2-1x1x1x1",
            "hk.nets.ResNet version 2, basic blocks",
            partial(resnet_task, (1, 1, 1, 1), bottleneck=False, batch=8, size=32),
            {"dp8": ("train-sgdm",), "dp2-sp4": ("grad",)},
            "b8",
            {},
        ),
        (
            "resnet",
            haiku,
            "v2-2x2x2x2-bottleneck",
            "hk.nets.ResNet version 2, bottleneck blocks",
            partial(resnet_task, (2, 2, 2, 2), bottleneck=True, batch=8, size=32),
            {"fsdp8": ("train-lamb",)},
            "b8",
            {},
        ),
        (
            "mixer",
            flax,
            "l2-h32",
            "MLP-Mixer in flax.linen",
            partial(mixer_task, 8, 16, blocks=2, hidden=32),
            {"dp8": ("train-lion",), "dp4-tp2": ("train-adamw",), "dp2-sp4": ("forward",)},
            "b8",
            MIXER_SPLIT,
        ),
        (
            "mixer",
            flax,
            "l4-h32-scan",
            "MLP-Mixer in flax.linen, blocks under nn.scan",
            partial(mixer_task, 8, 16, blocks=4, hidden=32, scanned=True),
            {"fsdp8": ("train-adamw",)},
            "b8",
            {},
        ),
        (
            "moe",
            flax,
            "l1-e8-k1",
            moe_words,
            partial(experts, layers=1, hidden=32, experts=8, chosen=1),
            {"ep8": ("forward", "grad"), "dp4-ep2": ("train-adam",), "fsdp8": ("grad",)},
            "b8-s16",
            EXPERTS_SPLIT,
        ),
        (
            "moe",
            flax,
            "l2-e8-k2",
            moe_words,
            partial(experts, layers=2, hidden=32, experts=8, chosen=2),
            {"dp2-ep4": ("train-adamw",), "ep4-fsdp2": ("forward",)},
            "b8-s16",
            EXPERTS_SPLIT,
        ),
        (
            "rnn",
            flax,
            "bilstm-h24",
            "Bidirectional nn.RNN of OptimizedLSTMCell in flax.linen",
            partial(tagger_task, 8, 16, 24),
            {"dp8": ("train-adam",), "fsdp8": ("grad",)},
            "b8-s16",
            {},
        ),
        (
            "rnn",
            haiku,
            "lstm2-h32",
            "hk.DeepRNN of two LSTM cores",
            partial(recurrent_task, "LSTM", 2, 32, batch=8, length=16),
            {"dp4-tp2": ("train-rmsprop",), "tp8": ("forward",)},
            "b8-s16",
            LSTM_SPLIT,
        ),
        (
            "layer-stack",
            haiku,
            "l4-h32",
            "Attention layers under hk.layer_stack",
            partial(stacked_task, 4, 32, batch=8, length=16),
            {"dp4-tp2": ("train-adamw",), "fsdp8": ("grad",)},
            "b8-s16",
            STACK_SPLIT,
        ),
    ]


def recipes() -> Iterator[Recipe]:
    """Yields every partitioned net."""
    request_devices()
    for family, library, model, words, task, programs, size, split in models():
        description = f"{words}, {model}"
        yield from sharded_recipes(family, library, model, description, task, programs, size, split)
