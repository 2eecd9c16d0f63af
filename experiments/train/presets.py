"""Presets of the training programs."""

from dataclasses import replace

from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    OpCountTrainConfig,
    RewriteTrainConfig,
    TuningTrainConfig,
)
from models.config import PPOConfig

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
# What a sweep is worth may show many steps later, when single rewrites follow.
_REWRITE_PPO = PPOConfig(gamma=0.97)
REWRITE_PRESETS: dict[str, RewriteTrainConfig] = {
    "quick": RewriteTrainConfig(
        total_steps=24_000,
        num_envs=8,
        horizon=60,
        play_horizon=300,
        patience=30,
        evaluations=6,
        train_op_limit=500,
        validation_count=16,
        test_count=24,
        sweeps=True,
        ppo=_REWRITE_PPO,
    ),
    "full": replace(
        RewriteTrainConfig(**_FULL),
        train_op_limit=2_000,
        test_op_limit=4_000,
        horizon=100,
        play_horizon=1_000,
        patience=50,
        sweeps=True,
        ppo=_REWRITE_PPO,
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
# Log ratios of whole episodes are of order one, and what a decision is worth shows at once or a few
# decisions later.
_TUNING_PPO = PPOConfig(reward_scale=0.02, entropy_weight=0.02)
TUNING_PRESETS: dict[str, TuningTrainConfig] = {
    "quick": TuningTrainConfig(
        total_steps=8_192,
        num_envs=16,
        horizon=16,
        evaluations=4,
        validation_count=12,
        test_count=24,
        ppo=_TUNING_PPO,
    ),
    "full": replace(
        TuningTrainConfig(**_FULL),
        total_steps=60_000,
        train_op_limit=1_200,
        test_op_limit=3_000,
        horizon=24,
        ppo=_TUNING_PPO,
    ),
}
