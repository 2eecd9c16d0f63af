"""Holds a program with values of its knobs: its optimized module, its time, and its actions.

An action is a value of a knob, or a rule wherever it applies. A point is what actions have set.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import NamedTuple

from hlograph.errors import HloError, UnknownNameError
from hlograph.graph.vocabulary import OPCODES
from hlograph.measuring.compiled import Shares
from hlograph.module import Module
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.knobs import Knob, Point, flag_knobs, flag_values
from hlograph.plans.placing.operations import kinds_of
from hlograph.plans.versions import STEPS, Versions, steps_of
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.kernel_seconds import PredictedTime, PredictTime, RatedKernels
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import PREPARATION, greedy_sweeps, sweep

PREDICTED = "predicted"
"""In place of a rule: the rules that are predicted to save time, at the places where they are."""

_PLACEMENTS = (
    *("partitions 1", "partitions 2", "partitions 4", "partitions"),
    *("library ynn", "library onednn", "library none"),
    *("one-kernel", "one-kernel without libraries"),
    *("unfuse", "unfuse part", "fuse", "fuse all"),
)
_OTHER, _LOOP = "other", "while"

# Values of one knob that are actions, the most promising ones. A fusion has a value for each of
# its instructions.
_MOST_VALUES = 4

_KEPT = 64  # states of a program

MOST_LOG_RATIO = 4.0
"""Bound of predicted log ratios as policies see them."""


def action_kinds() -> tuple[str, ...]:
    """Returns the names of all kinds of actions, in the order of their numbers."""
    flags = tuple(f"{name} {value}" for name, value in flag_values())
    named = (*rules.for_time, *rules.of_kernels)
    sweeps = (PREDICTED, *(rule.name for rule in named))
    return (_OTHER, *_PLACEMENTS, *flags, *(f"rule {name}" for name in sweeps))


class PlanAction(NamedTuple):
    """A change of a plan: a value of a knob, or a rule wherever it applies.

    Attributes:
        kind: Its kind, one of ``action_kinds()``.
        share: Share of the predicted time that it is about, from 0 to 1.
        places: Number of places that it changes together.
        saved: Predicted share of the time that rules save; 0 for values of knobs.
        touched: Names of the instructions of the optimized module that it is about.
        knob: Name of the knob; empty for rules.
        value: Value of the knob; for rules the name of the rule, or ``PREDICTED``.
    """

    kind: str
    share: float
    places: int
    saved: float
    touched: tuple[str, ...]
    knob: str
    value: str

    @property
    def name(self) -> str:
        """The knob and its value, or the rule."""
        return f"{self.knob} = {self.value}" if self.knob else f"rule {self.value}"

    @property
    def log_places(self) -> float:
        """log2(1 + x) / 4 of the number of places."""
        return math.log2(1 + self.places) / 4

    @property
    def log_ratio(self) -> float:
        """Predicted logarithm of the time before rules over that after, from -4 to 4."""
        rest = max(1.0 - self.saved, math.exp(-MOST_LOG_RATIO))
        return max(-math.log(rest), -MOST_LOG_RATIO)

    @classmethod
    def named(cls, name: str) -> PlanAction:
        """Returns the action of a name, without what depends on a state."""
        knob, _, value = ("", "", name[5:]) if name.startswith("rule ") else name.partition(" = ")
        return cls("", 0.0, 0, 0.0, (), knob, value)


class PointState(NamedTuple):
    """A program compiled as a point says.

    Attributes:
        point: The point.
        module: The module that XLA optimizes the program to; not to be changed.
        program: The same, read from its text.
        kernels: Its kernels.
        time: Its predicted time.
        actions: The actions that are possible next: rules, then flags, then fusion and kernels.
    """

    point: Point
    module: Module
    program: OptimizedModule
    kernels: Sequence[KernelModule]
    time: PredictedTime
    actions: tuple[PlanAction, ...]

    @property
    def by_name(self) -> dict[str, PlanAction]:
        """The actions by their names."""
        return {action.name: action for action in self.actions}


class PlanStates:
    """States of one program, by the points of its plans.

    XLA optimizes the program in this process, and generates no code: a state takes tens of
    milliseconds. What ends the process ends this object.

    Args:
        program: The program.
        numerics: Class of the results.
        predict: Predicts times; None is ``RatedKernels``.
        computing: Returns a context to compute in, such as ``hlograph.execution.lock.compiling`` in
            the processes of a search.
        versions: Versions of the program in the same class of results; None makes them.

    Attributes:
        predict: Predicts times.
    """

    def __init__(
        self,
        program: Program,
        numerics: Numerics = "close",
        predict: PredictTime | None = None,
        computing: Callable[[], AbstractContextManager[None]] = nullcontext,
        versions: Versions | None = None,
    ) -> None:
        self._computing = computing
        self._versions = versions or Versions(program, numerics)
        self.predict: PredictTime = predict or RatedKernels()
        self.state = lru_cache(_KEPT)(self._state)
        self._sources = lru_cache(_KEPT)(self._source)
        self._applicable = lru_cache(_KEPT)(self._rules)

    def after(self, point: Point, action: PlanAction) -> Point:
        """Returns the point after an action.

        Args:
            point: The point before.
            action: One that is possible there.

        Raises:
            HloError: A rule does not apply any more.
        """
        if action.knob:
            return point.but(action.knob, action.value)
        steps = steps_of(point) or PREPARATION
        module = self._sources(steps_of(point)).clone()
        if action.value == PREDICTED:
            new = tuple(greedy_sweeps(module, self._versions.rules))
        else:
            new = sweep(module, action.value)
        if not new:
            raise HloError(f"{action.name} applies nowhere")
        return point.but(STEPS, json.dumps([*steps, *new]))

    def follow(self, names: Iterable[str]) -> Point:
        """Returns the point after actions, one after the other.

        Raises:
            UnknownNameError: An action is not possible.
            HloError: The program does not compile so.
        """
        point = Point()
        for name in names:
            actions = self.state(point).by_name
            if name not in actions:
                raise UnknownNameError.of("action", name, actions)
            point = self.after(point, actions[name])
        return point

    def plan(self, point: Point) -> Plan:
        """Returns the plan of a point.

        Raises:
            HloError: The program does not compile so.
        """
        return self._versions.plan(point)

    def _state(self, point: Point) -> PointState:
        """Returns the state of a point.

        Raises:
            HloError: The program does not compile so.
        """
        with self._computing():
            version = self._versions.version(point)
            proto = self._versions.places(version).placed(point.at("fusion", "kernel"))
            program = OptimizedModule.from_proto(proto)
            kernels = kernel_modules(program)
            time = self.predict(kernels, version.flags)
            own: dict[str, float] = {}
            for kernel, seconds in zip(kernels, time.kernels, strict=True):
                own[kernel.name] = own.get(kernel.name, 0.0) + seconds / time.seconds
            shares = Shares.of_kernels(own, program)
            sweeps = _sweeps(self._applicable(steps_of(point)), program, shares)
            actions = (*sweeps, *self._settings(version, point, shares))
            return PointState(point, Module.from_proto(proto), program, kernels, time, actions)

    def _source(self, steps: tuple[str, ...]) -> Module:
        """Returns the program after steps, or prepared for rules, before XLA's own passes."""
        return self._versions.after_steps(steps or PREPARATION)

    def _rules(self, steps: tuple[str, ...]) -> tuple[_ApplicableRule, ...]:
        """Returns the rules that apply after steps."""
        return _applicable_rules(self._sources(steps), self._versions.rules)

    def _settings(self, version: Plan, point: Point, shares: Shares) -> Iterator[PlanAction]:
        """Yields the values of flags, fusion and kernels that a point does not have."""
        places = self._versions.places(version)
        flags = flag_knobs(self._versions.opcodes, shares.kinds, version.numerics)
        values = point.values
        for knob in (*flags, *places.knobs(shares.instructions)):
            placements = places.decided.get(knob.name, {}).values()
            touched = tuple(dict.fromkeys(name for each in placements for name in each.places))
            for value in knob.values[:_MOST_VALUES]:
                if values.get(knob.name) != value:
                    yield _setting(knob, value, touched)


