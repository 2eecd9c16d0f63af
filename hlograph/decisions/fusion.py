"""The process of fusion: pair by pair, an action fuses two instructions or keeps them apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hlograph.decisions.benchmarks import NamedModule
from hlograph.decisions.process import STOP, Action, LiveModule, Process, ProgramStart, State, Step
from hlograph.errors import RewriteError, UnknownNameError
from hlograph.graph.hlo_graph import HloGraph
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine
from hlograph.module import Module, Snapshot
from hlograph.transforms.rewriting import Place
from hlograph.transforms.xla_cpu import before_fusion, count_kernels

FUSION_PASSES = ("fusion", "multi-output-fusion")
"""Rules of the passes whose decisions can be listed, in the order in which XLA:CPU runs them."""

KEEP, APPLY = 0, 1
"""The actions."""

KEPT = "keep "
"""Prefix of the name of an action that keeps a pair apart; a fusion's name is its place alone."""

_KEPT_MODULES = 32


class FusionState(State):
    """State of a lowered module, with the pair that is to be decided.

    Attributes:
        pair: The pair that is offered; None after the last.
        kernels: Number of kernels.
    """

    __slots__ = ("kernels", "pair")

    def __init__(
        self,
        snapshot: Snapshot,
        kernels: int,
        pair: Place | None,
        parent: FusionState | None = None,
        action: str = "",
    ) -> None:
        super().__init__(snapshot, parent, action)
        self.kernels, self.pair = kernels, pair


class LiveFusion(LiveModule[FusionState]):
    """Module of one player, with the walk over its pairs.

    Attributes:
        walk: Lists the pairs of the module.
    """

    walk: FusionWalk

    def applied(self, state: State | None = None) -> tuple[str, ...]:
        """Returns the places of the pairs that were fused on the way to a state."""
        return tuple(name for name in super().applied(state) if not name.startswith(KEPT))

    def graph(self) -> HloGraph:
        """Returns the module's graph, made once for each module."""
        if self._graph is None or self._graph[0] is not self.state.snapshot:
            self._graph = (self.state.snapshot, self.module.graph())
        return self._graph[1]

    def pair_nodes(self) -> tuple[int, int] | None:
        """Returns the nodes of the pair, consumer and producer; None if there is none.

        Instructions hide computations of the same name.
        """
        pair = self.state.pair
        if pair is None or pair.other is None:
            return None
        names = self.graph().names()
        return names.index(pair.instruction), names.index(pair.other)

    def copy(self) -> Self:
        """Returns an independent copy."""
        copy = super().copy()
        copy.walk = self.walk.copy(copy.module)
        return copy

    _graph: tuple[Snapshot, HloGraph] | None = None


