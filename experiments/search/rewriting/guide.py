"""Trained policies as heuristics of searches over rewrites."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.policies.config import RewriteTrainConfig
from experiments.policies.evaluator import PolicyEvaluator, likeliest
from experiments.policies.kind import PolicyInput
from experiments.policies.rewriting import RewritingKind
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.space import RewriteNode, RewriteSpace
from experiments.search.state_space import Steps, step
from hlograph.decisions.process import ActionTable
from hlograph.decisions.rewrites import Candidate, features, graph_features
from hlograph.decisions.rewrites import links as action_links
from hlograph.decisions.rewrites import offered as offered_of


@dataclass(frozen=True)
class ActionProbabilities:
    """Decision of a policy in a state."""

    offered: list[Candidate]
    """Rewrites and sweeps that it chooses from, as its environment offers them."""
    probabilities: NDArray[np.float64]
    """Probabilities of these, [offered]; stopping has the rest."""
    stops: bool
    """True if it stops when it does not draw."""

    def greedy(self, tried: Collection[str] = ()) -> Candidate | None:
        """Returns the likeliest rewrite or sweep; None if the policy stops.

        Args:
            tried: Places of rewrites that are not to be chosen again.
        """
        if self.stops:
            return None
        fresh = [
            n
            for n, rewrite in enumerate(self.offered)
            if self.probabilities[n] > 0 and rewrite.place not in tried
        ]
        if not fresh:
            return None
        return self.offered[max(fresh, key=lambda n: self.probabilities[n])]


def settings_of(trained: TrainedPolicy) -> RewriteTrainConfig:
    """Returns the settings of the training of a policy that rewrites.

    Raises:
        ValueError: The policy does something else.
    """
    if not isinstance(trained.config, RewriteTrainConfig):
        raise ValueError(f"expected a policy that rewrites, got {trained.kind}")
    return trained.config


class RewriteGuide:
    """Heuristic that asks a policy about states, shown to it as ``envs.RewriteEnv`` does.

    Args:
        space: Where to search, by the policy's rules.
        trained: The policy.

    Raises:
        ValueError: The policy does not rewrite.
    """

    def __init__(self, space: RewriteSpace, trained: TrainedPolicy) -> None:
        config = settings_of(trained)
        self._space, self._limit, self._sweeps = space, config.max_candidates, config.sweeps
        self.horizon = config.play_horizon
        """Rewrites of an episode, as in the policy's evaluations."""
        self.patience = config.patience
        """Rewrites without a better state after which an episode ends; None is no limit."""
        kind, policy = trained.build()
        assert isinstance(kind, RewritingKind)
        self._kind = kind
        self._evaluate = PolicyEvaluator(policy)
        self._judged: dict[RewriteNode, tuple[int, ActionProbabilities]] = {}

    def evaluate(self, node: RewriteNode) -> ActionProbabilities:
        """Returns the policy's decision in a state; rewrites known to fail there are masked.

        Raises:
            BudgetSpentError: The rewrites are not listed yet, and the budget is spent.
        """
        failed = len(node.no_ops())
        judged = self._judged.get(node)
        if judged is None or judged[0] != failed:
            self._judged[node] = judged = (failed, self._judge(node))
        return judged[1]

    def moves(self, node: RewriteNode) -> Sequence[str]:
        """Returns the places of the rewrites and sweeps that the policy chooses from."""
        return [rewrite.place for rewrite in self.evaluate(node).offered]

    def priors(self, node: RewriteNode) -> NDArray[np.float64]:
        """Returns the probabilities of these rewrites, [moves]."""
        return self.evaluate(node).probabilities

    def rollout(
        self, node: RewriteNode, until: Callable[[RewriteNode], bool] = lambda node: False
    ) -> Steps[list[RewriteNode]]:
        """Plays the policy greedily from a state on until it comes back to a state."""
        path = {node: None}  # in its order
        while len(path) <= self.horizon:
            rewrite = self.evaluate(node).greedy()
            if rewrite is None:
                break
            child = yield from step(node, rewrite.place)
            if child is node:  # it failed, and is masked from now on
                continue
            if child in path:
                break
            path[child] = None
            node = child
            if until(node):
                break
        return [*path][1:]

    def _judge(self, node: RewriteNode) -> ActionProbabilities:
        rewrites = self._space.rewrites(node)
        offered = offered_of(rewrites, self._limit, sweeps=self._sweeps)
        state = self._state(node, offered, len(rewrites))
        log_probs = self._evaluate([state]).log_probs
        return ActionProbabilities(
            offered,
            log_probs[0, : len(offered)].double().exp().numpy(),
            stops=int(likeliest(log_probs, self._kind.stop_above)) == self._limit,
        )

    def _state(self, node: RewriteNode, offered: list[Candidate], applicable: int) -> PolicyInput:
        graph = self._space.module(node).graph()
        mask = np.zeros(self._limit + 1, bool)
        mask[: len(offered)] = [node.children.get(r.place) is not node for r in offered]
        mask[-1] = True
        rows, links = features(offered, sweeps=self._sweeps), action_links(offered, graph)
        return self._kind.state_of(
            ActionTable(graph_features(graph), rows, links),
            node.fingerprint,
            mask,
            node.op_count,
            self._space.root.op_count,
            applicable,
        )


def policy_episode(
    space: RewriteSpace, random: np.random.Generator, guide: RewriteGuide
) -> Steps[None]:
    """Plays one greedy episode of the policy, in which no rewrite is tried twice in a state."""
    node = space.root
    tried: defaultdict[RewriteNode, set[str]] = defaultdict(set)
    best, idle = node.value, 0
    for _ in range(guide.horizon):
        # A rewrite tried here before would only lead back, as in ``player.Episodes``.
        rewrite = guide.evaluate(node).greedy(tried[node])
        if rewrite is None:
            return
        tried[node].add(rewrite.place)
        node = yield from step(node, rewrite.place)
        best, idle = (value, 0) if (value := node.value) < best else (best, idle + 1)
        if idle == guide.patience:
            return