def _setting(knob: Knob, value: str, touched: tuple[str, ...]) -> PlanAction:
    """Returns the action that sets a knob to a value."""
    word, _, rest = value.partition(" ")
    if knob.stage == "flags":
        kind = f"{knob.name} {value}"
    elif value in _PLACEMENTS:
        kind = value
    elif word == "unfuse":
        kind = "unfuse part"
    else:
        kind = word if word in ("fuse", "partitions") and rest else _OTHER
    return PlanAction(kind, knob.share, knob.places, 0.0, touched, knob.name, value)


class _ApplicableRule(NamedTuple):
    """A rule that applies to a program, or ``PREDICTED``.

    Attributes:
        rule: Name of the rule.
        places: Number of places.
        saved: Predicted share of the time that it saves.
        about: Kinds of the instructions that it is about; see ``kinds_of``.
    """

    rule: str
    places: int
    saved: float
    about: tuple[tuple[str, str], ...]


def _applicable_rules(source: Module, rules: Sequence[str]) -> tuple[_ApplicableRule, ...]:
    """Returns the rules that apply, after all that are predicted to save time, as one.

    Args:
        source: The program, before XLA's own passes.
        rules: Names of the rules.
    """
    by_rule: dict[str, list[Rewrite]] = {}
    for rewrite in source.rewrites(rules):
        by_rule.setdefault(rewrite.rule, []).append(rewrite)
    if not by_rule:
        return ()
    kinds, seconds = _kinds_by_name(source), max(source.seconds(), 1e-12)
    every = [each for several in by_rule.values() for each in several if each.seconds < 0]
    return tuple(
        _ApplicableRule(
            rule,
            len(several),
            -sum(each.seconds for each in several) / seconds,
            tuple(sorted({kinds[n] for each in several for n in (each.instruction, *each.gone)})),
        )
        for rule, several in ([(PREDICTED, every)] if every else []) + list(by_rule.items())
    )


