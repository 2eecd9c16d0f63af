"""Plays a policy for the explorer: one episode, with what the policy saw and preferred."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import gymnasium
import numpy as np
import torch

from envs.decision_env import DecisionEnv
from experiments.policies.checkpoint import Checkpoint, policy_of, training_cost
from experiments.policies.evaluator import Evaluation
from experiments.policies.kind import STOP, EnvRequest, PolicyInput, PolicyKind
from experiments.policies.player import Episodes
from experiments.policies.shipped import checkpoint_location
from hlograph.decisions.benchmarks import NamedModule
from hlograph.errors import HloError
from hlograph.explorer.player import Attention, Move
from hlograph.explorer.steps import StepRun
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.module import Module
from models.actor_critic import ActorCritic
from models.attention_weights import attention_weights
from models.gat import GATEncoder
from models.pointer import ActionEncoder, StateWithActions

_BENCHMARK = "program"


class ExploredPolicy:
    """The policy of a checkpoint; see ``hlograph.explorer.player.PlayablePolicy``.

    Args:
        kind: Kind of the policy.
        policy: The policy, on the CPU.
        about: A sentence on its training.
    """

    def __init__(self, kind: PolicyKind, policy: ActorCritic, about: str) -> None:
        self.label, self.about = kind.label, about
        self._kind, self._policy = kind, policy
        self._episodes = lru_cache(1)(self._new_episodes)  # what is known of a program lasts

    def start(self, program: Module) -> Module:
        """Returns the module in which episodes on a program begin."""
        (env,) = self._episodes(program).envs
        env.reset(options={"benchmark": _BENCHMARK})
        return _module_of(env)

    def play(self, program: Module, first: Sequence[int], limit: int) -> Iterator[Move]:
        """Plays an episode; see ``PlayablePolicy.play``."""
        episodes = self._episodes(program)
        (env,) = episodes.envs
        episodes.begin({0: _BENCHMARK})
        choose = _FirstActions(episodes, first)
        for _ in range(limit):
            if not episodes.running:
                break
            state = episodes.running[0]
            actions = self._kind.offered(cast(DecisionEnv, env.unwrapped))
            with _one_thread():
                seen, (action,), after = episodes.step(choose)
                attention = self._attention(state)
            probabilities = np.where(state.mask, seen.log_probs[0].exp().numpy(), 0.0)
            yield Move(
                choices=actions,
                probabilities=probabilities.astype(np.float32),
                allowed=state.mask,
                value=float(seen.value[0]) / self._kind.ppo.reward_scale,
                stops=self._kind.outputs[-1] == STOP,
                preferred=choose.preferred,
                action=action,
                attention=attention,
                step=_step(after[0].info, actions[action].name, env),
                reward=after[0].reward,
                ending="stop" if after[0].terminated else "horizon" if after[0].truncated else "",
            )

    def _new_episodes(self, program: Module) -> Episodes:
        benchmark = NamedModule(_BENCHMARK, lambda: program)
        request = EnvRequest([benchmark], Quarantine(), FlightRecorder(), fresh=True, learns=False)
        make_env = self._kind.env_maker(request)
        # A step may be one that the user chooses, whatever the policy predicts of it.
        return Episodes(self._kind, self._policy, make_env, skip_below=0.0)

    def _attention(self, state: PolicyInput) -> Attention | None:
        encoder, graph = self._policy.encoder, state.item
        if isinstance(encoder, ActionEncoder):
            encoder, graph = encoder.graph, cast(StateWithActions, graph).state
        if not isinstance(encoder, GATEncoder):
            return None
        weights = attention_weights(encoder, graph)
        return None if weights is None else Attention(*weights)


class _FirstActions:
    """Chooses given actions first, and then those that the policy prefers."""

    def __init__(self, episodes: Episodes, first: Sequence[int]) -> None:
        self._episodes, self._first, self._steps = episodes, first, 0
        self.preferred = 0
        """Action that the policy preferred in the last step."""

    def __call__(self, _: Sequence[int], seen: Evaluation) -> list[int]:
        """Returns the next action.

        Raises:
            HloError: It is not allowed.
        """
        self.preferred = action = self._episodes.greedy(0, seen)
        if self._steps < len(self._first):
            action = self._first[self._steps]
        mask, self._steps = seen.mask[0], self._steps + 1
        if not 0 <= action < len(mask) or not mask[action]:
            raise HloError(
                f"expected an action that is allowed in step {self._steps}, got {action}: "
                "it changes nothing there, or there is no such action"
            )
        return [action]


def load_player(name: str) -> ExploredPolicy:
    """Returns the player of a policy; see ``hlograph.explorer.player.load_player``."""
    checkpoint = Checkpoint.load(checkpoint_location(name))
    try:
        kind, policy = policy_of(checkpoint)
    except ValueError as error:
        raise HloError(f"{name} cannot be played: {error}") from error
    return ExploredPolicy(kind, policy.eval(), training_cost(checkpoint))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Computes with one thread of torch: the order of summation depends on the number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _module_of(env: gymnasium.Env[Any, Any]) -> Module:
    return cast(DecisionEnv, env.unwrapped).module.clone()


def _step(info: Mapping[str, Any], name: str, env: gymnasium.Env[Any, Any]) -> StepRun:
    return StepRun(name, info["step_time"], info["changed"], info["error"] or "", _module_of(env))
