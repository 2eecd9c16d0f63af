"""Makes and trains the agents of stable-baselines3 and sb3-contrib; imports both."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import TRPO, MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from experiments.paper.agents import (
    AgentTraining,
    Learned,
    MakeEnv,
    Scores,
    play,
    training_env,
)
from experiments.paper.training_settings import LABELS, MASKED, AgentName, AgentSettings
from experiments.policies.config import PassTrainConfig
from experiments.workers.collecting import Deck


def make_agent(
    name: AgentName,
    settings: AgentSettings,
    config: PassTrainConfig,
    envs: DummyVecEnv,
    seed: int,
) -> BaseAlgorithm:
    """Returns an agent with random parameters.

    Args:
        name: Name of the agent.
        settings: Its hyper-parameters.
        config: Settings of the run: budget, horizon, and the PPO settings that agents share.
        envs: Environments to learn from.
        seed: Seed of its parameters and actions.
    """
    ppo, width = config.op_counts_ppo, settings.width
    shared: dict[str, Any] = {
        "policy": "MlpPolicy",
        "env": envs,
        "gamma": ppo.gamma,
        "seed": seed,
        "device": "cpu",
        "policy_kwargs": {"net_arch": [width, width]},
    }
    on_policy: dict[str, Any] = shared | {"gae_lambda": ppo.gae_lambda}
    if name == "dqn":
        return DQN(
            **shared,
            learning_rate=settings.dqn_learning_rate,
            buffer_size=min(settings.dqn_buffer, config.total_steps),
            learning_starts=settings.dqn_learning_starts,
            target_update_interval=settings.dqn_target_interval,
            exploration_fraction=settings.dqn_exploration,
        )
    if name == "a2c":
        return A2C(**on_policy, n_steps=settings.a2c_steps)
    if name == "trpo":
        # The default of 128, or its largest factor that divides the rollout.
        batch = math.gcd(128, config.horizon * config.num_envs)
        return TRPO(**on_policy, n_steps=config.horizon, batch_size=batch)
    final = ppo.final_learning_rate
    clipped: dict[str, Any] = on_policy | {
        "policy_kwargs": {"net_arch": [width, width], "activation_fn": nn.Tanh},
        "n_steps": config.horizon,
        "batch_size": -(-config.horizon * config.num_envs // ppo.minibatches),
        "n_epochs": ppo.epochs,
        "learning_rate": lambda remaining: ppo.learning_rate * (final + (1.0 - final) * remaining),
        "clip_range": ppo.clip,
        "ent_coef": ppo.entropy_weight,
        "vf_coef": ppo.value_weight,
        "max_grad_norm": ppo.max_grad_norm,
        "target_kl": ppo.target_kl,
    }
    return MaskablePPO(**clipped) if name == "maskable-ppo" else PPO(**clipped)


def scores_of(agent: BaseAlgorithm) -> Scores:
    """Returns the function that scores actions by their values or log-probabilities."""

    @torch.no_grad()
    def scores(observation: np.ndarray) -> np.ndarray:
        seen = torch.from_numpy(observation)[None]
        if isinstance(agent, DQN):
            return agent.q_net(seen)[0].numpy()
        policy = agent.policy
        assert isinstance(policy, ActorCriticPolicy | MaskableActorCriticPolicy)
        distribution = policy.get_distribution(seen).distribution
        assert isinstance(distribution, torch.distributions.Categorical)
        return distribution.logits[0].numpy()

    return scores


def train_agent(
    plan: AgentTraining,
    config: PassTrainConfig,
    make_env: MakeEnv,
    make_validation_env: MakeEnv,
    make_test_env: MakeEnv,
) -> dict[str, Learned]:
    """Trains an agent, plays it on validation while it learns and on held-out benchmarks after.

    Args:
        plan: The agent, its seed and its benchmarks.
        config: Settings of the run.
        make_env: Makes environments of the benchmarks to train on.
        make_validation_env: Makes environments of those to play on while it learns.
        make_test_env: Makes environments of the held-out benchmarks.

    Returns:
        Outcomes by the name shown in tables: without the mask in play, and with it.
    """
    # DQN learns from a replay buffer and takes its steps one by one, as it was published.
    players = 1 if plan.name == "dqn" else config.num_envs
    decks = [Deck(plan.benchmarks, plan.seed, player, players) for player in range(players)]
    scale = config.op_counts_ppo.reward_scale
    envs = DummyVecEnv([lambda d=deck: training_env(make_env(), d, scale) for deck in decks])
    agent = make_agent(plan.name, plan.settings, config, envs, plan.seed)
    # Its own logger makes a folder in the system's temporary one, and leaves it there.
    agent.set_logger(Logger(folder=None, output_formats=[]))
    total, parts = config.total_steps, config.evaluations
    label = LABELS[plan.name]
    knows_the_mask = plan.name == "maskable-ppo"
    labels = {label: knows_the_mask} | ({} if knows_the_mask else {f"{label}, {MASKED}": True})
    learned = {label: Learned([], []) for label in labels}
    draws = plan.name != "dqn"

    def evaluate() -> None:
        for label, masked in labels.items():
            play_as = {"masked": masked, "draws": draws}
            outcomes = play(scores_of(agent), make_validation_env, plan.validation, **play_as)
            learned[label].curve.append((agent.num_timesteps, outcomes))

    due = [total * part // parts for part in range(1, parts)]
    agent.learn(total, callback=_Evaluations(due, evaluate))
    envs.close()
    evaluate()
    for label, masked in labels.items():
        learned[label].outcomes.extend(
            play(scores_of(agent), make_test_env, plan.held_out, masked=masked, draws=draws)
        )
    return learned


class _Evaluations(BaseCallback):
    """Callback that evaluates an agent after given numbers of steps.

    Args:
        due: Numbers of steps, ascending.
        evaluate: Function to call.
    """

    def __init__(self, due: list[int], evaluate: Callable[[], None]) -> None:
        super().__init__()
        self._due, self._evaluate = due, evaluate

    def _on_step(self) -> bool:
        if self._due and self.num_timesteps >= self._due[0]:
            self._due = [steps for steps in self._due if steps > self.num_timesteps]
            self._evaluate()
        return True
