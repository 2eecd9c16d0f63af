"""Agents of stable-baselines3 and sb3-contrib, trained and played in workers.

They see op counts alone, ln(1 + count) scaled as this project's own op-count policy has them, and
neither the action mask nor what was tried in the episode: theirs is the paper's setting. Greedy
and without memory, one that chooses a pass without effect chooses it again until the horizon.
"maskable-ppo" alone knows the mask. So that this weakness does not hide what the others learned,
each is also played with the mask, which it learned without.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation, TransformReward

from envs import PassOrderingEnv
from experiments.outcomes.evaluation import Outcome
from experiments.paper.agent_settings import AgentName, AgentSettings
from experiments.policies.config import OpCountTrainConfig
from experiments.policies.learner import learner_of
from experiments.workers.collecting import Deck
from experiments.workers.playing import Played, likeliest
from experiments.workers.startup import tensorboard_without_tensorflow
from experiments.workers.worker import RolloutWorker, Task
from hlograph.errors import HloError
from hlograph.storage.checked_file import read_checked_json, write_checked_json
from models.config import LOG_COUNT_SCALE

_KIND, _VERSION = "trained agent", 2
_MAX_LOG_COUNT = 20.0 * LOG_COUNT_SCALE

MakeEnv = Callable[[], PassOrderingEnv]
Scores = Callable[[np.ndarray], np.ndarray]
"""Gives each action a number, float32 [A], by what an agent sees, float32 [opcodes]."""
Point = tuple[int, list[Outcome]]
"""Pass calls trained on, and what the agent then makes of the validation benchmarks."""


@dataclass(frozen=True)
class Learned:
    """What became of an agent."""

    curve: list[Point]
    """The last point is that of the end."""
    outcomes: list[Outcome]
    """What it then makes of the held-out benchmarks."""


class DealtEpisodes(gymnasium.Wrapper):
    """Begins each episode with the next benchmark of a deck, and with nothing known of passes.

    An environment of stable-baselines3 is reset without a word of what is to come; this project's
    own training deals benchmarks in the same way.

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
        """Begins an episode; the deck, which has a seed, decides with which benchmark."""
        return self.env.reset(seed=0, options={"benchmark": self._deck.deal()})


def log_counts(counts: np.ndarray) -> np.ndarray:
    """Op counts as agents see them: ln(1 + count), up to order one."""
    return np.log1p(counts) * np.float32(LOG_COUNT_SCALE)


def training_env(env: PassOrderingEnv, deck: Deck, reward_scale: float) -> gymnasium.Env:
    """An environment as agents train in it.

    Args:
        env: With op counts as observations.
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
        scores: What the agent gives each action.
        make_env: Makes an environment with op counts as observations.
        benchmarks: Names of the benchmarks.
        masked: Whether passes are left out that did nothing before in the same state.
        draws: Whether scores are logarithms of the probabilities that an agent draws actions by,
            of which it takes the ``likeliest``, as this project's policies do; values of actions
            have no probabilities, and the highest is taken.
    """
    return [_episode(scores, make_env(), name, masked, draws) for name in benchmarks]


def greedy(scores: np.ndarray, mask: np.ndarray, *, draws: bool) -> int:
    """The action of an agent that does not draw; see ``play``.

    Args:
        scores: float32 [A].
        mask: [A], 0 where an action is left out.
        draws: Whether scores are logarithms of probabilities.
    """
    left = np.where(mask, scores, -np.inf).astype(np.float32)
    if not draws:
        return int(left.argmax())
    return int(likeliest(torch.log_softmax(torch.from_numpy(left), 0)[None]))


def _episode(
    scores: Scores, env: PassOrderingEnv, benchmark: str, masked: bool, draws: bool
) -> Outcome:
    observation, info = env.reset(seed=0, options={"benchmark": benchmark})
    played, done = Played(benchmark, [info["op_count"]]), False
    while not done:
        mask = info["action_mask"]
        mask = mask if masked else np.ones_like(mask)
        action = greedy(scores(log_counts(observation)), mask, draws=draws)
        observation, _, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        played.note(info)
    env.close()
    return played.outcome()


@dataclass(frozen=True, kw_only=True)
class TrainAgent(Task):
    """Trains an agent of a library, and plays it as it learns."""

    name: AgentName
    settings: AgentSettings
    seed: int
    benchmarks: Sequence[str]
    """To train on."""
    validation: Sequence[str]
    """To play on while it learns."""
    held_out: Sequence[str]
    """To play on in the end."""
    path: Path
    """Where what became of it is kept: an agent that is there is not trained again."""

    def do(self, worker: RolloutWorker) -> dict[str, Learned]:
        """Trains it, unless that was done before; by what tables call it, what became of it."""
        if self.path.exists():
            return _read(self.path)
        tensorboard_without_tensorflow()
        from experiments.paper.third_party import train_agent

        config = worker.config
        assert isinstance(config, OpCountTrainConfig)
        learner = learner_of("op_counts", config)
        # No environment is without a benchmark, even if none is to be played in it.
        learned = train_agent(
            self,
            config,
            *(
                worker.pass_env_maker(learner, names, self.quarantine)
                for names in (self.benchmarks, self.validation or self.held_out, self.held_out)
            ),
        )
        content = {label: asdict(one) for label, one in learned.items()}
        write_checked_json(self.path, _KIND, _VERSION, {"learned": content})
        return learned


def _read(path: Path) -> dict[str, Learned]:
    return {
        label: Learned(
            [(steps, [_outcome(o) for o in outcomes]) for steps, outcomes in one["curve"]],
            [_outcome(o) for o in one["outcomes"]],
        )
        for label, one in read_checked_json(path, _KIND, _VERSION)["learned"].items()
    }


def _outcome(content: Mapping[str, Any]) -> Outcome:
    fields: dict[str, Any] = {**content, "passes": tuple(content["passes"])}
    return Outcome(**fields)


def require_libraries() -> None:
    """Makes sure that the agents' libraries are there.

    Raises:
        HloError: One is not installed.
    """
    missing = [name for name in ("stable_baselines3", "sb3_contrib") if find_spec(name) is None]
    if missing:
        raise HloError(f"{' and '.join(missing)} not installed: pip install 'hlograph[paper]'")
