"""How long modules run beside what they began as: measured in turn, and each state once."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from functools import partial
from typing import NamedTuple

import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence import Limits
from hlograph.execution.equivalence.arrays import Array
from hlograph.execution.executable import Executable, random_inputs, time_in_turn
from hlograph.module import Module


class Start(NamedTuple):
    """What the states of an episode are timed beside.

    Attributes:
        module: The module as the episode began; not to be changed.
        source: The module whose use of its parameters the random inputs fit; it takes the same.
        lowered: Whether modules are compiled with the fusions that they have
            (``hlograph.execution.executable.Executable``).
    """

    module: Module
    source: Module
    lowered: bool = False


class RunTime(NamedTuple):
    """What came of running a module.

    Attributes:
        ratio: Seconds of one run over those of the start; inf if it does not run.
        error: Why it does not, or None.
    """

    ratio: float
    error: str | None = None


class _How(NamedTuple):
    """Arguments of ``time_in_turn``."""

    pairs: int
    sample_seconds: float
    max_seconds: float


class RunTimes:
    """Run times of states in units of their start's, each measured when it is first asked for.

    A state is compiled by XLA:CPU as it compiles when it is asked for nothing, and run in turn
    with the start on the same random inputs; kept is the median of the ratios, pair by pair, so
    that what slows the machine for a while slows both. The start itself is 1 and is not measured.
    States are known again by their fingerprint: where two ways meet they have one run time, and
    with all states known an episode's are the same each time.

    One measurement at a time in a process; other processes that use the same cores make for noise,
    the more the shorter a run is.

    Args:
        pairs: Pairs of samples.
        sample_seconds: Time of a sample, over whose runs the median is taken.
        max_seconds: After so long no further pair is begun.
        seed: Seed of the inputs.
        limits: What a module may take to run; a flop too many and it does not run.
        max_states: States that are kept; those longest unused go first.
        max_starts: Compiled starts that are kept, with their inputs, likewise.

    Raises:
        ValueError: There is no room for a single state, start or pair.
    """

    def __init__(
        self,
        *,
        pairs: int = 11,
        sample_seconds: float = 0.005,
        max_seconds: float = 5.0,
        seed: int = 0,
        limits: Limits | None = None,
        max_states: int = 1 << 16,
        max_starts: int = 8,
    ) -> None:
        least = min(pairs, max_states, max_starts)
        if least < 1:
            raise ValueError(f"expected at least 1 pair, state and start, got {least}")
        self._how = _How(pairs, sample_seconds, max_seconds)
        self._seed, self._limits = seed, limits
        self._max_states, self._max_starts = max_states, max_starts
        self._states: OrderedDict[tuple[str, bool, str], RunTime] = OrderedDict()
        self._starts: OrderedDict[tuple[str, bool], tuple[Executable, list[Array]]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many states are known."""
        return len(self._states)

    def check(self, start: Start) -> None:
        """Compiles and runs a start, if that was not done before.

        Raises:
            HloError: It does not run on one CPU within the limits.
        """
        with self._lock:
            self._compiled(start)

    def of(self, start: Start, module: Module) -> RunTime:
        """The run time of a state.

        Args:
            start: What it is timed beside.
            module: The state; takes and gives what the start does.

        Raises:
            HloError: The start does not run.
        """
        key = (*_key(start), module.fingerprint())
        if key[0] == key[2]:
            return RunTime(1.0)
        with self._lock:
            known = self._states.get(key)
            if known is None:
                first, inputs = self._compiled(start)
                known = self._states[key] = self._measured(first, inputs, module, start.lowered)
            self._states.move_to_end(key)
            if len(self._states) > self._max_states:
                self._states.popitem(last=False)
        return known

    def again(self, start: Start) -> RunTime:
        """The run time of a start that is compiled again, which is 1 but for noise; not kept.

        Raises:
            HloError: It does not run.
        """
        with self._lock:
            first, inputs = self._compiled(start)
            return self._measured(first, inputs, start.module, start.lowered)

    def _compiled(self, start: Start) -> tuple[Executable, list[Array]]:
        key = _key(start)
        if key not in self._starts:
            made = Executable(start.module, self._limits, lowered=start.lowered)
            inputs = random_inputs(start.source, self._seed)
            made.run(inputs)
            self._starts[key] = (made, inputs)
            if len(self._starts) > self._max_starts:
                self._starts.popitem(last=False)
        self._starts.move_to_end(key)
        return self._starts[key]

    def _measured(
        self, first: Executable, inputs: list[Array], module: Module, lowered: bool
    ) -> RunTime:
        try:
            second = Executable(module, self._limits, lowered=lowered)
            if second.signature != first.signature:
                return RunTime(math.inf, "it takes or gives other arrays than the start")
            times = time_in_turn(first, second, inputs, **self._how._asdict())
        except HloError as error:
            return RunTime(math.inf, str(error))
        return RunTime(float(np.median(times[:, 1] / times[:, 0])))

    def __deepcopy__(self, memo: dict[int, object]) -> RunTimes:
        # gymnasium.make copies what it is given; what is known is there to be shared.
        return self

    def __reduce__(self) -> tuple[object, tuple[()]]:
        # Another process begins with nothing known.
        settings = {
            **self._how._asdict(),
            "seed": self._seed,
            "limits": self._limits,
            "max_states": self._max_states,
            "max_starts": self._max_starts,
        }
        return partial(RunTimes, **settings), ()


def _key(start: Start) -> tuple[str, bool]:
    return start.module.fingerprint(), start.lowered


RUN_TIMES = RunTimes()
"""Those of this process."""
