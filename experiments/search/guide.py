"""Trained policies as heuristics of searches over passes, and what they see of a state."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from envs.observations import OBSERVATIONS, Observation, ObservationKind
from envs.rewards import LogDrop, ModuleState, OpCountDrop, cost_changes, resolve_reward
from experiments.policies.checkpoint import Checkpoint, policy_of
from experiments.policies.config import PassTrainConfig, PolicyName, TrainConfig
from experiments.policies.evaluator import PolicyEvaluator, likeliest
from experiments.policies.kind import PolicyInput, PolicyKind, policy_kind
from experiments.policies.pass_ordering import state_of
from experiments.search.space import PassNode, PassSpace
from experiments.search.state_space import Steps, step
from experiments.workers.task_runner import parameters_of
from hlograph.storage.locations import Location
from hlograph.transforms.registry import passes
from models.actor_critic import ActorCritic


class NodeView:
    """Shows the states of one search to a policy, with masks from the search's table.

    A search has the passes of the registry as moves, by their numbers there. A policy has numbers
    of its own for the passes that it knows, and for stopping.

    Args:
        space: Where the states are.
        known: Names of the passes that the policy knows, in the order of its actions.
        observation: Kind of observation.
        costs: True if states show how flops and transcendentals changed.
        measure_costs: True if ``measure`` gives costs even without ``costs``, for a reward that
            needs them. XLA's cost analysis takes about as long as a pass.
    """

    def __init__(
        self,
        space: PassSpace,
        names: Sequence[str],
        observation: ObservationKind,
        *,
        costs: bool = False,
        measure_costs: bool = False,
    ) -> None:
        self.space = space
        """Space of the states."""
        self.moves = [passes.index(name) for name in names]
        """Numbers in the registry of the passes that the policy knows, in the order of its
        actions."""
        self._actions = {move: action for action, move in enumerate(self.moves)}
        self._observation: Observation = OBSERVATIONS[observation](len(names) + 1)
        self._shows_graph = observation == "graph"
        self._costs, self._measure_costs = costs, costs or measure_costs
        self._measured: dict[PassNode, ModuleState] = {}
        self._last: tuple[PassNode, Any] | None = None

    def order(self, names: Iterable[str]) -> list[int]:
        """Returns the moves of an order of passes, without those that the policy does not know."""
        moves = {passes[move].name: move for move in self.moves}
        return [moves[name] for name in names if name in moves]

    def action(self, move: int | None) -> int:
        """Returns the policy's number of a move; None is to stop."""
        return len(self.moves) if move is None else self._actions[move]

    def move(self, action: int) -> int | None:
        """Returns the move of an action; None if it is to stop."""
        return self.moves[action] if action < len(self.moves) else None

    def state(
        self, node: PassNode, masked: Iterable[int] | None = None, *, encoded: bool = False
    ) -> PolicyInput:
        """Returns the observation of a state.

        Args:
            node: The state.
            masked: Moves to mask, besides those that find nothing to act on; None
                masks all that the table knows to change nothing there.
            encoded: True leaves out the item, of a state that was encoded before.
        """
        offered = np.ones(len(passes), bool)
        offered[[*(node.no_ops() if masked is None else masked), *node.idle]] = False
        mask = np.append(offered[self.moves], True)
        root = self.space.root
        costs = cost_changes(self.measure(root), self.measure(node)) if self._costs else ()
        item = None if encoded else self._item(node)
        return state_of(item, node.fingerprint, mask, node.op_count, root.op_count, costs)

    def measure(self, node: PassNode) -> ModuleState:
        """Returns what rewards depend on: the op count, and the costs if the view has them."""
        if not self._measure_costs:
            return ModuleState(node.op_count)
        if node not in self._measured:
            cost = self.space.module(node).cost()
            self._measured[node] = ModuleState(node.op_count, *cost)
        return self._measured[node]

    def _item(self, node: PassNode) -> Any:
        # A state is shown several times in a row; the graphs of all would take too much memory.
        if self._last is None or self._last[0] is not node:
            module = self.space.module(node)
            seen = self._observation.observe(module.features, module.snapshot().op_counts)
            self._last = (node, seen[0] if self._shows_graph else seen)
        return self._last[1]


