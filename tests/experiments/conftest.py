"""A world of known values that obeys the contract of the pass-ordering environment."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from envs.run_times import RUN_TIMES
from experiments.policies.config import GNNTrainConfig
from experiments.policies.kind import PolicyKind, policy_kind
from experiments.policies.pass_ordering import context_width
from experiments.train.program import train
from models.actor_critic import ActorCritic
from models.config import HeadsConfig, OpCountConfig
from models.op_count_mlp import OpCountEncoder
from tests.experiments.tiny_run import tiny_config, tiny_rewrite_config
from tests.experiments.workers.ray.ray_setting import contained_ray

# Tensors of the tests are tiny, and test workers share the cores.
torch.set_num_threads(1)


class CountdownEnv(gymnasium.Env[np.ndarray, np.int64]):
    """A module is a number; action 0 takes 1 off, action 1 does nothing, action 2 stops.

    Benchmark "n" starts at n. Action 1 is masked where it was tried, and so is action 0 at
    zero; the table of what was tried outlives an episode, but not a seed.
    """

    def __init__(self, horizon: int) -> None:
        self.observation_space = gymnasium.spaces.Box(0, np.inf, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3)
        self._horizon = horizon
        self._no_ops: dict[int, set[int]] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts at the number that the options name."""
        super().reset(seed=seed)
        assert options is not None
        if seed is not None:
            self._no_ops = {}
        self._benchmark = options["benchmark"]
        self._count = self._start = int(self._benchmark)
        self._steps = 0
        return self._observation(), self._info(None, False)

    def step(self, action: np.int64 | int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Counts down, does nothing, or stops."""
        self._steps += 1
        changed = action == 0 and self._count > 1
        self._count -= changed
        if not changed and action != 2:
            self._no_ops.setdefault(self._count, set()).add(int(action))
        name = ("countdown", "nothing", "stop")[action]
        truncated = action != 2 and self._steps == self._horizon
        info = self._info(name, changed)
        return self._observation(), float(changed), action == 2, truncated, info

    def _observation(self) -> np.ndarray:
        return np.array([self._count, 1], np.float32)

    def _info(self, name: str | None, changed: bool) -> dict[str, Any]:
        tried = self._no_ops.get(self._count, set())
        return {
            "benchmark": self._benchmark,
            "start_op_count": self._start,
            "op_count": self._count,
            "start_size": self._start,
            "size": self._count,
            "num_steps": self._steps,
            "step_name": name,
            "changed": changed,
            "step_time": 1e-6,
            "fingerprint": f"{self._count:032x}",
            "error": None,
            "action_mask": np.array([a not in tried for a in range(3)], np.int8),
        }


@pytest.fixture
def make_countdown() -> Callable[[int], Callable[[], CountdownEnv]]:
    """A function of the horizon that gives a maker of `CountdownEnv`."""
    return lambda horizon: lambda: CountdownEnv(horizon)


@pytest.fixture
def countdown_kind() -> PolicyKind:
    """A kind of policy that encodes states of `CountdownEnv`."""
    return policy_kind("op_counts", GNNTrainConfig())


@pytest.fixture
def countdown_policy() -> ActorCritic:
    """A new policy for `CountdownEnv`."""
    torch.manual_seed(0)
    return ActorCritic(
        OpCountEncoder(2, OpCountConfig(width=16)), context_width(3), 3, HeadsConfig(16)
    )


@pytest.fixture
def brief_run_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times states that environments of this process run for a moment."""
    how = RUN_TIMES._how._replace(pairs=2, sample_seconds=0.0)
    monkeypatch.setattr(RUN_TIMES, "_how", how)


@pytest.fixture(scope="session")
def contained() -> Iterator[None]:
    """Ray writes to a folder of its own, removed in the end."""
    with contained_ray():
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run of `tiny_config`."""
    folder = tmp_path_factory.mktemp("run") / "finished"
    assert train(tiny_config(out=folder, workers="in-process")) == 0
    return folder


@pytest.fixture(scope="session")
def finished_rewrites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished run of `tiny_rewrite_config`."""
    folder = tmp_path_factory.mktemp("rewrites") / "finished"
    assert train(replace(tiny_rewrite_config(), out=folder)) == 0
    return folder
