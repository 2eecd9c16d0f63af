"""Command lines of the training programs, and their presets.

The command line is built from a dataclass. `--preset` and `--resume` decide the defaults of the
other settings, so they are parsed first.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import tyro

from experiments.evaluate.run_folder import CONFIG, CONFIG_KIND, CONFIG_VERSION
from experiments.policies.config import (
    FusionTrainConfig,
    GNNTrainConfig,
    PassTrainConfig,
    RewriteTrainConfig,
    TrainConfig,
    TuningTrainConfig,
    from_json,
)
from hlograph.errors import DamagedFileError
from hlograph.storage.checked_file import read_checked_json
from hlograph.storage.locations import as_location, is_url, join
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

OP_COUNT_PRESETS: dict[str, PassTrainConfig] = {
    "quick": PassTrainConfig(),
    "full": PassTrainConfig(**_FULL, play_horizon=72),
}
# Distinct neighbourhoods grow slower than frames, so large iterations cost less a frame, and long
# trainings learn as much from them (docs/experiments-results.md). The op counts take as many steps
# of the optimizer as with half the environments.
_LARGE = {
    "num_envs": 64,
    "gat_ppo": replace(GNNTrainConfig().gat_ppo, epochs=1, minibatches=8, whole_episodes=True),
    "op_counts_ppo": PPOConfig(minibatches=8),
}
GNN_PRESETS: dict[str, GNNTrainConfig] = {
    "quick": GNNTrainConfig(),
    "full": GNNTrainConfig(**_FULL | _LARGE, play_horizon=72),
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


Config = TypeVar("Config", bound=TrainConfig)


def parse(
    presets: Mapping[str, Config], description: str, arguments: Sequence[str] | None = None
) -> Config:
    """Returns the settings that a command line asks for.

    Args:
        presets: Defaults by the name of the preset, all of one class, which names the program.
        description: Description of the program, for `--help`.
        arguments: The command line without the program; by default this process's.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    prog = f"python -m experiments.{presets['quick'].program}"
    first = argparse.ArgumentParser(prog, add_help=False, allow_abbrev=False)
    first.add_argument("--preset", choices=list(presets))
    first.add_argument("--resume")
    given, _ = first.parse_known_args(arguments)
    default = presets[given.preset or "quick"]
    if given.resume is not None:
        default = _stored(type(default), given.resume)
        if given.preset not in (None, default.preset):
            first.error(f"--preset: the run in {given.resume} has preset {default.preset}")
    config = tyro.cli(
        type(default), default=default, args=arguments, prog=prog, description=description
    )
    if given.resume is not None and is_url(given.resume):
        if config.out is None:
            first.error("--out: name the folder in which the run at a URL is to go on")
    elif given.resume is not None and config.out != default.out:
        first.error(f"--out: a resumed run stays in its folder, {default.out}")
    return config


def _stored(cls: type[Config], resume: str) -> Config:
    """Returns the settings of the run in a folder, at a URL, or that a checkpoint belongs to."""
    given = as_location(resume)
    places = (given,) if isinstance(given, str) else (given, *given.parents[:2])
    for place in places:
        try:
            stored = read_checked_json(join(place, CONFIG), CONFIG_KIND, CONFIG_VERSION)["config"]
            out = place if isinstance(place, Path) else None
            return replace(from_json(cls, stored), out=out, resume=resume)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (DamagedFileError, OSError) as error:
            sys.exit(f"--resume: {error}")
        except ValueError as error:
            sys.exit(f"--resume: {place} is of another program or version: {error}")
    sys.exit(f"--resume: there is no {CONFIG} in {resume}" + " or above it" * (len(places) > 1))
