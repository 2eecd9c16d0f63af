"""Policies that point at one of the actions of a state: its encoder with the actions, and the head.

The meta-graph of such an environment has a node for each action, tied to the instructions that it
touches. Messages go one way, from instructions to actions: the actions follow from the graph, so
they hold no information for its nodes. The nodes keep the same neighbourhoods, and are encoded
once, whichever actions are offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.action_axes import RULE_AXES
from models.actor_critic import ActorCritic, masked_log_probs
from models.config import ActionConfig, HeadsConfig
from models.encoder import Encoder, IncrementalEncoder, StateStore
from models.gat import GATEncoder, IncrementalGATEncoder
from models.op_count_mlp import CountVectors, OpCountEncoder
from models.refined_graphs import RefinedGraphs

_NO_LINKS = np.zeros((0, 3), np.int64)


class StateWithActions(NamedTuple):
    """State with the K actions that are offered in it.

    Attributes:
        state: The graph's arrays; or float32 [C], op counts and other numbers of at least 0.
        features: float32 [K, F], of each action; the first column is the number of its name.
        links: int64 [L, 3], action, node of the graph, and role; none without a graph.
    """

    state: Any
    features: np.ndarray
    links: np.ndarray = _NO_LINKS


class ActionColumns(NamedTuple):
    """Actions of several states, concatenated.

    Attributes:
        state: int64 [P], place of its state among those asked for, ascending.
        slot: int64 [P], number among the actions of its state.
        features: float32 [P, F].
        linked: int64 [L], action that a link is of, a place in the rows above.
        colour: int64 [L], last colour of the node that it leads to.
        role: int64 [L].
    """

    state: Tensor
    slot: Tensor
    features: Tensor
    linked: Tensor
    colour: Tensor
    role: Tensor

    def to(self, device: torch.device) -> ActionColumns:
        """Returns the same actions on another device."""
        return ActionColumns(*(column.to(device) for column in self))


class ActionStates(StateStore):
    """Store of graphs or op counts that also holds the actions of each state.

    Args:
        states: Empty store of the graphs or op counts.
    """

    def __init__(self, states: RefinedGraphs | CountVectors) -> None:
        self.states = states
        self._features: list[np.ndarray] = []
        self._links: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self._features)

    def add(self, items: Sequence[StateWithActions]) -> None:
        """Adds states.

        Raises:
            ValueError: A graph's arrays do not fit the schema.
        """
        for item in items:
            if isinstance(self.states, RefinedGraphs):
                self._append(item.features, item.links, self.states.add_graph(item.state))
            else:
                self.states.add([item.state])
                self._append(item.features, item.links)

    def merge(self, other: ActionStates, numbers: Sequence[int]) -> None:
        """Adds states of another store of its kind."""
        own: Any = self.states  # of the other store's kind
        colours = own.merge(other.states, numbers)
        for number in numbers:
            self._append(other._features[number], other._links[number], colours)

    def groups(self, numbers: Sequence[int], budget: int) -> list[tuple[list[int], int]]:
        """Splits states into groups; see ``StateStore.groups``. Actions count as nothing."""
        return self.states.groups(numbers, budget)

    def new_nodes(self, numbers: Sequence[int]) -> np.ndarray:
        """Returns the nodes that each state adds; see ``StateStore.new_nodes``."""
        return self.states.new_nodes(numbers)

    def actions(self, numbers: Sequence[int]) -> ActionColumns:
        """Returns the actions of some states, on the CPU."""
        features = [self._features[number] for number in numbers]
        sizes = np.array([len(rows) for rows in features])
        first = np.cumsum(sizes) - sizes
        links = [self._links[number] for number in numbers]
        lengths = [len(rows) for rows in links]
        all_links = torch.from_numpy(np.concatenate(links))
        return ActionColumns(
            state=torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)),
            slot=torch.from_numpy(np.arange(sizes.sum()) - np.repeat(first, sizes)),
            features=torch.from_numpy(np.concatenate(features)),
            linked=all_links[:, 0] + torch.from_numpy(np.repeat(first, lengths)),
            colour=all_links[:, 1].contiguous(),
            role=all_links[:, 2],
        )

    def _append(
        self, features: np.ndarray, links: np.ndarray, colours: np.ndarray | None = None
    ) -> None:
        """Adds the actions of a state, with the colours of nodes in place of their numbers."""
        if colours is not None:
            links = links.copy()
            links[:, 1] = colours[links[:, 1]]
        self._features.append(features)
        self._links.append(links)


class ActionEncoder(Encoder):
    """Encodes a state, and each action by its name, its features and the nodes that it touches.

    The vector of a state is the graph's or the op counts', followed by one for each of `slots`
    actions; zeros where there are fewer.

    Args:
        states: Encoder of the graph, or of op counts.
        config: Shape of the actions' vectors.
        slots: Most actions of a state.
        names: Number of names of actions, such as rules.
        features: Columns of an action, the number of its name among them.
        roles: Number of roles in which an action touches nodes of a graph.
    """

    def __init__(
        self,
        states: GATEncoder | OpCountEncoder,
        config: ActionConfig,
        slots: int,
        names: int,
        features: int,
        roles: int,
    ) -> None:
        super().__init__()
        # Two names of one part: parameters of trained policies are stored by them.
        self.graph = states if isinstance(states, GATEncoder) else None
        self.counts = states if isinstance(states, OpCountEncoder) else None
        self.slots, self.roles, self.action_width = slots, roles, config.width
        self.state_width = states.width
        self.rule = nn.Embedding(names, config.width)
        self.features = nn.Linear(features - 1, config.width)
        if isinstance(states, GATEncoder):
            # A node means something else to an action that is applied there than to one that
            # removes it.
            node_width = states.node_type.embedding_dim
            self.touched = nn.Linear(node_width, roles * config.width, bias=False)
            self.norm = nn.LayerNorm(node_width)
        self.mix = nn.Sequential(
            nn.LayerNorm(config.width), nn.GELU(), nn.Linear(config.width, config.width)
        )
        self.width = self.state_width + slots * config.width

    def store(self) -> ActionStates:
        """Returns an empty store of states and actions."""
        states = self.counts if self.graph is None else self.graph
        assert states is not None
        return ActionStates(states.store())

    def forward(self, states: ActionStates, numbers: Tensor) -> Tensor:
        """Encodes states of a store, float32 [len(numbers), self.width]."""
        device = self.rule.weight.device
        chosen = numbers.tolist()
        actions = states.actions(chosen).to(device)
        if self.graph is None:
            assert self.counts is not None
            return self.joined(self.counts(states.states, numbers), actions)
        assert isinstance(states.states, RefinedGraphs)
        block = states.states.block(chosen, device)
        nodes = self.graph.encode_nodes(block)
        graphs = self.graph.pool(nodes, block)
        place = torch.searchsorted(block.colours, actions.colour)
        return self.joined(graphs, actions, nodes, place)

    def joined(
        self,
        states: Tensor,
        actions: ActionColumns,
        nodes: Tensor | None = None,
        place: Tensor | None = None,
    ) -> Tensor:
        """Computes vectors of states from those of their graphs or counts, and of nodes.

        Args:
            states: float32 [G, state width].
            actions: Of these states.
            nodes: float32 [C, node width]; None without graphs.
            place: int64 [L], by link the row of its node.

        Returns:
            float32 [G, self.width].
        """
        vectors = self.rule(actions.features[:, 0].long()) + self.features(actions.features[:, 1:])
        if nodes is not None and place is not None:
            projected = self.touched(self.norm(nodes)).view(-1, self.action_width)
            rows = projected.index_select(0, place * self.roles + actions.role)
            vectors = vectors + self._mean_by_role(rows, actions)
        slots = states.new_zeros(len(states) * self.slots, self.action_width)
        slots = slots.index_copy(0, actions.state * self.slots + actions.slot, self.mix(vectors))
        return torch.cat([states, slots.view(len(states), -1)], dim=1)

    def _mean_by_role(self, rows: Tensor, actions: ActionColumns) -> Tensor:
        """Sums over roles, for each action, the mean over its nodes: [P, width]."""
        count = len(actions.state) * self.roles
        bucket = actions.linked * self.roles + actions.role
        size = rows.new_zeros(count).index_add(0, bucket, rows.new_ones(len(rows)))
        rows = rows / size.index_select(0, bucket).unsqueeze(1)
        sums = rows.new_zeros(len(actions.state), rows.shape[1])
        return sums.index_add(0, actions.linked, rows)

    def incremental(self, states: ActionStates) -> IncrementalEncoder:
        """Returns an encoder of added states, which on a CPU encodes only nodes that are new."""
        if self.graph is not None and isinstance(states.states, RefinedGraphs):
            graphs = self.graph.incremental(states.states)
            if isinstance(graphs, IncrementalGATEncoder):
                return _IncrementalActionEncoder(self, states, graphs)
        return super().incremental(states)


class _IncrementalActionEncoder(IncrementalEncoder):
    """Incremental encoder of graphs and their actions."""

    def __init__(
        self, encoder: ActionEncoder, states: ActionStates, graphs: IncrementalGATEncoder
    ) -> None:
        super().__init__(encoder, states)
        self._whole, self._with_actions, self._graphs = encoder, states, graphs

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        first, self._done = self._done, len(self._with_actions)
        graphs = self._graphs.new_vectors()
        actions = self._with_actions.actions(range(first, self._done))
        return self._whole.joined(graphs, actions, self._graphs.node_vectors, actions.colour)


class PointerActorCritic(ActorCritic):
    """Policy that scores each action by itself and the state, with shared weights.

    Additive attention of the state over its actions, whose weights are the policy: pointer
    networks (Vinyals et al. 2015, arXiv:1506.03134, equation 3). Stopping has a head of its own.
    The value sees the graph or the op counts, not what is offered, for that follows from the graph.

    Args:
        encoder: Encodes states and actions.
        context_width: Number of context values of a transition.
        heads: Shape of the value head, and of the one that stops.
        config: Shape of the scores.
    """

    def __init__(
        self,
        encoder: ActionEncoder,
        context_width: int,
        heads: HeadsConfig,
        config: ActionConfig,
    ) -> None:
        seen = encoder.state_width
        super().__init__(encoder, context_width, 1, heads, seen_width=seen)
        self.action_axes = RULE_AXES
        self._seen, self._slots = seen, encoder.slots
        self.query = nn.Linear(seen + context_width, config.score_width)
        self.key = nn.Linear(encoder.action_width, config.score_width, bias=False)
        self.score = nn.Linear(config.score_width, 1, bias=False)
        # As the other heads: a policy that starts near uniform.
        nn.init.orthogonal_(self.score.weight, 0.01)

    def fused_heads(self) -> None:
        """Returns None: there is no fused code for scores."""
        return

    def forward(self, encoded: Tensor, context: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Computes log-probabilities of actions and values of states.

        Args:
            encoded: float32 [B, encoder.width].
            context: float32 [B, context_width].
            mask: bool [B, slots + 1]; False hides an action. Each row has a True.

        Returns:
            Log-probabilities, float32 [B, slots + 1], and values, float32 [B].
        """
        features = torch.cat([encoded[:, : self._seen], context], dim=1)
        actions = encoded[:, self._seen :].unflatten(1, (self._slots, -1))
        met = (self.query(features).unsqueeze(1) + self.key(actions)).tanh()
        logits = torch.cat([self.score(met).squeeze(2), self.policy_head(features)], dim=1)
        return masked_log_probs(logits, mask), self.value_head(features).squeeze(1)
