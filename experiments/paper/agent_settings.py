"""Hyper-parameters of the agents of stable-baselines3 and sb3-contrib; imports neither."""

from dataclasses import dataclass
from typing import Literal, get_args

AgentName = Literal["dqn", "a2c", "trpo", "ppo", "maskable-ppo"]
AGENTS: tuple[AgentName, ...] = get_args(AgentName)
LABELS: dict[AgentName, str] = {
    "dqn": "DQN (op counts)",
    "a2c": "A2C (op counts)",
    "trpo": "TRPO (op counts)",
    "ppo": "PPO (op counts, stable-baselines3)",
    "maskable-ppo": "PPO with masks (op counts, sb3-contrib)",
}
"""Names shown in tables of agents that are played as they learned: all but one without the mask."""
MASKED = "masked in play"
"""Added to the name of an agent that learned without the mask and is played with it."""


@dataclass(frozen=True)
class AgentSettings:
    """Hyper-parameters that differ from the libraries' defaults.

    Discount, scale of rewards and GAE's lambda are those of this project's op-count PPO, and the
    two PPOs share its other settings too. The values below are this project's own choice, made
    for runs of ten thousand to a million pass calls; the paper's are not known.
    """

    width: int = 128
    """Width of both hidden layers of each network."""
    a2c_steps: int = 8
    """Steps in each environment before A2C learns; 5 by default, which divides no horizon here."""
    dqn_learning_rate: float = 1e-3
    """Step size of DQN's Adam; 1e-4 by default, for millions of frames."""
    dqn_buffer: int = 200_000
    """Transitions in DQN's replay buffer."""
    dqn_learning_starts: int = 640
    """Random pass calls before DQN learns."""
    dqn_target_interval: int = 500
    """Pass calls from one update of DQN's target network to the next."""
    dqn_exploration: float = 0.3
    """Share of the training in which DQN's share of random actions falls to 5 %."""