@dataclass(frozen=True)
class TrainedPolicy:
    """Policy of a checkpoint as it is sent to a worker, whatever settings the worker has."""

    kind: PolicyName
    config: TrainConfig
    """Settings of its training."""
    parameters: Mapping[str, NDArray[Any]]
    """State of its network by name of the tensor."""

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> "TrainedPolicy":
        """Returns the policy that a checkpoint holds.

        Raises:
            ValueError: None of its actions exists any more, or its networks have another shape.
        """
        _, policy = policy_of(checkpoint)
        return cls(checkpoint.kind, checkpoint.settings(), parameters_of(policy))

    @classmethod
    def load(cls, location: Location) -> "TrainedPolicy":
        """Returns the policy of the checkpoint at a path or URL.

        Raises:
            DamagedFileError: The file is no checkpoint of this version.
            ValueError: See ``of``.
            OSError: It cannot be read.
        """
        return cls.of(Checkpoint.load(location))

    @property
    def pass_config(self) -> PassTrainConfig:
        """Settings of the training of a policy that orders passes.

        Raises:
            ValueError: The policy does something else.
        """
        if not isinstance(self.config, PassTrainConfig):
            raise ValueError(f"expected a policy that orders passes, got {self.kind}")
        return self.config

    def build(self) -> tuple[PolicyKind, ActorCritic]:
        """Returns the kind and the policy, on the CPU."""
        kind = policy_kind(self.kind, self.config)
        policy = kind.new_policy().cpu().eval()
        state = {key: torch.tensor(value) for key, value in self.parameters.items()}
        policy.load_state_dict(state)
        return kind, policy


class NodeEvaluation(NamedTuple):
    """Outputs of a policy in a state."""

    log_probs: NDArray[np.float64]
    """Log probabilities of every pass that it knows and of stopping, [passes + 1]; passes known to
    change nothing have next to no probability."""
    value: float
    """Return that its value head expects, discounted and scaled as in its training."""


