"""Environments, play and greedy actions of agents of other libraries; imports none of these.

The agents see op counts alone, ln(1 + count) scaled as for this project's own op-count policy, and
neither the action mask nor the passes tried in the episode. This is the paper's setting. A greedy
agent without memory that chooses a pass without effect repeats it until the horizon. Only
"maskable-ppo" learns with the mask. So that this weakness does not hide what the others learned,
each of them is also played with the mask.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation, TransformReward

from envs import PassOrderingEnv
from experiments.evaluate.evaluation import Outcome
from experiments.paper.agent_settings import AgentName, AgentSettings
from experiments.policies.kind import PlayedEpisode, least_state
from experiments.policies.player import likeliest
from experiments.workers.collecting import Deck
from models.config import LOG_COUNT_SCALE

_MAX_LOG_COUNT = 20.0 * LOG_COUNT_SCALE

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
    left = np.where(mask, scores, -np.inf).astype(np.float32)
    if not draws:
        return int(left.argmax())
    return int(likeliest(torch.log_softmax(torch.from_numpy(left), 0)[None]))


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
