"""Requests to the worker of a plan, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hlograph.plans import Measured, Plan


@dataclass(frozen=True)
class TimelineRequest:
    """Asks for a timeline of the program.

    Attributes:
        plan: Plan to compile the program with; the empty one is jaxlib's default.
    """

    plan: Plan


@dataclass(frozen=True)
class Timeline:
    """A timeline, and the module that ran.

    Attributes:
        timeline: See ``timeline_data``.
        module: See ``optimized_data``.
        compile_seconds: Seconds of jaxlib's compilation.
    """

    timeline: dict[str, Any]
    module: dict[str, Any]
    compile_seconds: float


@dataclass(frozen=True)
class TurnsRequest:
    """Asks how much faster one plan is than another one of the program.

    Attributes:
        plan: The plan.
        other: The plan that it is timed in turns with.
        pairs: Largest number of pairs.
        block_seconds: Least duration of one side of a pair.
        max_seconds: Time after which no pair begins.
    """

    plan: Plan
    other: Plan
    pairs: int = 40
    block_seconds: float = 0.01
    max_seconds: float = 3.0


@dataclass(frozen=True)
class Refused:
    """Says that a request cannot be answered.

    Attributes:
        reason: Why.
    """

    reason: str


PlanRequest = TimelineRequest | TurnsRequest
PlanAnswer = Timeline | Measured | Refused
