"""Arguments that a compiled function does not take, found before it is called with them.

jax finds them, too, and raises an exception that costs many times the call. To compare all
arguments before each call would make calls with the right ones slower. So they are compared only
for some calls after one that failed, and then at one place: that at which it failed.
"""

from __future__ import annotations

from typing import Any

from hlograph.plans.weak_types import is_weak

# Calls with the right arguments, after one with others, that are still looked at.
_LOOKED_AT = 100


class OtherArguments:
    """Tells which calls a compiled function would refuse.

    Args:
        compiled: A ``jax.stages.Compiled``.
    """

    def __init__(self, compiled: Any) -> None:
        import jax
        from jax.core import Tracer

        # Bound once, as to import them again takes as long as the rest of a look.
        self._flatten, self._array, self._tracer = jax.tree_util.tree_flatten, jax.Array, Tracer
        self._tree = compiled.in_tree
        self._avals = jax.tree.leaves(compiled.in_avals)
        self._place: int | None = None
        self._left = 0

    @property
    def expected(self) -> bool:
        """True while calls are looked at."""
        return self._left > 0

    def note(self, args: Any, kwargs: Any) -> None:
        """Notes the arguments of a call that was refused."""
        leaves, tree = self._flatten((args, kwargs))
        self._place = None
        if tree == self._tree:
            places = (n for n, leaf in enumerate(leaves) if self._is_other(leaf, n))
            self._place = next(places, None)
            if self._place is None:  # a sharding, or a type that numpy and jax write differently
                self._left = 0
                return
        self._left = _LOOKED_AT

    def has(self, args: Any, kwargs: Any) -> bool:
        """Returns True if a call would be refused; False if it has to be tried."""
        leaves, tree = self._flatten((args, kwargs))
        place = self._place
        if tree != self._tree or (place is not None and self._is_other(leaves[place], place)):
            self._left = _LOOKED_AT
            return True
        self._left -= 1
        return False

    def _is_other(self, leaf: Any, number: int) -> bool:
        """Returns True if jax refuses an argument for its shape, type or weak type.

        Types are compared for arrays of jax alone: it takes some of numpy for others.
        """
        aval = self._avals[number]
        if getattr(leaf, "shape", ()) != aval.shape or is_weak(leaf) != aval.weak_type:
            return True
        if isinstance(leaf, self._array) and leaf.dtype != aval.dtype:
            return True
        return isinstance(leaf, self._tracer)
