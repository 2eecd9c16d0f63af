"""Measures one PPO update on a CPU and on another device, and how far the results differ.

`python -m benchmarks.run --groups devices --device cuda` compares a GPU with one thread of a CPU.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector

from benchmarks.encoder import synchronize
from benchmarks.loops import Loop, config_of
from benchmarks.results import Figure
from benchmarks.settings import Settings
from benchmarks.subjects import learning_subjects, names_near
from benchmarks.timing import Call, interleaved, tracked
from models.actor_critic import ActorCritic
from models.config import PPOConfig
from models.ppo import PPO
from models.rollout import Rollout

TITLE = "An update on two devices"
subjects = learning_subjects
_CPU = "cpu"


def measure(settings: Settings) -> Iterator[Figure]:
    """Updates a new policy on the same rollout, the devices taking turns."""
    config = config_of(settings).gat_ppo
    for size in tracked(settings.learning_sizes):
        with Loop("gnn", names_near(size, settings.modules), 1, settings) as loop:
            rollout = loop.collect().rollout
        yield from _figures(f"{size:,}", loop.policy, rollout, config, settings)


def _figures(
    column: str, start: ActorCritic, rollout: Rollout, config: PPOConfig, settings: Settings
) -> Iterator[Figure]:
    def learner(device: str) -> PPO:
        return PPO(copy.deepcopy(start).to(device), config)

    devices = dict.fromkeys((_CPU, settings.device))
    calls = {d: Call(partial(update, rollout=rollout), partial(learner, d)) for d in devices}
    timings = interleaved(calls, settings.rounds, settings.budget, column=column)
    for device in devices:
        yield Figure.of(f"update on {device}", column, timings.of(device), "s")
    yield timings.times(f"{settings.device} over {_CPU}", settings.device, _CPU)
    before = parameters(learner(_CPU))
    after = [parameters(update(learner(device), rollout)) for device in (_CPU, settings.device)]
    step, apart = after[0] - before, after[1] - after[0]
    again = parameters(update(learner(settings.device), rollout))
    for row, value in {
        "largest difference of a parameter": apart.abs().max(),
        "difference / update, norms": apart.norm() / step.norm(),
        "largest difference when repeated": (again - after[1]).abs().max(),
    }.items():
        yield Figure.of(row, column, 1e6 * float(value), "1e-6")


def update(learner: PPO, rollout: Rollout) -> PPO:
    """Updates a policy once, waits for its device, and returns the learner."""
    learner.update(rollout, 0.0, torch.Generator().manual_seed(0))
    synchronize(next(learner.policy.parameters()).device)
    return learner


def parameters(learner: PPO) -> Tensor:
    """Returns all parameters of the policy as one vector on the CPU."""
    return parameters_to_vector(learner.policy.parameters()).detach().cpu()
