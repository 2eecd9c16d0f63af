"""What searches found on the training benchmarks, as experience to imitate."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

import hlograph
from envs.rewards import Reward, needs_costs, resolve_reward
from experiments.outcomes import best_known
from experiments.outcomes.benchmarks import load
from experiments.policies.learner import NUM_ACTIONS, LearnerName, learner_of, reward_of
from experiments.policies.states import State
from experiments.search.budget import Budget
from experiments.search.node_view import NodeView
from experiments.search.space import Node, SearchSpace
from experiments.workers.worker import RolloutWorker, Task
from models.cloning import Demonstrations
from models.encoder import StateStore

_STOP = NUM_ACTIONS - 1
_ENOUGH = 1 << 30  # pass calls: a way has an end of its own


def known_ways(benchmarks: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The best passes that a search has found, by benchmark; of those that none is known for, none.

    Args:
        benchmarks: Names. One that is no module of the corpus as it is now has no way.
    """
    known = best_known.current()
    return {name: known[name].passes for name in benchmarks if name in known}


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
        shown = Shown(learner.make_policy().encoder.store())
        reward = resolve_reward(reward_of(learner, worker.pass_config))
        for episode, (benchmark, passes) in enumerate(self.ways.items()):
            space = SearchSpace(
                load(benchmark),
                benchmark,
                Budget(calls=_ENOUGH),
                quarantine=self.quarantine,
                recorder=worker.recorder,
            )
            view = NodeView(
                space,
                learner.observation,
                costs=worker.pass_config.value_costs,
                measure_costs=needs_costs(reward),
            )
            seed = np.random.SeedSequence([self.seed, *benchmark.encode()])
            rows = self._rows(view, reward, passes, np.random.default_rng(seed))
            returned = 0.0
            for states, action, rewarded in reversed(rows):
                returned = learner.ppo.reward_scale * rewarded + learner.ppo.gamma * returned
                shown.add(states, action, returned, episode)
        return shown

    def _rows(
        self, view: NodeView, reward: Reward, passes: Sequence[str], random: np.random.Generator
    ) -> list[tuple[list[State], int, float]]:
        """Looks, action and reward of each decision on a way, the last of which is to stop."""
        space = view.space
        start = view.measure(space.root)
        node, rows = space.root, []
        for name in passes:
            looks = self._looks(view, node, random)
            action = space.number(hlograph.passes[name])
            assert action is not None
            before, node = node, space.step(node, action)
            if node is not before:
                rewarded = reward(start, view.measure(before), view.measure(node))
                rows.append((looks, action, rewarded))
        end = view.measure(node)
        rewarded = reward(start, end, end._replace(stopped=True))
        return [*rows, (self._looks(view, node, random), _STOP, rewarded)]

    def _looks(self, view: NodeView, node: Node, random: np.random.Generator) -> list[State]:
        """A state with some of what was tried in vain masked; at the first look, none."""
        acting = [a for a in range(len(view.space.passes)) if a not in node.idle]
        tried = random.permutation(acting)[: self.tries].tolist()
        in_vain = [action for action in tried if view.space.step(node, action) is node]
        looks = [view.state(node, ())]
        for _ in range(1, self.visits):
            hidden: list[int] = []
            if in_vain:
                share = random.permutation(in_vain)[: random.integers(1, len(in_vain) + 1)]
                hidden = share.tolist()
            looks.append(view.state(node, hidden))
        return looks
