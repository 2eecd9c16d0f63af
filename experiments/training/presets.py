"""Presets of the training programs."""

from dataclasses import replace

from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    OpCountTrainConfig,
    RewriteTrainConfig,
)

_FULL = {
    "preset": "full",
    "train_op_limit": 8_000,
    "test_op_limit": 8_000,
    "test_count": 120,
    "validation_count": None,
    "total_steps": 1_000_000,
    "num_envs": 32,
    "horizon": 48,
    "evaluations": 20,
}

OP_COUNT_PRESETS: dict[str, OpCountTrainConfig] = {
    "quick": OpCountTrainConfig(),
    "full": OpCountTrainConfig(**_FULL),
}
GNN_PRESETS: dict[str, GNNTrainConfig] = {
    "quick": GNNTrainConfig(),
    "full": GNNTrainConfig(**_FULL),
}
REWRITE_PRESETS: dict[str, RewriteTrainConfig] = {
    # A module takes about half as many rewrites as it has instructions: episodes are long.
    "quick": RewriteTrainConfig(
        total_steps=24_000,
        num_envs=8,
        horizon=100,
        evaluations=3,
        validation_count=16,
        test_count=24,
    ),
    "full": replace(
        RewriteTrainConfig(**_FULL),
        train_op_limit=2_000,
        test_op_limit=4_000,
        horizon=200,
        play_horizon=4_000,
    ),
}
FUSION_PRESETS: dict[str, FusionTrainConfig] = {
    # A module asks for about as many decisions as it has instructions.
    "quick": FusionTrainConfig(
        total_steps=24_000,
        num_envs=8,
        horizon=300,
        evaluations=3,
        validation_count=16,
        test_count=24,
    ),
    "full": replace(
        FusionTrainConfig(**_FULL), train_op_limit=1_000, test_op_limit=2_000, horizon=2_000
    ),
}
