"""Experience to imitate, from the decisions of the fastest plans that were measured.

A state is recorded with each of the recorded decisions that are still to be taken there: their
order matters little. First the recorded decisions themselves are followed. Then the policy plays,
and is shown what is left to decide in the states that it leads to (DAgger: Ross, Gordon and Bagnell
2011, "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning").
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import numpy as np

from envs.tuning import TuningEnv
from experiments.evaluate import best_decisions
from experiments.policies.config import PolicyName
from experiments.policies.kind import PolicyKind
from experiments.policies.player import Episodes
from experiments.train.recorded_steps import RecordedSteps, Teacher, record, returns_of
from experiments.workers.task_runner import TaskRunner, parameters_of
from experiments.workers.worker import Parameters, RolloutWorker, Task
from models.actor_critic import ActorCritic


def recorded_decisions(runner: TaskRunner, benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Returns the decisions of the fastest measured plan, by benchmark.

    Args:
        runner: Not used; see ``Teacher``.
        benchmarks: Names. Those about which nothing is recorded are left out.
    """
    return {name: best.decisions for name, best in best_decisions.current(benchmarks).items()}


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
        plays = self.parameters is not None
        if self.parameters is None:
            kind = worker.kind(self.kind)
            policy = kind.make_policy()
        else:
            kind, policy = worker.policy(self.kind, self.parameters)
        recorded = RecordedSteps(policy.encoder.store())
        make_env = worker.env_maker(kind, list(self.decisions), self.quarantine)
        with closing(Episodes(kind, policy, make_env)) as episodes:
            for number, (benchmark, decisions) in enumerate(self.decisions.items()):
                _show(episodes, plays, benchmark, decisions, recorded, number)
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
    description = f"{'demonstrations' if policy is None else 'corrections'} for {kind.name}"
    return record(
        runner, decisions, lambda some: ShowDecisions(kind.name, some, parameters), description
    )


def _show(
    episodes: Episodes,
    plays: bool,
    benchmark: str,
    decisions: Sequence[str],
    recorded: RecordedSteps,
    episode: int,
) -> None:
    """Plays one episode, and records each state once with all actions that are right in it.

    Args:
        episodes: The environment.
        plays: True if the policy chooses the actions; otherwise the recorded ones are followed.
        benchmark: Name of the benchmark.
        decisions: Those recorded.
        recorded: Takes the states.
        episode: Number of the episode.
    """
    kind, env = episodes.kind, cast(TuningEnv, episodes.envs[0])
    stop, seen_before = len(kind.outputs) - 1, set[str]()
    episodes.begin({0: benchmark})
    while episodes.running:
        state, actions = episodes.running[0], _left(env, decisions) or [stop]
        if state.key in seen_before:  # a greedy policy goes round in a circle
            return
        seen_before.add(state.key)
        returned = _returned(kind, env, decisions, stop)
        recorded.add_rows([(state, action, returned) for action in actions], episode)
        action = actions[0]
        episodes.step(
            lambda _, seen, action=action: [episodes.greedy(0, seen) if plays else action]
        )


def _left(env: TuningEnv, decisions: Sequence[str]) -> list[int]:
    """Returns the actions that take decisions which are left, in their order."""
    actions: dict[str, int] = {offer.name: action for action, offer in enumerate(env.offers)}
    taken = set(env.trajectory.passes)  # a rule may apply again after it has been applied
    return [actions[name] for name in decisions if name in actions and name not in taken]


def _returned(kind: PolicyKind, env: TuningEnv, decisions: Sequence[str], stop: int) -> float:
    """Returns what taking the decisions that are left, and then stopping, earns."""
    ahead, rewards, done = env.fork(), list[float](), False
    while not done:
        actions = _left(ahead, decisions)
        _, reward, terminated, truncated, _ = ahead.step(np.int64(actions[0] if actions else stop))
        rewards.append(float(reward))
        done = terminated or truncated
    return returns_of(rewards, kind.ppo)[0]


DECISIONS = Teacher("decisions of measured plans", recorded_decisions, show, show)
"""Shows the decisions of the fastest plans that were measured."""
