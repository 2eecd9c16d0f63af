"""Settings that all environments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, cast

from envs.run_times import RunTimes
from hlograph.decisions.benchmarks import Selection
from hlograph.isolation.flight_recorder import FlightRecorder
from hlograph.isolation.quarantine import Quarantine


class ShownSettings(TypedDict, total=False):
    """Keyword arguments that all environments take and that show in observations or info.

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
        render_mode: ``"ansi"`` or None (default).
    """

    selection: Selection
    costs: bool
    timings: bool
    run_times: RunTimes | None
    render_mode: str | None


class EnvSettings(ShownSettings, total=False):
    """Keyword arguments that all environments take: those of ``ShownSettings``, and these.

    Attributes:
        quarantine: States, passes and rewrites that are not to be tried, because they ended a
            process.
        recorder: Flight recorder of the worker process that the environment runs in.
    """

    quarantine: Quarantine | None
    recorder: FlightRecorder | None


class Isolation(TypedDict):
    """Arguments of a process that concern the loss of a worker; see ``EnvSettings``."""

    quarantine: Quarantine | None
    recorder: FlightRecorder | None


def isolation(settings: EnvSettings) -> Isolation:
    """Returns the settings that a decision process takes."""
    return Isolation(quarantine=settings.get("quarantine"), recorder=settings.get("recorder"))


def shown(settings: EnvSettings) -> ShownSettings:
    """Returns the settings that ``DecisionEnv`` takes."""
    others = Isolation.__annotations__
    return cast(ShownSettings, {name: v for name, v in settings.items() if name not in others})


def listed(names: Sequence[Any] | str) -> Sequence[Any]:
    """Returns names as a sequence, also a single one that is given by itself."""
    return [names] if isinstance(names, str) else names
