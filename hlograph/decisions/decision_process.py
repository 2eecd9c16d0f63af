"""The tuning of one program as a sequence of decisions, with predicted times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache

from hlograph.decisions.offers import PREDICTED, ApplicableRule, Offer, offers, sweeps
from hlograph.errors import HloError, UnknownNameError
from hlograph.measuring.compiled import Shares
from hlograph.module import Module
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Point
from hlograph.plans.versions import STEPS, Versions, steps_of
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_seconds import PredictedTime, PredictTime, RatedKernels
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.transforms.sweeping import PREPARATION, greedy_sweeps, sweep

_KEPT = 64  # states of a program


@dataclass(frozen=True)
class TuningState:
    """A program with some decisions.

    Attributes:
        point: The decisions.
        module: The module that XLA optimizes it to, with them; not to be changed.
        time: Its predicted time.
        offers: The decisions that can be taken next.
    """

    point: Point
    module: Module
    time: PredictedTime
    offers: tuple[Offer, ...]


class DecisionProcess:
    """Takes decisions about one program, one by one.

    XLA optimizes the program in this process, and generates no code: a state takes tens of
    milliseconds. What ends the process ends this object.

    Args:
        program: The program.
        numerics: Class of the results.
        predict: Predicts times; None is ``RatedKernels``.
        computing: Returns a context to compute in, such as ``hlograph.execution.lock.compiling`` in
            the processes of a search.
    """

    def __init__(
        self,
        program: Program,
        numerics: Numerics = "close",
        predict: PredictTime | None = None,
        computing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._computing = computing
        self._versions = Versions(program, numerics)
        self._predict = predict or RatedKernels()
        self.state = lru_cache(_KEPT)(self._state)
        self._sources = lru_cache(_KEPT)(self._source)
        self._applicable = lru_cache(_KEPT)(self._sweeps)

    def after(self, point: Point, offer: Offer) -> Point:
        """Returns the decisions with one more.

        Args:
            point: The decisions so far.
            offer: One that their state offers.

        Raises:
            HloError: A rule does not apply any more.
        """
        if offer.knob:
            return point.but(offer.knob, offer.value)
        steps = steps_of(point) or PREPARATION
        module = self._sources(steps_of(point)).clone()
        if offer.value == PREDICTED:
            new = tuple(greedy_sweeps(module, self._versions.rules))
        else:
            new = sweep(module, offer.value)
        if not new:
            raise HloError(f"{offer.name} applies nowhere")
        return point.but(STEPS, json.dumps([*steps, *new]))

    def follow(self, names: Iterable[str]) -> Point:
        """Returns the point after decisions, one after the other.

        Args:
            names: Names of offers.

        Raises:
            UnknownNameError: A decision is not offered.
            HloError: The program does not compile so.
        """
        point = Point()
        for name in names:
            offered = {offer.name: offer for offer in self.state(point).offers}
            if name not in offered:
                raise UnknownNameError.of("decision", name, offered)
            point = self.after(point, offered[name])
        return point

    def plan(self, point: Point) -> Plan:
        """Returns the plan of decisions.

        Raises:
            HloError: The program does not compile so.
        """
        return self._versions.plan(point)

    def _state(self, point: Point) -> TuningState:
        """Returns the state after decisions.

        Raises:
            HloError: The program does not compile so.
        """
        with self._computing():
            return self._found(point)

    def _found(self, point: Point) -> TuningState:
        version = self._versions.version(point)
        places = self._versions.places(version)
        proto = places.placed(point.at("fusion", "kernel"))
        program = OptimizedModule.from_proto(proto)
        kernels = kernel_modules(program)
        time = self._predict(kernels, version.flags)
        own: dict[str, float] = {}
        for kernel, seconds in zip(kernels, time.kernels, strict=True):
            own[kernel.name] = own.get(kernel.name, 0.0) + seconds / time.seconds
        shares = Shares.of_kernels(own, program)
        applicable = self._applicable(steps_of(point))
        found = offers(self._versions, version, point, program, shares, applicable)
        return TuningState(point, Module.from_proto(proto), time, tuple(found))

    def _source(self, steps: tuple[str, ...]) -> Module:
        """Returns the program after steps, or prepared for rules, before XLA's own passes."""
        return self._versions.after_steps(steps or PREPARATION)

    def _sweeps(self, steps: tuple[str, ...]) -> tuple[ApplicableRule, ...]:
        """Returns the rules that apply after steps."""
        return sweeps(self._sources(steps), self._versions.rules)
