"""Settings survive JSON, and what does not belong to them is named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.policies.config import GNNTrainConfig, PassTrainConfig, from_json, to_json
from experiments.train.command_line import GNN_PRESETS, OP_COUNT_PRESETS
from models.config import GATConfig, PPOConfig


@pytest.mark.parametrize("config", [*GNN_PRESETS.values(), *OP_COUNT_PRESETS.values()])
def test_presets_come_back(config):
    assert from_json(type(config), json.loads(json.dumps(to_json(config)))) == config


def test_every_kind_of_value_comes_back():
    config = replace(
        GNN_PRESETS["quick"],
        benchmarks=("a", "b"),
        out=Path("runs/x"),
        gat=GATConfig(layers=7),
        gat_ppo=PPOConfig(value_clip=0.5, target_kl=None),
    )
    assert from_json(GNNTrainConfig, json.loads(json.dumps(to_json(config)))) == config


def test_missing_settings_take_their_defaults():
    assert from_json(PassTrainConfig, {"seed": 3}) == PassTrainConfig(seed=3)


def test_unknown_settings_are_named():
    with pytest.raises(ValueError, match="PassTrainConfig has no setting gat, layers"):
        from_json(PassTrainConfig, {"gat": {}, "layers": 3})