class Guide:
    """Heuristic that asks a policy about the states of one search; each state is encoded once.

    The policy sees what environments show it, with a mask from the search's table.

    Args:
        space: Where to search.
        trained: The policy.

    Raises:
        ValueError: The policy does not order passes.
    """

    def __init__(self, space: PassSpace, trained: TrainedPolicy) -> None:
        config = trained.pass_config
        kind, policy = trained.build()
        self._space = space
        self._view = NodeView(space, kind.action_names, kind.observation, costs=config.value_costs)
        self._reward, self._reward_scale = config.reward, kind.ppo.reward_scale
        self._stop_above = kind.stop_above
        self.horizon = config.longest_play
        """Passes of an episode, as many as where the policy is evaluated."""
        self._evaluate = PolicyEvaluator(policy)
        self._evaluated: dict[PassNode, tuple[int, NodeEvaluation]] = {}

    def evaluate(self, node: PassNode) -> NodeEvaluation:
        """Returns the policy's outputs in a state, with a mask of what the table knows now."""
        children = len(node.children)
        evaluated = self._evaluated.get(node)
        if evaluated is None or evaluated[0] != children:
            self._evaluated[node] = evaluated = (children, self._new_evaluation(node))
        return evaluated[1]

    def moves(self, node: PassNode) -> Sequence[int]:
        """Returns the moves of the passes that the policy knows."""
        return self._view.moves

    def priors(self, node: PassNode) -> NDArray[np.float64]:
        """Returns the probabilities of these moves, [moves]."""
        return np.exp(self.evaluate(node).log_probs[:-1])

    def ranked(self, node: PassNode) -> list[int]:
        """Returns these moves, likeliest first."""
        order = np.argsort(-self.evaluate(node).log_probs[:-1], kind="stable")
        return [self._view.moves[action] for action in order]

    def greedy(self, node: PassNode) -> int | None:
        """Returns the move that the policy makes when it does not draw (see ``likeliest``).

        None is to stop.
        """
        log_probs = torch.from_numpy(self.evaluate(node).log_probs)
        return self._view.move(int(likeliest(log_probs[None], self._stop_above)))

    def drawn(self, node: PassNode, temperature: float, random: np.random.Generator) -> int | None:
        """Draws a move from the distribution p ** (1 / temperature); None is to stop."""
        log_probs = self.evaluate(node).log_probs
        scaled = log_probs / temperature
        # Masked passes stay masked at any temperature: their logits are large negative numbers.
        scaled[log_probs < -1e6] = -np.inf
        odds = np.exp(scaled - scaled.max())
        return self._view.move(int(random.choice(len(odds), p=odds / odds.sum())))

    def rollout(
        self, node: PassNode, until: Callable[[PassNode], bool] = lambda node: False
    ) -> Steps[list[PassNode]]:
        """Plays the policy greedily from a state on, and returns the new states on the path."""
        path: list[PassNode] = []
        for _ in range(self.horizon):
            move = self.greedy(node)
            if move is None:
                break
            before, node = node, (yield from step(node, move))
            if node is not before:
                path.append(node)
                if until(node):
                    break
        return path

    def decisions(self, node: PassNode) -> Iterator[tuple[PassNode, int | None]]:
        """Plays the policy greedily from a state on, and yields each state with the move there.

        The episode ends with None, for stopping, or without it at the horizon.
        """
        for _ in range(self.horizon):
            move = self.greedy(node)
            yield node, move
            if move is None:
                return
            node = self._space.step(node, move)

    def expected_op_count(self, node: PassNode) -> float:
        """Returns the op count that the value head expects: at least 1, at most the present one.

        The value is discounted, so it predicts the next few passes rather than an episode's end.

        Raises:
            ValueError: The returns of the policy's reward are no drops of the op count.
        """
        return expected_op_count(
            self._reward,
            self.evaluate(node).value / self._reward_scale,
            node.op_count,
            self._space.root.op_count,
        )

    def _new_evaluation(self, node: PassNode) -> NodeEvaluation:
        seen = self._evaluate([self._view.state(node, encoded=node in self._evaluated)])
        return NodeEvaluation(seen.log_probs[0].double().numpy(), float(seen.value[0]))


def check_guided(method: str, policy: TrainedPolicy) -> None:
    """Refuses a policy that a search over passes cannot use.

    Raises:
        ValueError: The policy does not order passes, or the search uses values and the policy's
            values predict no op count.
    """
    config = policy.pass_config
    if method == "policy-beam":
        expected_op_count(config.reward, 0.0, op_count=1, start=1)


def expected_op_count(reward: str, expected: float, op_count: int, start: int) -> float:
    """Returns the op count that a return stands for, from 1 to the present one.

    Args:
        reward: Name of the reward.
        expected: Return that is expected from here on, discounted. The cost of calls is subtracted
            from it, so the op count is slightly too high.
        op_count: Instructions now.
        start: Instructions of the unchanged benchmark.

    Raises:
        ValueError: Returns of this reward are no drops of the op count.
    """
    drop = max(expected, 0.0)
    kind = resolve_reward(reward)
    if isinstance(kind, LogDrop):
        return max(op_count * math.exp(-drop / kind.scale), 1.0)
    if isinstance(kind, OpCountDrop):
        return max(op_count - drop / kind.scale * start, 1.0)
    raise ValueError(
        f"the policy was trained with the reward {reward}, whose values predict no op count: "
        "expected log-drop or op-count-drop. Searches that use probabilities alone take any policy"
    )
