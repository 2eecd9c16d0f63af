"""Encodes states of a rewriting environment: the graph, and every candidate in it.

The meta-graph of the environment has a node for each candidate, tied to the instructions that it
touches. Messages go one way, from instructions to candidates: the candidates follow from the graph,
so they hold no information for its nodes. The nodes keep the same neighbourhoods, and are encoded
once, whichever candidates are offered.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.candidate_graphs import CandidateGraphs, Candidates
from models.config import CandidateConfig, GATConfig
from models.encoder import Encoder, IncrementalEncoder
from models.gat import GATEncoder
from models.graph_view import GraphSchema
from models.incremental_gat import IncrementalGATEncoder


class CandidateEncoder(Encoder):
    """Encodes a graph by attention, and each candidate by the nodes that it touches.

    The vector of a state is the graph's, followed by one for each of `slots` candidates; zeros
    where there are fewer.

    Args:
        schema: The vocabularies of the graphs.
        gat: Shape of the graph encoder.
        config: Shape of the candidates' vectors.
        slots: Most candidates of a state.
        rules: Number of rules.
        features: Columns of a candidate, the number of its rule among them.
        roles: Number of roles in which a candidate touches nodes.
    """

    def __init__(
        self,
        schema: GraphSchema,
        gat: GATConfig,
        config: CandidateConfig,
        slots: int,
        rules: int,
        features: int,
        roles: int,
    ) -> None:
        super().__init__()
        self.graph = GATEncoder(schema, gat)
        self.slots, self.roles, self.candidate_width = slots, roles, config.width
        self.state_width = self.graph.width
        self.rule = nn.Embedding(rules, config.width)
        self.features = nn.Linear(features - 1, config.width)
        # A node means something else to a candidate that is applied there than to one that
        # removes it.
        self.touched = nn.Linear(gat.width, roles * config.width, bias=False)
        self.norm = nn.LayerNorm(gat.width)
        self.mix = nn.Sequential(
            nn.LayerNorm(config.width), nn.GELU(), nn.Linear(config.width, config.width)
        )
        self.width = self.state_width + slots * config.width

    def store(self) -> CandidateGraphs:
        """Returns an empty store of graphs and candidates."""
        return CandidateGraphs(self.graph.view, len(self.graph.layers))

    def forward(self, states: CandidateGraphs, numbers: Tensor) -> Tensor:
        """Encodes states of a store, float32 [len(numbers), self.width]."""
        device = self.rule.weight.device
        chosen = numbers.tolist()
        block = states.block(chosen, device)
        nodes = self.graph.encode_nodes(block)
        graphs = self.graph.pooling(nodes, block.members)
        candidates = states.candidates(chosen).to(device)
        place = torch.searchsorted(block.colours, candidates.colour)
        return self.joined(graphs, candidates, nodes, place)

    def joined(
        self, graphs: Tensor, candidates: Candidates, nodes: Tensor, place: Tensor
    ) -> Tensor:
        """Computes vectors of states from those of their graphs and nodes.

        Args:
            graphs: float32 [G, graph width].
            candidates: Of these states.
            nodes: float32 [C, node width].
            place: int64 [L], by link the row of its node.

        Returns:
            float32 [G, self.width].
        """
        projected = self.touched(self.norm(nodes)).view(-1, self.candidate_width)
        rows = projected.index_select(0, place * self.roles + candidates.role)
        vectors = self.rule(candidates.features[:, 0].long())
        vectors = vectors + self.features(candidates.features[:, 1:])
        vectors = vectors + self._mean_by_role(rows, candidates)
        slots = graphs.new_zeros(len(graphs) * self.slots, self.candidate_width)
        slots = slots.index_copy(
            0, candidates.state * self.slots + candidates.slot, self.mix(vectors)
        )
        return torch.cat([graphs, slots.view(len(graphs), -1)], dim=1)

    def _mean_by_role(self, rows: Tensor, candidates: Candidates) -> Tensor:
        """Sums over roles, for each candidate, the mean over its nodes: [P, width]."""
        count = len(candidates.state) * self.roles
        bucket = candidates.linked * self.roles + candidates.role
        size = rows.new_zeros(count).index_add(0, bucket, rows.new_ones(len(rows)))
        rows = rows / size.index_select(0, bucket).unsqueeze(1)
        sums = rows.new_zeros(len(candidates.state), rows.shape[1])
        return sums.index_add(0, candidates.linked, rows)

    def incremental(self, states: CandidateGraphs) -> IncrementalEncoder:
        """Returns an encoder of added states, which on a CPU encodes only nodes that are new."""
        incremental = self.graph.incremental(states)
        if isinstance(incremental, IncrementalGATEncoder):
            return IncrementalCandidateEncoder(self, states, incremental)
        return super().incremental(states)


class IncrementalCandidateEncoder(IncrementalEncoder):
    """Incremental encoder of graphs and their candidates.

    Args:
        encoder: The encoder, whose parameters stay as they are.
        states: The store.
        incremental: The incremental encoder of the graphs.
    """

    def __init__(
        self, encoder: CandidateEncoder, states: CandidateGraphs, incremental: IncrementalGATEncoder
    ) -> None:
        super().__init__(encoder, states)
        self._whole, self._offered, self._graphs = encoder, states, incremental

    @torch.inference_mode()
    def new_vectors(self) -> Tensor:
        """Encodes the states added since the last call, float32 [G, width]."""
        first, self._done = self._done, len(self._offered)
        graphs = self._graphs.new_vectors()
        candidates = self._offered.candidates(range(first, self._done))
        return self._whole.joined(graphs, candidates, self._graphs.nodes, candidates.colour)
