"""Agents of other libraries: their environments, their play, and the task that trains one.

The agents see op counts alone, ln(1 + count) scaled as for this project's own op-count policy, and
neither the action mask nor the passes tried in the episode. This is the paper's setting. A greedy
agent without memory that chooses a pass without effect repeats it until the horizon. Only
"maskable-ppo" learns with the mask. So that this weakness does not hide what the others learned,
each of them is also played with the mask. The libraries are imported by ``third_party`` alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, cast

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation, TransformReward

from envs import PassOrderingEnv
from experiments.evaluate.evaluation import Outcome
from experiments.paper.training_settings import AgentName, AgentSettings
from experiments.policies.config import STOP_ABOVE, PassTrainConfig
from experiments.policies.evaluator import likeliest
from experiments.policies.kind import PlayedEpisode, least_state, policy_kind
from experiments.workers.collecting import Deck
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from hlograph.storage.event_files import tensorboard_without_tensorflow
from models.config import LOG_COUNT_SCALE

_MAX_LOG_COUNT = 20.0 * LOG_COUNT_SCALE
_KIND, _VERSION = "trained agent", 2

MakeEnv = Callable[[], PassOrderingEnv]
Scores = Callable[[np.ndarray], np.ndarray]
"""Function from an observation, float32 [opcodes], to a score of each action, float32 [A]."""
Point = tuple[int, list[Outcome]]
"""Pass calls trained on, and the agent's outcomes on the validation benchmarks after them."""


@dataclass(frozen=True)
class AgentTraining:
    """One agent to train, with its seed and benchmarks."""

    name: AgentName
    settings: AgentSettings
    seed: int
    benchmarks: Sequence[str]
    """Benchmarks to train on."""
    validation: Sequence[str]
    """Benchmarks to play on while it learns."""
    held_out: Sequence[str]
    """Benchmarks to play on in the end."""


@dataclass(frozen=True)
class Learned:
    """Outcomes of a trained agent."""

    curve: list[Point]
    """Learning curve; its last point is the end of the training."""
    outcomes: list[Outcome]
    """Outcomes on the held-out benchmarks, after the training."""


class DealtEpisodes(gymnasium.Wrapper):
    """Wrapper that begins each episode with the next benchmark of a deck.

    stable-baselines3 resets environments without options. This project's own training deals
    benchmarks in the same way. Each episode begins with nothing known of passes.

    Args:
        env: The environment.
        deck: Gives the benchmark of each episode.
    """

    def __init__(self, env: PassOrderingEnv, deck: Deck) -> None:
        super().__init__(env)
        self._deck = deck

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode on the deck's next benchmark; ``seed`` and ``options`` are ignored."""
        return self.env.reset(seed=0, options={"benchmark": self._deck.deal()})


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Returns op counts as agents see them: ln(1 + count), scaled to about 1."""
    return np.log1p(counts) * np.float32(LOG_COUNT_SCALE)


def training_env(env: PassOrderingEnv, deck: Deck, reward_scale: float) -> gymnasium.Env:
    """Returns an environment for agents to train in.

    Args:
        env: Environment with op counts as observations.
        deck: Gives the benchmark of each episode.
        reward_scale: Factor on every reward.
    """
    shape = env.observation_space.shape
    space = spaces.Box(0.0, _MAX_LOG_COUNT, shape, np.float32)
    dealt = TransformObservation(DealtEpisodes(env, deck), log_counts, space)
    return TransformReward(dealt, lambda reward: float(reward) * reward_scale)


def play(
    scores: Scores, make_env: MakeEnv, benchmarks: Sequence[str], *, masked: bool, draws: bool
) -> list[Outcome]:
    """Plays one greedy episode on each benchmark, in new environments.

    Args:
        scores: The agent.
        make_env: Makes an environment with op counts as observations.
        benchmarks: Names of the benchmarks.
        masked: True to leave out passes that changed nothing before in the same state.
        draws: True if scores are log-probabilities; the agent then takes the ``likeliest`` action,
            as this project's policies do. False if they are action values; the agent then takes
            the highest.
    """
    return [_episode(scores, make_env(), name, masked, draws) for name in benchmarks]


def greedy(scores: np.ndarray, mask: np.ndarray, *, draws: bool) -> int:
    """Returns the greedy action; see ``play``.

    Args:
        scores: float32 [A].
        mask: [A], 0 where an action is left out.
        draws: True if scores are log-probabilities.
    """
    allowed = np.where(mask, scores, -np.inf).astype(np.float32)
    if not draws:
        return int(allowed.argmax())
    return int(likeliest(torch.log_softmax(torch.from_numpy(allowed), 0)[None], STOP_ABOVE))


def _episode(
    scores: Scores, env: PassOrderingEnv, benchmark: str, masked: bool, draws: bool
) -> Outcome:
    observation, info = env.reset(seed=0, options={"benchmark": benchmark})
    played, done = PlayedEpisode(benchmark, [info["size"]]), False
    while not done:
        mask = info["action_mask"]
        mask = mask if masked else np.ones_like(mask)
        action = greedy(scores(log_counts(observation)), mask, draws=draws)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        played.record(info)
    env.close()
    return least_state(played)


@dataclass(frozen=True, kw_only=True)
class TrainAgent(Task):
    """Trains an agent and plays it while it learns."""

    training: AgentTraining
    path: Path
    """File that the result is kept in; an agent whose file exists is not trained again."""

    def do(self, worker: RolloutWorker) -> dict[str, Learned]:
        """Returns the outcomes by the name shown in tables; trains the agent if necessary."""
        if self.path.exists():
            return _read(self.path)
        tensorboard_without_tensorflow()
        # By its name, since it imports the libraries, which may not be installed.
        train_agent = resolve_name("experiments.paper.third_party:train_agent")
        config, plan = worker.config, self.training
        assert isinstance(config, PassTrainConfig)
        kind = policy_kind("op_counts", config)
        # No environment is without a benchmark, even if none is to be played in it.
        learned: dict[str, Learned] = train_agent(
            plan,
            config,
            *(
                cast(MakeEnv, worker.env_maker(kind, names, self.quarantine))
                for names in (plan.benchmarks, plan.validation or plan.held_out, plan.held_out)
            ),
        )
        content = {label: asdict(agent) for label, agent in learned.items()}
        write_checked_json(self.path, _KIND, _VERSION, {"learned": content})
        return learned


def _read(path: Path) -> dict[str, Learned]:
    return {
        label: Learned(
            [(steps, list(map(Outcome.from_json, played))) for steps, played in agent["curve"]],
            list(map(Outcome.from_json, agent["outcomes"])),
        )
        for label, agent in read_checked_json(path, _KIND, _VERSION)["learned"].items()
    }


def require_libraries() -> None:
    """Checks that the agents' libraries are installed.

    Raises:
        HloError: One is not installed.
    """
    missing = [name for name in ("stable_baselines3", "sb3_contrib") if find_spec(name) is None]
    if missing:
        raise HloError(f"{' and '.join(missing)} not installed: pip install 'hlograph[paper]'")
