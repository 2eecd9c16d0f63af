"""Recipes of graphs, which sources yield, and the abstract arrays that they are lowered for."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

Tree = Any
"""A pytree; JAX has no narrower type for one."""

Scope = Literal["training-step", "model", "algorithm", "layer"]
"""Scope of a graph: the part of a program that it covers.

`training-step`: gradient and optimizer update of a whole model, once or in a loop. `model`: a whole
model's forward pass, loss, gradient or decoding. `algorithm`: a whole computation that is no
network, such as a solver, a sampler or a simulation step. `layer`: a part of one of these.
"""


class Recipe(NamedTuple):
    """One benchmark of the corpus, before it is lowered.

    Attributes:
        name: Benchmark name, `family/model/variant`, lower case.
        family: Model family, the unit by which the corpus is split.
        library: Distribution name of the library whose model code is lowered.
        recipe: How the graph is made, in words that determine it: changed words mean a new graph.
        lower: Lowers the program; called in the process of the source. Returns what
            `hlograph.parse` takes: a lowering of jax, or HLO text.
        scope: How much of a program the graph is.
    """

    name: str
    family: str
    library: str
    recipe: str
    lower: Callable[[], jax.stages.Lowered | str]
    scope: Scope


def array(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """Returns an abstract array."""
    return jax.ShapeDtypeStruct(shape, dtype)


def key(implementation: str = "threefry2x32") -> Any:
    """Returns an abstract random key; `rbg` keys lower to XLA's own generator."""
    return jax.eval_shape(lambda: jax.random.key(0, impl=implementation))


def abstract(tree: Tree) -> Tree:
    """Returns a tree of arrays as shapes and types."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def cast(tree: Tree, dtype: Any) -> Tree:
    """Returns an abstract tree with its floating-point leaves in another type."""

    def leaf_cast(leaf: Any) -> Any:
        floating = jnp.issubdtype(leaf.dtype, jnp.floating)
        return jax.ShapeDtypeStruct(leaf.shape, dtype if floating else leaf.dtype)

    return jax.tree.map(leaf_cast, tree)
