"""Runs the PPO training loop of the trainer with a clock: collect with workers, update."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import torch

from benchmarks.settings import Settings
from experiments.policies.config import GNNTrainConfig, PolicyName, Preset
from experiments.policies.kind import policy_kind
from experiments.train.command_line import GNN_PRESETS
from experiments.workers.task_runner import Iteration as Collection
from experiments.workers.task_runner import TaskRunner
from experiments.workers.worker import PRELOADED, make_rollout_worker
from hlograph.isolation import WorkerPool
from models.actor_critic import ActorCritic
from models.ppo import PPO


@dataclass(frozen=True)
class Timed:
    """Durations of one iteration."""

    frames: int
    collect: float
    """Seconds of collecting, by the trainer's clock."""
    update: float
    """Seconds of the update."""
    sections: dict[str, float]
    """Seconds of each section; together they are all seconds."""

    @property
    def seconds(self) -> float:
        """Seconds of the whole iteration."""
        return self.collect + self.update

    @property
    def frames_per_second(self) -> float:
        """Pass calls per second of collecting and updating."""
        return self.frames / self.seconds


class Loop:
    """Collects with worker processes of its own, and updates a policy.

    Args:
        name: The kind.
        benchmarks: Names of the modules to play.
        workers: Number of processes.
        settings: Device, threads and seed.
        preset: Preset of the trainer.
    """

    def __init__(
        self,
        name: PolicyName,
        benchmarks: Sequence[str],
        workers: int,
        settings: Settings,
        preset: Preset = "quick",
    ) -> None:
        self.name: PolicyName = name
        self.workers, self._benchmarks = workers, benchmarks
        self._config = config_of(settings, preset)
        self._learner = policy_kind(name, self._config)
        self._iteration = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        make_worker = partial(make_rollout_worker, self._config)
        with ExitStack() as stack:
            pool = stack.enter_context(WorkerPool(make_worker, self.workers, preloaded=PRELOADED))
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            self._runner = TaskRunner(self._config, pool, Path(folder))
            self._ppo = PPO(self._learner.new_policy(), self._learner.ppo, self._config.threads)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def policy(self) -> ActorCritic:
        """The policy that plays and learns."""
        return self._ppo.policy

    def iterate(self) -> Timed:
        """Collects one rollout and updates the policy once."""
        seed = [self._config.seed, self._iteration]
        self._iteration += 1
        start = time.perf_counter()
        collected = self._runner.collect(self.name, self._ppo.policy, self._benchmarks, seed)
        middle = time.perf_counter()
        self._update(collected, seed)
        return self._timed(collected, middle - start, time.perf_counter() - middle)

    def collect(self) -> Collection:
        """Collects one rollout without learning from it."""
        return self._runner.collect(
            self.name, self._ppo.policy, self._benchmarks, [self._config.seed]
        )

    def _update(self, collected: Collection, seed: list[int]) -> None:
        update_seed = int(np.random.SeedSequence([*seed, 1]).generate_state(1)[0])
        self._ppo.update(
            collected.rollout,
            progress=0.0,
            generator=torch.Generator().manual_seed(update_seed),
        )

    def _timed(self, collected: Collection, collect: float, update: float) -> Timed:
        sections = {name: s / self.workers for name, s in collected.seconds.items()}
        sections["other collecting"] = collect - sum(sections.values())
        sections["update"] = update
        frames = collected.rollout.action.numel()
        return Timed(frames, collect, update, sections)


def config_of(settings: Settings, preset: Preset = "quick") -> GNNTrainConfig:
    """Returns a preset of the trainer: with quick, 16 environments of 40 steps an iteration."""
    return replace(
        GNN_PRESETS[preset],
        seed=settings.seed,
        device=settings.device,
        threads=settings.threads,
    )