def _sweeps(
    applicable: Sequence[_ApplicableRule], program: OptimizedModule, shares: Shares
) -> Iterator[PlanAction]:
    """Yields rules as actions, with what they are about in the optimized module."""
    names = _names_by_kind(program) if applicable else {}
    for rule, places, saved, about in applicable:
        share = max(
            (shares.kinds.get(kind, shares.kinds.get(opcode, 0.0)) for kind, opcode in about),
            default=0.0,
        )
        # XLA adds to what a loop carries, so that it has another number of elements.
        keys = (opcode if opcode == _LOOP else kind for kind, opcode in about)
        touched = dict.fromkeys(name for key in keys for name in names.get(key, ()))
        yield PlanAction(f"rule {rule}", min(share, 1.0), places, saved, tuple(touched), "", rule)


def _kinds_by_name(module: Module) -> dict[str, tuple[str, str]]:
    """Returns the kind of each instruction of a module before XLA's passes, by name."""
    graph = module.graph()
    columns = zip(graph.names(), graph.opcode.tolist(), graph.elements.tolist(), strict=True)
    return {
        name: (f"{OPCODES[opcode]} {elements}", OPCODES[opcode])
        for name, opcode, elements in columns
        if opcode >= 0
    }


def _names_by_kind(program: OptimizedModule) -> Mapping[str, list[str]]:
    """Returns the names of instructions by kind, and of loops also by opcode."""
    names: dict[str, list[str]] = {}
    for each in program.instructions.values():
        names.setdefault(kinds_of(each.opcode, each.shape)[0], []).append(each.name)
        if each.opcode == _LOOP:
            names.setdefault(_LOOP, []).append(each.name)
    return names
