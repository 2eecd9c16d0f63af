"""Settings that all environments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from envs.benchmarks import Selection
from envs.run_times import RunTimes
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine


class EnvSettings(TypedDict, total=False):
    """Keyword arguments that all environments take.

    Attributes:
        selection: Order in which ``reset`` chooses benchmarks: ``"uniform"`` (default), by chance,
            or ``"round-robin"``, one after the other.
        costs: True (default) if info holds XLA's cost analysis, which takes about as long as a
            pass after each step that changed the module. A reward that reads costs gets them with
            either value.
        timings: True if ``step_time`` of info is measured. False by default: infos of equal
            episodes are equal then.
        run_times: Measures and keeps run times where the reward needs them. By default all
            environments of the process share ``envs.run_times.RUN_TIMES``.
        quarantine: States, passes and rewrites that are not to be tried, because they ended a
            process.
        recorder: Flight recorder of the worker process that the environment runs in.
        render_mode: ``"ansi"`` or None (default).
    """

    selection: Selection
    costs: bool
    timings: bool
    run_times: RunTimes | None
    quarantine: Quarantine | None
    recorder: FlightRecorder | None
    render_mode: str | None


def listed(names: Sequence[Any] | str) -> Sequence[Any]:
    """Returns names as a sequence, also a single one that is given by itself."""
    return [names] if isinstance(names, str) else names
