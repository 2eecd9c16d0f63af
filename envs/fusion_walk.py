"""The decisions of fusion passes on one module, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from hlograph import Place
from hlograph.module import Module

FUSION_PASSES = ("fusion", "multi-output-fusion")
"""The passes whose decisions can be walked, by their rules, in the order of XLA:CPU."""


class FusionWalk:
    """Offers each legal pair of instructions once, to be fused or kept apart.

    In the order of ``xla::InstructionFusion``'s queue: consumers from the root to the
    parameters (reverse post-order), and of each its producers likewise. A fusion has the place and
    the name of its consumer, and is offered what it reads now before any other consumer. What was
    kept apart once is not offered again. Computations come callers first.

    For ``multi-output-fusion`` the order is the same. XLA's own goes by the bytes that two share,
    which is its estimate of profit; that is the agent's business here.

    Attributes:
        module: The module; changed by ``apply``.
        decision: The pair that is offered; None after the last.

    Args:
        module: One of ``xla_cpu.before_fusion``.
        passes: Names of ``FUSION_PASSES``, in the order in which they run.
    """

    def __init__(self, module: Module, passes: Sequence[str]) -> None:
        self.module = module
        self._passes = list(passes)
        self._kept: set[Place] = set()
        self._places: list[Place] = []
        self.decision: Place | None = None
        self._list()

    def keep(self) -> None:
        """Leaves the pair as it is."""
        if self.decision is not None:
            self._kept.add(self.decision)
            self._go_on()

    def apply(self) -> None:
        """Fuses the pair.

        Raises:
            RewriteError: XLA returned an error; the module is as before and the pair offered yet.
        """
        if self.decision is not None:
            self.module.apply(self.decision)
            self._list()

    def copy(self) -> FusionWalk:
        """Returns an independent copy."""
        copy = object.__new__(FusionWalk)
        copy.__dict__.update(self.__dict__)
        copy.module = self.module.clone()
        copy._passes, copy._places = list(self._passes), list(self._places)
        copy._kept = set(self._kept)
        return copy

    def _list(self) -> None:
        self._places = self.module.places(self._passes[:1]) if self._passes else []
        self._go_on()

    def _go_on(self) -> None:
        while self._places and self._places[-1] in self._kept:
            self._places.pop()
        if self._places:
            self.decision = self._places.pop()
        elif self._passes:
            self._passes.pop(0)
            self._list()
        else:
            self.decision = None
