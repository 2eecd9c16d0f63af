"""What searches found on the training benchmarks, as experience to imitate."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

import hlograph
from envs.observations import OBSERVATIONS, Observation
from envs.rewards import ModuleState, Reward, cost_changes, resolve_reward
from experiments import best_known
from experiments.benchmarks import load
from experiments.learner import NUM_ACTIONS, LearnerName, learner_of, reward_of
from experiments.rollout_worker import RolloutWorker, Task
from experiments.search.budget import Budget
from experiments.search.space import Node, SearchSpace
from experiments.states import State, state_of
from models.cloning import Demonstrations
from models.encoder import StateStore

_STOP = NUM_ACTIONS - 1


def known_ways(benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The best passes that a search has found, by benchmark; of those that none is known for, none.

    Args:
        benchmarks: Names. One that is no module of the corpus as it is now has no way.
    """
    known = best_known.read()
    fingerprints = {b.name: b.fingerprint for b in hlograph.corpus.load()}
    return {
        name: known[name].passes
        for name in benchmarks
        if name in known and known[name].fingerprint == fingerprints.get(name)
    }


@dataclass
class Shown:
    """Demonstrations as they grow, a row for each decision."""

    states: StateStore
    keys: list[Hashable] = field(default_factory=list)
    """Identity of each state."""
    numbers: list[int] = field(default_factory=list)
    """State of each row."""
    episodes: list[int] = field(default_factory=list)
    """Way that each row is of."""
    contexts: list[np.ndarray] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)

    def add(self, states: Sequence[State], action: int, returned: float, episode: int) -> None:
        """Adds several looks at one state, which what was tried in it before tells apart."""
        self.states.add([states[0].item])
        self.keys.append(states[0].key)
        for state in states:
            self.numbers.append(len(self.keys) - 1)
            self.episodes.append(episode)
            self.contexts.append(state.context)
            self.masks.append(state.mask)
            self.actions.append(action)
            self.returns.append(returned)

    def extend(self, other: "Shown") -> None:
        """Adds what was shown elsewhere."""
        first, ways = len(self.keys), len(set(self.episodes))
        self.states.merge(other.states, range(len(other.keys)))
        self.keys += other.keys
        self.numbers += [first + number for number in other.numbers]
        self.episodes += [ways + episode for episode in other.episodes]
        for name in ("contexts", "masks", "actions", "returns"):
            getattr(self, name).extend(getattr(other, name))

    def demonstrations(self) -> Demonstrations:
        """All of it as tensors."""
        return Demonstrations(
            states=self.states,
            state=torch.tensor(self.numbers),
            episode=torch.tensor(self.episodes),
            context=torch.from_numpy(np.stack(self.contexts)),
            mask=torch.from_numpy(np.stack(self.masks)),
            action=torch.tensor(self.actions),
            returns=torch.tensor(self.returns, dtype=torch.float32),
        )


@dataclass(frozen=True)
class Demonstrate(Task):
    """Goes the ways that a search found, and writes down what is to be imitated.

    A policy that plays has tried some passes in vain before it finds the right one, and its mask
    shows that; a search's way shows no such thing. So each state is shown several times, with
    passes that a few random tries found to change nothing masked at random.
    """

    learner: LearnerName
    ways: Mapping[str, tuple[str, ...]]
    """By benchmark, the passes to imitate."""
    seed: int
    visits: int = 4
    """Times that a state is shown."""
    tries: int = 6
    """Random passes tried in each state."""

    def do(self, worker: RolloutWorker) -> Shown:
        """Goes all of the ways."""
        learner = learner_of(self.learner, worker.config)
        shown = Shown(learner.make_encoder().store())
        observation = OBSERVATIONS[learner.observation](NUM_ACTIONS)
        reward = resolve_reward(reward_of(learner, worker.config))
        for episode, (benchmark, passes) in enumerate(self.ways.items()):
            # One state more than passes; in each the tries, the pass, and perhaps a rebuilding.
            budget = Budget(calls=(len(passes) + 1) * (self.tries + 2))
            space = SearchSpace(
                load(benchmark),
                benchmark,
                budget,
                quarantine=self.quarantine,
                recorder=worker.recorder,
            )
            way = _Way(space, observation, reward, costs=worker.config.value_costs)
            seed = np.random.SeedSequence([self.seed, *benchmark.encode()])
            rows = way.rows(passes, self.tries, self.visits, np.random.default_rng(seed))
            returned = 0.0
            for states, action, rewarded in reversed(rows):
                returned = learner.ppo.reward_scale * rewarded + learner.ppo.gamma * returned
                shown.add(states, action, returned, episode)
        return shown


class _Way:
    """One benchmark's way, looked at as an environment would show it."""

    def __init__(
        self, space: SearchSpace, observation: Observation, reward: Reward, costs: bool
    ) -> None:
        self._space, self._observation, self._reward = space, observation, reward
        self._costs = costs
        self._needs_costs = costs or getattr(reward, "needs_costs", False)
        self._start = self._measure(space.root)

    def rows(
        self, passes: Sequence[str], tries: int, visits: int, random: np.random.Generator
    ) -> list[tuple[list[State], int, float]]:
        """Looks, action and reward of each decision, the last of which is to stop."""
        space = self._space
        node, rows = space.root, []
        for name in (*passes, None):
            in_vain = [
                action
                for action in random.choice(len(space.passes), tries, replace=False).tolist()
                if space.step(node, action) is node
            ]
            looks = [self._look(node, in_vain, random, first=n == 0) for n in range(visits)]
            before = self._measure(node)
            if name is None:
                rewarded = self._reward(self._start, before, before._replace(stopped=True))
                rows.append((looks, _STOP, rewarded))
                break
            action = space.number(hlograph.passes[name])
            assert action is not None
            after = space.step(node, action)
            rewarded = self._reward(self._start, before, self._measure(after))
            if after is not node:
                rows.append((looks, action, rewarded))
            node = after
        return rows

    def _look(
        self, node: Node, in_vain: Sequence[int], random: np.random.Generator, first: bool
    ) -> State:
        """The state with some of what was tried in vain masked: at the first look, none."""
        mask = np.ones(NUM_ACTIONS, np.int8)
        if not first and in_vain:
            mask[random.permutation(in_vain)[: random.integers(1, len(in_vain) + 1)]] = 0
        module = self._space.module(node)
        seen = self._observation.observe(module, module.snapshot().op_counts)
        info = {
            "fingerprint": node.fingerprint,
            "op_count": node.op_count,
            "start_op_count": self._space.root.op_count,
            "action_mask": mask,
        }
        if self._costs:
            info["cost_changes"] = cost_changes(self._start, self._measure(node))
        return state_of(self._observation.compose(seen, mask, share=True), info)

    def _measure(self, node: Node) -> ModuleState:
        if not self._needs_costs:
            return ModuleState(node.op_count)
        cost = self._space.module(node).cost()
        return ModuleState(node.op_count, cost.flops, cost.transcendentals)
