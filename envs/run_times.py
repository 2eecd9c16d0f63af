"""Measures run times of modules in units of their start's, each state once."""

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
    """Program whose run time is the unit of the run times of an episode's states.

    Attributes:
        module: The module at the start of the episode; not to be changed.
        source: The module that random inputs are made for; it has the same parameters.
        lowered: True if modules are compiled with exactly the fusions that they have
            (``hlograph.execution.executable.Executable``).
    """

    module: Module
    source: Module
    lowered: bool = False


class RunTime(NamedTuple):
    """Result of running a module.

    Attributes:
        ratio: Seconds of one run over those of the start; inf if it does not run.
        error: Reason why it does not run, or None.
    """

    ratio: float
    error: str | None = None


class _How(NamedTuple):
    """Arguments of ``time_in_turn``."""

    pairs: int
    sample_seconds: float
    max_seconds: float


class RunTimes:
    """Table of run times of states, in units of their start's; each is measured on first use.

    A state is compiled by XLA:CPU with default options, and its runs are interleaved with runs of
    the start on the same random inputs. The result is the median of the ratios, pair by pair,
    without the time that other programs took from either. The start itself is 1 and is not
    measured. States are identified by their fingerprint: two paths to one state have the same run
    time, and once all states of an episode are known, its run times are the same each time.

    A process measures one state at a time. Other processes on the same cores add noise, and the
    more the shorter a run is.

    Args:
        pairs: Number of pairs of samples.
        sample_seconds: Time of a sample, which is the median over its runs.
        max_seconds: Time after which no further pair is begun.
        seed: Seed of the inputs.
        limits: Limits of running a module; a module that exceeds them does not run.
        max_states: Number of states that are kept; those longest unused are forgotten first.
        max_starts: Number of compiled starts that are kept, with their inputs, likewise.

    Raises:
        ValueError: A number of pairs, states or starts is less than 1.
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
        """Returns the number of known states."""
        return len(self._states)

    def check(self, start: Start) -> None:
        """Compiles and runs a start, unless it was run before.

        Raises:
            HloError: It does not run on one CPU within the limits.
        """
        with self._lock:
            self._compiled(start)

    def of(self, start: Start, module: Module) -> RunTime:
        """Returns the run time of a state.

        Args:
            start: Start of the episode.
            module: The state; its parameters and outputs have the start's shapes.

        Raises:
            HloError: The start does not run.
        """
        key = (*_key(start), module.fingerprint())
        if key[0] == key[2]:
            return RunTime(1.0)
        with self._lock:
            stored = self._states.get(key)
            if stored is None:
                first, inputs = self._compiled(start)
                stored = self._states[key] = self._measured(first, inputs, module, start.lowered)
            self._states.move_to_end(key)
            if len(self._states) > self._max_states:
                self._states.popitem(last=False)
        return stored

    def again(self, start: Start) -> RunTime:
        """Returns the run time of a start that is compiled again: 1, up to noise; not kept.

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
                return RunTime(math.inf, "its parameters or outputs differ from the start's")
            times = time_in_turn(first, second, inputs, **self._how._asdict())
        except HloError as error:
            return RunTime(math.inf, str(error))
        return RunTime(float(np.median(times[:, 1] / times[:, 0])))

    def __deepcopy__(self, memo: dict[int, object]) -> RunTimes:
        # gymnasium.make and vector environments copy their arguments; the table is to be shared.
        return self

    def __reduce__(self) -> tuple[object, tuple[()]]:
        # The table starts empty in another process.
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
"""Table of this process."""
