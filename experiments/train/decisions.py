"""Experience to imitate, from the decisions of the fastest plans that were measured.

A state is recorded with each of the recorded decisions that are still to be taken there: their
order matters little. First the recorded decisions themselves are followed. Then the policy plays,
and is shown what is left to decide in the states that it leads to (DAgger: Ross, Gordon and Bagnell
2011, "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from envs.tuning import TuningEnv
from experiments.evaluate import best_decisions
from experiments.policies.config import PolicyName
from experiments.policies.evaluator import PolicyEvaluator
from experiments.policies.greedy import greedy_action
from experiments.policies.kind import PolicyKind
from experiments.policies.states import PolicyInput
from experiments.train.recorded_steps import RecordedSteps, Teacher, record, returns_of
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import Parameters, RolloutWorker, Task
from models.actor_critic import ActorCritic

Choose = Callable[[PolicyInput, Sequence[int]], int]
"""Function that chooses an action in a state, given those that the record has left there."""


def recorded_decisions(benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the decisions of the fastest measured plan, by benchmark.

    Args:
        benchmarks: Names. Those about which nothing is recorded are left out.
    """
    return {name: one.decisions for name, one in best_decisions.current(benchmarks).items()}


@dataclass(frozen=True)
class ShowDecisions(Task):
    """Plays episodes, and records in each state which recorded decisions are left to take."""

    kind: PolicyName
    decisions: Mapping[str, tuple[str, ...]]
    """Decisions to imitate, by benchmark."""
    parameters: Parameters | None = None
    """Policy that plays; None follows the decisions."""

    def do(self, worker: RolloutWorker) -> RecordedSteps:
        """Plays one episode on each benchmark."""
        if self.parameters is None:
            kind = worker.kind(self.kind)
            policy, choose = kind.make_policy(), _first_left(kind)
        else:
            kind, policy = worker.policy(self.kind, self.parameters)
            choose = _GreedyChoice(kind, policy)
        recorded = RecordedSteps(policy.encoder.store())
        env = worker.env_maker(kind, list(self.decisions), self.quarantine)()
        for episode, (benchmark, decisions) in enumerate(self.decisions.items()):
            _show(kind, cast(TuningEnv, env), choose, benchmark, decisions, recorded, episode)
        env.close()
        return recorded


def show(
    runner: TaskRunner,
    kind: PolicyKind,
    decisions: Mapping[str, tuple[str, ...]],
    policy: ActorCritic | None = None,
) -> RecordedSteps:
    """Records which decisions are to be taken, in the runner's workers.

    Args:
        runner: Runs the tasks.
        kind: Kind of the policy that is to imitate them.
        decisions: By benchmark, the decisions to imitate.
        policy: Policy in whose states they are shown; None follows the decisions.
    """
    parameters = None if policy is None else parameters_of(policy)
    what = f"{'demonstrations' if policy is None else 'corrections'} for {kind.name}"
    return record(runner, decisions, lambda some: ShowDecisions(kind.name, some, parameters), what)


def _first_left(kind: PolicyKind) -> Choose:
    stop = len(kind.outputs) - 1
    return lambda state, left: left[0] if left else stop


class _GreedyChoice:
    """Chooses what a policy prefers, as a greedy episode does."""

    def __init__(self, kind: PolicyKind, policy: ActorCritic) -> None:
        self._kind, self._evaluate = kind, PolicyEvaluator(policy)

    def __call__(self, state: PolicyInput, left: Sequence[int]) -> int:
        """Returns the likeliest action."""
        return greedy_action(self._kind, state, self._evaluate([state]).log_probs[0])


def _show(
    kind: PolicyKind,
    env: TuningEnv,
    choose: Choose,
    benchmark: str,
    decisions: Sequence[str],
    recorded: RecordedSteps,
    episode: int,
) -> None:
    """Plays one episode, and records each state once with all actions that are right in it."""
    observation, info = env.reset(seed=0, options={"benchmark": benchmark})
    stop, seen, done = len(kind.outputs) - 1, set[str](), False
    while not done:
        state, left = kind.encode(observation, info), _left(env, decisions)
        if state.key in seen:  # a greedy policy goes round in a circle
            return
        seen.add(state.key)
        returned = _returned(kind, env, decisions, stop)
        recorded.add_rows([(state, action, returned) for action in left or (stop,)], episode)
        action = choose(state, left)
        observation, _, terminated, truncated, info = _step(env, action)
        done = terminated or truncated


def _left(env: TuningEnv, decisions: Sequence[str]) -> list[int]:
    """Returns the actions that take decisions which are left, in their order."""
    actions: dict[str, int] = {offer.name: action for action, offer in enumerate(env.offers)}
    taken = set(env.trajectory.passes)  # a rule may apply again after it has been applied
    return [actions[name] for name in decisions if name in actions and name not in taken]


def _returned(kind: PolicyKind, env: TuningEnv, decisions: Sequence[str], stop: int) -> float:
    """Returns what taking the decisions that are left, and then stopping, earns."""
    ahead, rewards, done = env.fork(), list[float](), False
    while not done:
        left = _left(ahead, decisions)
        _, reward, terminated, truncated, _ = _step(ahead, left[0] if left else stop)
        rewards.append(reward)
        done = terminated or truncated
    return returns_of(rewards, kind.ppo)[0]


def _step(env: TuningEnv, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    observation, reward, terminated, truncated, info = env.step(np.int64(action))
    return observation, float(reward), terminated, truncated, info


DECISIONS = Teacher("decisions of measured plans", recorded_decisions, show, show)
"""Shows the decisions of the fastest plans that were measured."""
