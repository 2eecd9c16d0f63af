"""Tests the comparison of an update on two devices, with the CPU as both."""

from dataclasses import replace

import pytest
import torch

from benchmarks import devices
from benchmarks.loops import Loop, config_of
from benchmarks.settings import PRESETS
from benchmarks.subjects import names_near
from models.ppo import PPO

SETTINGS = replace(PRESETS["quick"], learning_sizes=(100,), modules=1, rounds=1)


@pytest.mark.slow
def test_the_same_device_learns_the_same_and_its_parameters_move():
    figures = {f.row: f.value for f in devices.measure(SETTINGS)}
    assert figures["update on cpu"] > 0
    assert figures["cpu over cpu"] == 1
    assert figures["largest difference of a parameter"] == 0
    assert figures["largest difference when repeated"] == 0
    with Loop("gnn", names_near(100, 1), 1, SETTINGS) as loop:
        learner = PPO(loop.policy, config_of(SETTINGS).gat_ppo)
        before = devices.parameters(learner)
        after = devices.parameters(devices.update(learner, loop.collect().rollout))
    assert torch.isfinite(after).all()
    assert not torch.equal(after, before)
