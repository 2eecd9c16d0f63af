"""Plays a policy for the explorer: one episode, with what the policy saw and preferred."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

import gymnasium
import numpy as np
import torch

from envs.decision_env import DecisionEnv
from experiments.policies.checkpoint import Checkpoint, policy_of, training_cost
from experiments.policies.evaluator import PolicyEvaluator
from experiments.policies.greedy import greedy_action
from experiments.policies.kind import EnvRequest, PolicyKind
from experiments.policies.shipped import checkpoint_location
from experiments.policies.states import STOP, PolicyInput
from hlograph.decisions.benchmarks import NamedModule
from hlograph.errors import HloError
from hlograph.explorer.player import Attention, Move
from hlograph.explorer.step_runs import StepRun
from hlograph.isolation import FlightRecorder, Quarantine
from hlograph.module import Module
from models.actor_critic import ActorCritic
from models.attention_weights import attention_weights
from models.candidate_encoder import CandidateEncoder
from models.candidate_graphs import GraphAndCandidates
from models.gat import GATEncoder

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
        self._evaluate = PolicyEvaluator(policy)
        self._env = lru_cache(1)(self._new_env)  # what is known of a program lasts

    def start(self, program: Module) -> Module:
        """Returns the module in which episodes on a program begin."""
        env = self._env(program)
        env.reset(options={"benchmark": _BENCHMARK})
        return _module_of(env)

    def play(self, program: Module, first: Sequence[int], limit: int) -> Iterator[Move]:
        """Plays an episode; see ``PlayablePolicy.play``."""
        env = self._env(program)
        observation, info = env.reset(seed=0, options={"benchmark": _BENCHMARK})
        taken: dict[str, set[int]] = defaultdict(set)
        ended = False
        for number in range(limit):
            if ended:
                break
            state = self._kind.encode(observation, info)
            choices = self._kind.offered(env.unwrapped)
            log_probs, value = self._scores(state)
            preferred = greedy_action(self._kind, state, log_probs, taken[state.key])
            action = first[number] if number < len(first) else preferred
            self._check(state, action, number)
            taken[state.key].add(action)
            observation, reward, terminated, truncated, info = env.step(np.int64(action))
            ended = terminated or truncated
            probabilities = np.where(state.mask, log_probs.exp().numpy(), 0.0)
            yield Move(
                choices=choices,
                probabilities=probabilities.astype(np.float32),
                allowed=state.mask,
                value=value / self._kind.ppo.reward_scale,
                stops=self._kind.outputs[-1] == STOP,
                preferred=preferred,
                action=action,
                attention=self._attention(state),
                step=_step(info, choices[action].name, env),
                reward=float(reward),
                ending="stop" if terminated else "horizon" if truncated else "",
            )

    def _new_env(self, program: Module) -> Any:
        benchmark = NamedModule(_BENCHMARK, lambda: program)
        request = EnvRequest([benchmark], Quarantine(), FlightRecorder(), fresh=True, learns=False)
        return self._kind.env_maker(request)()

    def _scores(self, state: PolicyInput) -> tuple[torch.Tensor, float]:
        """Returns the log-probabilities of the actions, float32 [A], and the value."""
        with _one_thread():
            found = self._evaluate([state])
        return found.log_probs[0], float(found.value[0])

    def _attention(self, state: PolicyInput) -> Attention | None:
        encoder, graph = self._policy.encoder, state.item
        if isinstance(encoder, CandidateEncoder):
            encoder, graph = encoder.graph, cast(GraphAndCandidates, graph).graph
        if not isinstance(encoder, GATEncoder):
            return None
        with _one_thread():
            found = attention_weights(encoder, graph)
        return None if found is None else Attention(*found)

    def _check(self, state: PolicyInput, action: int, number: int) -> None:
        if not 0 <= action < len(state.mask) or not state.mask[action]:
            raise HloError(
                f"expected an action that is allowed in step {number + 1}, got {action}: "
                "it changes nothing there, or there is no such action"
            )


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
