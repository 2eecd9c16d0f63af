"""What a trained policy says of the states of a search over rewrites."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from gymnasium.spaces import GraphInstance
from numpy.typing import NDArray

from envs import candidates as arrays
from experiments.policies.config import RewriteTrainConfig
from experiments.policies.states import State, state_of
from experiments.search.guide import TrainedPolicy
from experiments.search.rewriting.space import Node, RewriteSpace
from experiments.workers.playing import likeliest
from hlograph.graph.features import edge_features, node_features
from hlograph.transforms.rewriting import Rewrite
from models.rollout import StateTable


@dataclass(frozen=True)
class Judgement:
    """What a policy says of a state."""

    offered: list[Rewrite]
    """The rewrites that it chooses from, as its environment offers them."""
    probabilities: NDArray[np.float64]
    """[offered]: of each, as the policy draws; stopping has the rest."""
    stops: bool
    """Whether it stops when it does not draw."""

    def greedy(self, tried: Collection[str] = ()) -> Rewrite | None:
        """What it does when it does not draw; None is to stop.

        Args:
            tried: Places of rewrites that were chosen in this state before.
        """
        if self.stops:
            return None
        left = [
            n
            for n, rewrite in enumerate(self.offered)
            if self.probabilities[n] > 0 and rewrite.place not in tried
        ]
        if not left:
            return None
        return self.offered[max(left, key=lambda n: self.probabilities[n])]


def settings_of(trained: TrainedPolicy) -> RewriteTrainConfig:
    """What a policy was trained with that rewrites.

    Raises:
        ValueError: It does something else.
    """
    if not isinstance(trained.config, RewriteTrainConfig):
        raise ValueError(f"expected a policy that rewrites, got {trained.learner}")
    return trained.config


class RewriteGuide:
    """A policy's view of the states of one search, as ``envs.RewriteEnv`` shows them.

    Args:
        space: Where to search, by the policy's rules.
        trained: The policy.

    Raises:
        ValueError: It does not rewrite.
    """

    def __init__(self, space: RewriteSpace, trained: TrainedPolicy) -> None:
        config = settings_of(trained)
        self._space, self._limit = space, config.max_candidates
        self.horizon = config.play_horizon
        """Rewrites of an episode, as in the policy's evaluations."""
        _, self._policy = trained.build()
        self._table = StateTable(self._policy)
        self._judged: dict[Node, tuple[int, Judgement]] = {}

    def judge(self, node: Node) -> Judgement:
        """What the policy says of a state; rewrites known to fail there are hidden from it.

        Raises:
            BudgetSpentError: What applies there is not known yet, and the budget is spent.
        """
        failed = sum(child is None for child in node.children.values())
        judged = self._judged.get(node)
        if judged is None or judged[0] != failed:
            self._judged[node] = judged = (failed, self._judge(node))
        return judged[1]

    @torch.no_grad()
    def _judge(self, node: Node) -> Judgement:
        found = self._space.rewrites(node)
        offered = arrays.chosen(found, self._limit)
        state = self._state(node, offered, len(found))
        vector = self._table.vectors(self._table.numbers([state.key], [state.item]))
        context, mask = torch.from_numpy(state.context), torch.from_numpy(state.mask)
        log_probs, _ = self._policy(vector, context[None], mask[None])
        return Judgement(
            offered,
            log_probs[0, : len(offered)].double().exp().numpy(),
            stops=int(likeliest(log_probs)) == self._limit,
        )

    def _state(self, node: Node, offered: list[Rewrite], applicable: int) -> State:
        graph = node.module.graph()
        mask = np.zeros(self._limit + 1, np.int8)
        mask[: len(offered)] = [node.children.get(r.place, node) is not None for r in offered]
        mask[-1] = 1
        observation = {
            "graph": GraphInstance(
                nodes=node_features(graph),
                edges=edge_features(graph),
                edge_links=np.ascontiguousarray(graph.edge_index.T),
            ),
            "candidates": arrays.features(offered),
            "candidate_links": arrays.links(offered, graph),
        }
        return state_of(
            observation,
            {
                "action_mask": mask,
                "op_count": node.op_count,
                "start_op_count": self._space.root.op_count,
                "fingerprint": node.module.fingerprint(),
                "num_rewrites": applicable,
            },
        )


def policy_episode(space: RewriteSpace, random: np.random.Generator, guide: RewriteGuide) -> None:
    """The policy's one greedy episode, of which the best state counts.

    Args:
        space: Where to play.
        random: Not used: nothing is drawn.
        guide: The policy.

    Raises:
        BudgetSpentError: The budget is spent.
    """
    node = space.root
    tried: defaultdict[Node, set[str]] = defaultdict(set)
    for _ in range(guide.horizon):
        # What was done here before leads round again, as in ``playing.Played``.
        rewrite = guide.judge(node).greedy(tried[node])
        if rewrite is None:
            return
        tried[node].add(rewrite.place)
        node = space.step(node, rewrite.place) or node
