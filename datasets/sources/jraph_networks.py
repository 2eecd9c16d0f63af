"""Graph networks of jraph on one padded batch of graphs, their functions from haiku."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import jraph
from recipe import Recipe, array, key
from tasks import Task, cross_entropy, task_recipes

LIBRARY = "jraph"
NODES, EDGES, GRAPHS, CLASSES = 24, 48, 3, 5

Layer = Callable[[jraph.GraphsTuple], jraph.GraphsTuple]


class Sizes(NamedTuple):
    """Sizes of a padded batch of graphs."""

    nodes: int = NODES
    edges: int = EDGES
    graphs: int = GRAPHS


def graphs(sizes: Sizes, features: int = 6) -> Any:
    """Returns an abstract batch of graphs, the last of them padding."""
    integers = jnp.int32
    return jraph.GraphsTuple(
        nodes=array(sizes.nodes, features),
        edges=array(sizes.edges, 4),
        senders=array(sizes.edges, dtype=integers),
        receivers=array(sizes.edges, dtype=integers),
        globals=array(sizes.graphs, 4),
        n_node=array(sizes.graphs, dtype=integers),
        n_edge=array(sizes.graphs, dtype=integers),
    )


def update(width: int, depth: int = 1, norm: bool = False, dropout: bool = False) -> Any:
    """Returns a function of concatenated features: an MLP, perhaps with a norm or dropout."""

    @jraph.concatenated_args
    def apply(features: jax.Array) -> jax.Array:
        hidden = hk.nets.MLP([width] * depth, activate_final=True)(features)
        if dropout:
            hidden = hk.dropout(hk.next_rng_key(), 0.1, hidden)
        return hk.LayerNorm(-1, True, True)(hidden) if norm else hidden

    return apply


def embedding(width: int) -> Layer:
    """Returns the embedding of nodes, edges and globals by linear layers."""
    return jraph.GraphMapFeatures(hk.Linear(width), hk.Linear(width), hk.Linear(width))


def without_globals(graph: Any) -> Any:
    """Returns a graph without edges' and graphs' features."""
    return graph._replace(globals=None, edges=None)


def graph_network(width: int, rounds: int, aggregate: str = "sum", **options: Any) -> Layer:
    """Returns full graph network blocks (Battaglia et al., 2018)."""
    reduce = getattr(jraph, f"segment_{aggregate}")

    def apply(graph: Any) -> Any:
        graph = embedding(width)(graph)
        for _ in range(rounds):
            block = jraph.GraphNetwork(
                update(width, **options),
                update(width, **options),
                update(width, **options),
                aggregate_edges_for_nodes_fn=reduce,
            )
            graph = block(graph)
        return graph

    return apply


def convolutions(width: int, rounds: int, symmetric: bool, self_edges: bool) -> Layer:
    """Returns graph convolutions (Kipf and Welling, 2017)."""

    def apply(graph: Any) -> Any:
        for _ in range(rounds):
            block = jraph.GraphConvolution(
                hk.Linear(width),
                add_self_edges=self_edges,
                symmetric_normalization=symmetric,
            )
            graph = block(graph)
            graph = graph._replace(nodes=jax.nn.relu(graph.nodes))
        return graph

    return apply


def attention(width: int, rounds: int, edges: bool) -> Layer:
    """Returns graph attention (Velickovic et al., 2018), with edge features or without."""

    def apply(graph: Any) -> Any:
        for _ in range(rounds):

            def logit(sender: jax.Array, receiver: jax.Array, edge: Any) -> jax.Array:
                parts = [sender, receiver, *([edge] if edges else [])]
                joined = jnp.concatenate(parts, axis=-1)
                return jax.nn.leaky_relu(hk.Linear(1)(joined), 0.2)

            block = jraph.GAT(hk.Linear(width), logit, lambda nodes: jax.nn.elu(nodes))
            graph = block(graph)
        return graph

    return apply


def edge_attention(width: int, rounds: int) -> Layer:
    """Returns graph network blocks with attention on edges."""

    def apply(graph: Any) -> Any:
        graph = embedding(width)(graph)
        for _ in range(rounds):

            def logit(edge: Any, sender: Any, receiver: Any, context: Any) -> jax.Array:
                return hk.Linear(1)(jnp.concatenate([edge, sender, receiver, context], axis=-1))

            def reduce(edges: jax.Array, weights: jax.Array) -> jax.Array:
                return edges * weights

            block = jraph.GraphNetGAT(update(width), update(width), logit, reduce, update(width))
            graph = block(graph)
        return graph

    return apply


def interactions(width: int, rounds: int, sent: bool) -> Layer:
    """Returns interaction networks (Battaglia et al., 2016)."""

    def apply(graph: Any) -> Any:
        graph = embedding(width)(graph)
        for _ in range(rounds):
            block = jraph.InteractionNetwork(
                update(width, 2), update(width), include_sent_messages_in_node_update=sent
            )
            graph = block(graph)
        return graph

    return apply


def relations(width: int) -> Layer:
    """Returns a relation network (Santoro et al., 2017)."""

    def apply(graph: Any) -> Any:
        return jraph.RelationNetwork(update(width, 2), update(width))(graph)

    return apply


def deep_sets(width: int, rounds: int) -> Layer:
    """Returns deep sets (Zaheer et al., 2017)."""

    def apply(graph: Any) -> Any:
        for _ in range(rounds):
            block = jraph.DeepSets(update(width), update(width), jraph.segment_mean)
            graph = block(graph)
        return graph

    return apply


def task(
    layer: Callable[[], Layer],
    target: str,
    plain: bool = False,
    rng: Any = None,
    sizes: Sizes = Sizes(),  # noqa: B008
) -> Task:
    """Returns the task of a graph network.

    Args:
        layer: Makes the layers.
        target: Classes of `nodes`, of `edges` or of graphs (`globals`); the last masked for
            padding, and pooled from the nodes when the layers keep no globals.
        plain: Nodes only, without features of edges and graphs.
        rng: An abstract key for dropout, or nothing.
        sizes: Sizes of the batch.
    """

    def forward(graph: Any) -> jax.Array:
        graph = layer()(without_globals(graph) if plain else graph)
        if target == "globals" and plain:
            owner = jnp.arange(sizes.graphs)
            owner = jnp.repeat(owner, graph.n_node, total_repeat_length=sizes.nodes)
            pooled = jraph.segment_mean(graph.nodes, owner, sizes.graphs)
            return hk.Linear(CLASSES)(pooled)
        return hk.Linear(CLASSES)(getattr(graph, target))

    net = hk.transform(forward)
    example = graphs(sizes)
    rows = {"nodes": sizes.nodes, "edges": sizes.edges, "globals": sizes.graphs}[target]

    def loss(params: Any, state: Any, graph: Any, labels: jax.Array, *keys: Any) -> Any:
        logits = net.apply(params, keys[0] if keys else None, graph)
        mask = {
            "nodes": jraph.get_node_padding_mask,
            "edges": jraph.get_edge_padding_mask,
            "globals": jraph.get_graph_padding_mask,
        }[target](graph)
        return cross_entropy(jnp.where(mask[:, None], logits, 0.0), labels), state

    def apply(params: Any, state: Any, graph: Any, labels: jax.Array, *keys: Any) -> Any:
        return net.apply(params, keys[0] if keys else None, graph)

    return Task(
        params=jax.eval_shape(net.init, key(), example),
        state={},
        batch=(example, array(rows, dtype=jnp.int32), *([] if rng is None else [rng])),
        forward=apply,
        loss=loss,
    )


def recipes() -> Iterator[Recipe]:
    """Yields every jraph recipe."""
    network, gcn, gat = graph_network, convolutions, attention
    rows: list[tuple[str, str, Callable[[], Layer], str, bool, tuple[str, ...]]] = [
        ("graph-network", "block-r1", partial(network, 16, 1), "globals", False,
         ("forward", "grad", "train-adam")),
        ("graph-network", "block-r3-mean", partial(network, 16, 3, "mean"), "nodes", False,
         ("grad", "train-adamw")),
        ("graph-network", "block-r2-max-norm", partial(network, 16, 2, "max", norm=True), "edges",
         False, ("forward", "train-sgdm")),
        ("graph-network", "block-r2-max", partial(network, 16, 2, "max"), "nodes",
         False, ("remat-grad",)),
        ("graph-network", "block-r4-deep", partial(network, 16, 4, depth=2), "globals", False,
         ("loop-adam",)),
        ("graph-network", "block-r2-dropout", partial(network, 16, 2, dropout=True), "globals",
         False, ("train-adam-clip",)),
        ("gnn", "jraph-gcn-r2", partial(gcn, 16, 2, True, True), "nodes", True,
         ("grad", "train-adam")),
        ("gnn", "jraph-gcn-r4-sum", partial(gcn, 16, 4, False, False), "globals", True,
         ("forward", "train-lion")),
        ("gnn", "jraph-gat-r2", partial(gat, 16, 2, False), "nodes", True, ("grad", "train-adamw")),
        ("gnn", "jraph-gat-r3-edges", partial(gat, 16, 3, True), "nodes", False,
         ("train-adam", "loop-sgdm")),
        ("graph-network", "edge-attention-r2", partial(edge_attention, 16, 2), "globals", False,
         ("forward", "train-adam")),
        ("graph-network", "interaction-r2", partial(interactions, 16, 2, False), "nodes", False,
         ("train-rmsprop", "hvp")),
        ("graph-network", "interaction-r3-sent", partial(interactions, 16, 3, True), "nodes", False,
         ("grad", "loop-adamw")),
        ("graph-network", "relation", partial(relations, 16), "globals", False,
         ("grad", "train-adam")),
        ("graph-network", "deep-sets-r2", partial(deep_sets, 16, 2), "globals", False,
         ("forward", "train-nesterov")),
    ]  # fmt: skip
    for family, model, layer, target, plain, kinds in rows:
        rng = key() if "dropout" in model else None
        make = partial(task, layer, target, plain, rng)
        text = f"jraph {model}, classes of {target}, {NODES} nodes, {EDGES} edges, {GRAPHS} graphs"
        yield from task_recipes(family, LIBRARY, model, text, make, {kind: kind for kind in kinds})
