"""A run of two iterations on two small benchmarks, and what such runs leave."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from experiments.policies.checkpoint import Checkpoint
from experiments.policies.config import GNNTrainConfig, RewriteTrainConfig
from experiments.train.command_line import GNN_PRESETS, REWRITE_PRESETS
from hlograph import corpus
from hlograph.storage.checked_file import read_checked_json
from models.config import ActionConfig, CloningConfig, EffectHeadConfig, GATConfig

LEARNERS = ("gnn", "op_counts")
# Named, for a policy that has hardly learned hangs on how many there are: this one rewrites.
RULES = ("algebraic", "merge", "remove", "inline")


def _smallest(split: str, count: int) -> list[corpus.Benchmark]:
    return sorted(corpus.load(split=split), key=lambda b: b.op_count)[:count]


def tiny_config(**changes: Any) -> GNNTrainConfig:
    """Returns settings of the run."""
    held_out = _smallest("test-unseen", 2)
    config = replace(
        GNN_PRESETS["quick"],
        benchmarks=tuple(b.name for b in _smallest("train", 2)),
        train_op_limit=10**6,
        test_op_limit=held_out[-1].op_count,
        total_steps=48,
        num_envs=4,
        envs_per_task=2,
        num_workers=2,
        horizon=6,
        play_horizon=6,
        evaluations=2,
        validation_count=1,
        cloning=CloningConfig(epochs=1, corrections=1, correction_epochs=1),
        effects=EffectHeadConfig(epochs=4, minibatch=16),
        checkpoint_every=1,
        samples=1,
        threads=1,
        gat=GATConfig(layers=1, heads=2, head_width=8, edge_width=4, counted_kinds=4),
    )
    return replace(config, **changes)


def tiny_rewrite_config() -> RewriteTrainConfig:
    """Returns settings of a run that trains to rewrite, two iterations on the same benchmarks."""
    like = tiny_config()
    same = ("benchmarks", "train_op_limit", "test_op_limit", "total_steps", "num_envs")
    same += ("envs_per_task", "horizon", "validation_count", "checkpoint_every", "samples", "gat")
    return replace(
        REWRITE_PRESETS["quick"],
        seed=1,
        rules=RULES,
        workers="in-process",
        threads=1,
        evaluations=1,
        max_candidates=16,
        play_horizon=like.horizon,
        candidates=ActionConfig(width=8, score_width=8),
        **{name: getattr(like, name) for name in same},
    )


def results(folder: Path) -> dict[str, Any]:
    """Returns the results of a run."""
    return read_checked_json(folder / "results.json", "results", 1)


def checkpoints(folder: Path) -> dict[str, Checkpoint]:
    """Returns its last checkpoints, by kind."""
    return {name: Checkpoint.load(folder / name / "checkpoint.pt") for name in LEARNERS}


def same_policies(one: Path, other: Path) -> bool:
    """Returns True if two runs learned the same, bit by bit."""
    first, second = checkpoints(one), checkpoints(other)
    return all(
        torch.equal(first[name].policy[key], second[name].policy[key])
        for name in LEARNERS
        for key in first[name].policy
    )
