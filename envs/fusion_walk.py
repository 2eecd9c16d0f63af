"""Lists the decisions of fusion passes on one module, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from hlograph import Place
from hlograph.module import Module

FUSION_PASSES = ("fusion", "multi-output-fusion")
"""Rules of the passes whose decisions can be listed, in the order in which XLA:CPU runs them."""


class FusionWalk:
    """Offers each legal pair of instructions once, to be fused or kept apart.

    Pairs come in the order of ``xla::InstructionFusion``'s queue: consumers from the root to the
    parameters (reverse post-order), and the producers of each consumer likewise. A fusion takes
    the place and the name of its consumer, and its own producers are offered before any other
    consumer. A pair that was kept apart is not offered again. Computations come callers first.

    The order for ``multi-output-fusion`` is the same. XLA orders its pairs by the bytes that they
    share, which is its estimate of profit; here estimating profit is left to the agent.

    Attributes:
        module: The module; changed by ``apply``.
        decision: The pair that is offered; None after the last.

    Args:
        module: A module as ``xla_cpu.before_fusion`` returns it.
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
        """Keeps the pair that is offered apart."""
        if self.decision is not None:
            self._kept.add(self.decision)
            self._advance()

    def apply(self) -> None:
        """Fuses the pair that is offered.

        Raises:
            RewriteError: XLA returned an error; the module is unchanged and the pair still offered.
        """
        if self.decision is not None:
            self.module.apply(self.decision)
            self._list()

    def copy(self, module: Module) -> FusionWalk:
        """Returns an independent copy that walks another module.

        Args:
            module: A clone of the module.
        """
        copy = object.__new__(FusionWalk)
        copy.__dict__.update(self.__dict__)
        copy.module = module
        copy._passes, copy._places = list(self._passes), list(self._places)
        copy._kept = set(self._kept)
        return copy

    def _list(self) -> None:
        self._places = self.module.places(self._passes[:1]) if self._passes else []
        self._advance()

    def _advance(self) -> None:
        while self._places and self._places[-1] in self._kept:
            self._places.pop()
        if self._places:
            self.decision = self._places.pop()
        elif self._passes:
            self._passes.pop(0)
            self._list()
        else:
            self.decision = None