class FusionProcess(Process[FusionState]):
    """Process that decides about each pair of instructions that XLA's passes may fuse.

    A program is lowered to the module that XLA:CPU's compiler has right before fusion. The size is
    the number of kernels. A fusion that fails keeps the pair apart.

    Args:
        fusion_passes: Names of ``FUSION_PASSES``, in the order in which they run.
        quarantine: Pairs not to be fused on a program.
        recorder: Records each fusion before it runs; None outside of worker processes.

    Raises:
        UnknownNameError: There is no such pass.
    """

    stops = False
    num_actions = 2

    def __init__(
        self,
        fusion_passes: Sequence[str] = FUSION_PASSES,
        quarantine: Quarantine | None = None,
        recorder: FlightRecorder | None = None,
    ) -> None:
        super().__init__(quarantine, recorder)
        for name in fusion_passes:
            if name not in FUSION_PASSES:
                raise UnknownNameError.of("fusion pass", name, FUSION_PASSES)
        self.passes = tuple(fusion_passes)

    def start(self, benchmark: NamedModule) -> LiveFusion:
        """Returns a new live module of a program, lowered, with its first pair."""
        source = benchmark.load()
        module = _lowered(source)
        start = ProgramStart(benchmark.name, module, source, lowered=True)
        state = FusionState(module.snapshot(), count_kernels(module), None)
        player = LiveFusion(self, start, state)
        player.walk = FusionWalk(player.module, self.passes)
        state.pair = player.walk.pair
        return player

    def names(self, state: FusionState) -> Sequence[str]:
        """Returns the names of keeping the pair apart and of fusing it."""
        return () if state.pair is None else (f"{KEPT}{state.pair}", str(state.pair))

    def actions(self, state: FusionState) -> list[Action]:
        """Returns keeping the pair apart and fusing it, with its instructions."""
        if state.pair is None or state.pair.other is None:
            return super().actions(state)
        touched = {"instruction": (state.pair.instruction,), "other": (state.pair.other,)}
        return [Action(name, touched) for name in self.names(state)]

    def mask(self, player: LiveModule[FusionState]) -> NDArray[np.int8]:
        """Returns a new mask, int8 ``[2]``: 0 for fusing a pair that is in quarantine."""
        mask = np.ones(2, np.int8)
        if str(player.state.pair) in self.quarantine.passes_at(player.start.benchmark):
            mask[APPLY] = 0
        return mask

    def take(self, player: LiveModule[FusionState], name: str) -> Step[FusionState]:
        """Fuses the pair of that name or keeps it apart.

        Raises:
            UnknownNameError: The state offers another pair.
        """
        names = self.names(player.state)
        if name not in names:
            raise UnknownNameError.of("action", name, names)
        return self._after(player, names.index(name))

    def size(self, state: FusionState) -> int:
        """Returns the number of kernels, at least 1: a program that only names data has none."""
        return max(state.kernels, 1)

    def _after(self, player: LiveModule[FusionState], action: int) -> Step[FusionState]:
        assert isinstance(player, LiveFusion)
        before, pair = player.state, player.state.pair
        if pair is None:
            return Step(before, STOP, last=True)
        begin, error = time.perf_counter(), None
        if action == APPLY:
            try:
                with self.noted(str(pair), player):
                    player.walk.apply()
            except RewriteError as failure:
                action, error = KEEP, str(failure)
        name = str(pair) if action == APPLY else f"{KEPT}{pair}"
        if action == KEEP:
            player.walk.keep()
            seconds = time.perf_counter() - begin
            after = FusionState(before.snapshot, before.kernels, player.walk.pair, before, name)
        else:
            seconds, module = time.perf_counter() - begin, player.module
            snapshot, kernels = module.snapshot(), count_kernels(module)
            after = FusionState(snapshot, kernels, player.walk.pair, before, name)
        player.arrive(after)
        return Step(after, name, action == APPLY, seconds, error, last=after.pair is None)


@lru_cache(maxsize=_KEPT_MODULES)
def _lowered(module: Module) -> Module:
    # Lowering takes seconds, and training plays the same benchmarks many times. By the module, as a
    # file that has changed is another one.
    return before_fusion(module)


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
        pair: The pair that is offered; None after the last.

    Args:
        module: A module as ``xla_cpu.before_fusion`` returns it.
        passes: Names of ``FUSION_PASSES``, in the order in which they run.
    """

    def __init__(self, module: Module, passes: Sequence[str]) -> None:
        self.module = module
        self._passes = list(passes)
        self._kept: set[Place] = set()
        self._places: list[Place] = []
        self.pair: Place | None = None
        self._list()

    def keep(self) -> None:
        """Keeps the pair that is offered apart."""
        if self.pair is not None:
            self._kept.add(self.pair)
            self._advance()

    def apply(self) -> None:
        """Fuses the pair that is offered.

        Raises:
            RewriteError: XLA returned an error; the module is unchanged and the pair still offered.
        """
        if self.pair is not None:
            self.module.apply(self.pair)
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
            self.pair = self._places.pop()
        elif self._passes:
            self._passes.pop(0)
            self._list()
        else:
            self.pair = None
