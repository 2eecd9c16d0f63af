"""Rules for time, other forms of what a program computes: where they apply, and what is tried."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakValueDictionary

from hlograph.errors import WorkerLostError
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.trial import PlanMeasurement
from hlograph.optimization.methods import COLD, HELPS, PlanSearch
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.jaxlib_versions import rules_for_time
from hlograph.plans.placing.operations import kinds_of
from hlograph.reading.hlo_text import InstructionText, read_instructions
from hlograph.transforms.rules import rules
from hlograph.transforms.sweeping import PREPARATION, greedy_sweeps, sweep

if TYPE_CHECKING:
    from hlograph.isolation import FlightRecorder
    from hlograph.module import Module
    from hlograph.transforms.rewriting import Rewrite


_SECONDS = 60.0  # for one request
_MEMORY = 16 << 30


@dataclass(frozen=True)
class RuleScope:
    """A rule, and where it is applied.

    Attributes:
        rule: Name of the rule; empty for the rules that are predicted to save time, one after the
            other, at the places where they are.
        group: Opcode and shapes that places must have; empty for all places.
        without: Rules that are left out, if the choice is of several.
        places: Number of places in the program as it is.
        saved: Predicted seconds that the rule saves in one run.
        added: Number of instructions that it adds, all of which have to be compiled.
        kinds: Kinds of the instructions at its places: see ``measuring.compiled.kinds_of``.
    """

    rule: str = ""
    group: str = ""
    without: frozenset[str] = frozenset()
    places: int = field(default=0, compare=False)
    saved: float = field(default=0.0, compare=False)
    added: int = field(default=0, compare=False)
    kinds: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)


class Sweeps:
    """Lists where rules for time apply to a program, and applies them.

    The rules run in a worker process, so that what ends it costs the method only. The process ends
    with this object, when all that share it have closed it. It lists the places at once, while
    others work.

    Args:
        program: The program.
        rules: Names of the rules.
    """

    _shared: ClassVar[WeakValueDictionary[tuple[object, ...], Sweeps]] = WeakValueDictionary()

    @classmethod
    def shared(cls, program: Program, rules: tuple[str, ...]) -> Sweeps:
        """Returns the object of a program and rules, one for the methods of a thread's search."""
        key = threading.get_ident(), program.hlo, rules
        sweeps = cls._shared.get(key)
        if sweeps is None or not sweeps._users:
            sweeps = cls._shared[key] = cls(program, rules)
        else:
            sweeps._users += 1
        return sweeps

    def __init__(self, program: Program, rules: tuple[str, ...]) -> None:
        self._users = 1
        limits = WorkerLimits(seconds=_SECONDS, memory=_MEMORY)
        self._worker = Remote(partial(_Worker, program, rules), limits)
        self._thread = ThreadPoolExecutor(1, "sweeps")
        self._listed = self._thread.submit(self._list)

    @property
    def ready(self) -> bool:
        """False while the places are listed."""
        return self._listed.done()

    def choices(self) -> list[RuleScope]:
        """Returns each rule that applies, and groups of its places where their shapes differ."""
        return list(self._listed.result())

    def steps(self, choices: tuple[RuleScope, ...]) -> tuple[str, ...]:
        """Returns the steps that make these choices, one after the other; empty if none applies."""
        self._listed.result()  # the process takes one call at a time
        try:
            return self._worker.call(_Worker.steps, choices)
        except WorkerLostError:
            return ()

    def close(self) -> None:
        """Ends the worker process, unless another user has not closed it yet."""
        self._users -= 1
        if self._users == 0:
            self._worker.close()
            self._thread.shutdown()

    def _list(self) -> list[RuleScope]:
        try:
            return self._worker.call(_Worker.choices)
        except WorkerLostError:
            return []


class _Worker:
    """Applies rules to a program, in the process that may die."""

    def __init__(self, program: Program, rules: tuple[str, ...], recorder: FlightRecorder) -> None:
        self._rules, self._recorder = rules, recorder
        self._module = program.module()
        for step in PREPARATION:
            self._module.run(step)

    def choices(self) -> list[RuleScope]:
        instructions = _instructions(self._module)
        by_rule: dict[str, dict[str, list[Rewrite]]] = {}
        with self._recorder.noted(b"where rules apply"):
            for rewrite in self._module.rewrites(self._rules):
                group = _group(rewrite.instruction, instructions)
                by_rule.setdefault(rewrite.rule, {}).setdefault(group, []).append(rewrite)
        whole = [
            self._scope(rule, "", [one for many in groups.values() for one in many], instructions)
            for rule, groups in by_rule.items()
        ]
        parts = [
            self._scope(rule, group, rewrites, instructions)
            for rule, groups in by_rule.items()
            if len(groups) > 1
            for group, rewrites in groups.items()
        ]
        return whole + parts

    def steps(self, choices: tuple[RuleScope, ...]) -> tuple[str, ...]:
        with self._recorder.noted(str(choices).encode()):
            module = self._module.clone()
            steps = [step for choice in choices for step in self._applied(module, choice)]
        return (*PREPARATION, *steps) if steps else ()

    def _applied(self, module: Module, choice: RuleScope) -> Iterable[str]:
        """Makes a choice in a module, and returns its steps."""
        if not choice.rule:
            kept = [rule for rule in self._rules if rule not in choice.without]
            return greedy_sweeps(module, kept)
        instructions = _instructions(module) if choice.group else {}

        def accepts(candidate: Rewrite) -> bool:
            return not choice.group or _group(candidate.instruction, instructions) == choice.group

        return sweep(module, choice.rule, accepts)

    def _scope(
        self,
        rule: str,
        group: str,
        rewrites: list[Rewrite],
        instructions: Mapping[str, InstructionText],
    ) -> RuleScope:
        names = {name for rewrite in rewrites for name in (rewrite.instruction, *rewrite.gone)}
        kinds = frozenset(
            kinds_of(instructions[name].opcode, instructions[name].shape)
            for name in names
            if name in instructions
        )
        return RuleScope(
            rule,
            group,
            places=len(rewrites),
            saved=-sum(rewrite.seconds for rewrite in rewrites),
            added=sum(rewrite.op_count for rewrite in rewrites),
            kinds=kinds,
        )


def _instructions(module: Module) -> dict[str, InstructionText]:
    """Returns the instructions by their names."""
    return {each.name: each for each in read_instructions(module.to_text())}


def _group(name: str, instructions: Mapping[str, InstructionText]) -> str:
    """Returns the opcode and the shapes of an instruction and its operands."""
    if name not in instructions:
        return ""
    place = instructions[name]
    shapes = (instructions[operand].shape for operand in place.operands if operand in instructions)
    return " ".join((place.opcode, place.shape, *shapes))


# Some rules pay only with others, as a library takes what one of them leaves: all rules are tried
# together that alone have at least these ratios.
_TOGETHER = (0.97, 0.5)
_MOST_GROUPS = 8

_PREDICTED = RuleScope()


class Forms(PlanSearch):
    """Proposes rules for time wherever they apply, those that promise most first.

    The first plan has all rules that are predicted to save time, at the places where they are.
    Then each rule is tried alone, in the order of predicted seconds and then of the default's time
    at its places: on all places, and, if these differ in shape, on those of one shape. Rules about
    instructions that take hardly any of the default's time are left out. In the end, rules that do
    not hurt much are tried together, and a rule is added to the fastest ones so far as long as this
    helps. The last plans are the fastest one without one of its rules, and with one that did not
    help alone.

    Where rules apply is listed while plans of other methods are measured.

    Args:
        program: The program.
        numerics: ``exact`` leaves out rules that round differently.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        self._program = program
        self._sweeps = Sweeps.shared(program, rules_for_time(exact=numerics == "exact"))
        self._waiting: list[RuleScope] | None = None
        self._made: dict[tuple[RuleScope, ...], str] = {}
        self._told: dict[str, float] = {}
        self._tried: set[frozenset[RuleScope]] = set()
        self._rules_of: dict[tuple[RuleScope, ...], tuple[str, ...]] = {}
        self._hot: Mapping[str, float] = {}
        self._default_seconds = 0.0
        self._bounds = list(_TOGETHER)

    @property
    def ready(self) -> bool:
        """False while the places of rules are listed."""
        return self._sweeps.ready

    def _next(self) -> Plan | None:
        """Returns the next plan, and waits for the first one; None if there is none now."""
        if self._waiting is None:
            self._waiting = _ordered(self._sweeps.choices())
        while self._waiting:
            choice = max(self._waiting, key=self._promise)
            self._waiting.remove(choice)
            if not self._is_cold(choice) and (plan := self._first_plan((choice,))):
                return plan
        return self._together() or self._joined() or self._neighbour()

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of the speed of a plan, and of where the default spends its time."""
        self._told[result.plan.digest] = result.ratio
        if result.hot is not None:
            self._hot = result.hot
        if result.measured is not None:
            self._default_seconds = result.measured.default_seconds

    def close(self) -> None:
        """Ends the process that applies rules."""
        self._sweeps.close()

    def _promise(self, choice: RuleScope) -> tuple[bool, bool, float, float, int]:
        """Returns what orders choices: what is predicted, whole rules, seconds saved, the share.

        Predictions know little of how fast a kernel is at its shape. So a rule that is predicted to
        save little promises more where the default spends more of its time. Of rules about the same
        loop, one that adds few instructions comes before one that unrolls it.
        """
        saved = choice.saved if choice.saved >= COLD * self._default_seconds else 0.0
        share = max(shares_of(choice, self._hot), default=0.0)
        return choice == _PREDICTED, not choice.group, saved, share, -choice.added

    def _is_cold(self, choice: RuleScope) -> bool:
        """Returns True if all instructions of a choice are known to take hardly any time."""
        return max(shares_of(choice, self._hot), default=1.0) < COLD

    def _first_plan(self, *orders: tuple[RuleScope, ...], whole: bool = False) -> Plan | None:
        """Returns the plan of choices in the order in which most of them apply.

        None if none applies, or not all although ``whole`` asks for it, or if a plan of the same
        steps was made before.
        """
        joint = frozenset(orders[0])
        if joint in self._tried:
            return None
        self._tried.add(joint)
        tried = [(choices, self._sweeps.steps(choices)) for choices in orders]
        counts = [sum(_applies(choice, steps) for choice in choices) for choices, steps in tried]
        choices, steps = tried[counts.index(max(counts))]
        if not steps or (whole and max(counts) < len(choices)):
            return None
        names = tuple(dict.fromkeys(step.partition("(")[0] for step in steps if "(" in step))
        plan = self._plan(steps, names)
        proposed = plan.digest in self._made.values()
        self._made[choices], self._rules_of[choices] = plan.digest, names
        return None if proposed else plan

    def _plan(self, steps: tuple[str, ...], names: tuple[str, ...]) -> Plan:
        exact = all(rules[name].exact for name in names)
        return Plan(
            self._program.name,
            self._program.fingerprint,
            steps,
            numerics="exact" if exact else "close",
            method=f"forms: {', '.join(names)}",
        )

    def _ratios(self) -> dict[tuple[RuleScope, ...], float]:
        """Returns the ratios of the plans that were measured, by their choices."""
        return {
            choices: self._told[digest]
            for choices, digest in self._made.items()
            if digest in self._told
        }

    def _together(self) -> Plan | None:
        """Returns rules that alone did not hurt much, when each of them was measured."""
        ratios = self._ratios()
        if len(ratios) < len(self._made):
            return None
        alone = {
            choices[0]: ratio
            for choices, ratio in ratios.items()
            if len(choices) == 1 and choices[0].rule and not choices[0].group
        }
        ranked = sorted(alone, key=lambda scope: -scope.saved)
        while self._bounds:
            bound = self._bounds.pop(0)
            hurt = frozenset(scope.rule for scope, ratio in alone.items() if ratio < bound)
            kept = tuple(scope for scope in ranked if scope.rule not in hurt)
            predicted = (RuleScope(without=hurt),) if hurt and (_PREDICTED,) in self._made else ()
            for orders in ([predicted], [kept, kept[::-1]] if len(kept) > 1 else [()]):
                if orders[0] and (plan := self._first_plan(*orders)):
                    self._bounds.insert(0, bound)
                    return plan
        return None

    def _joined(self) -> Plan | None:
        """Returns the fastest choices so far with one more that helped alone, the fastest first."""
        helpful = {choices: ratio for choices, ratio in self._ratios().items() if ratio >= HELPS}
        ranked = sorted(helpful, key=lambda choices: -helpful[choices])
        for other in ranked[1:]:
            best = ranked[0]
            if len(other) != 1 or _overlaps(best, other[0]):
                continue
            # One rule may take the place of the other: then the other order may have both.
            if plan := self._first_plan(best + other, other + best, whole=True):
                return plan
        return None

    def _neighbour(self) -> Plan | None:
        """Returns the fastest choices so far without one of them, or with one that did not help."""
        ratios = self._ratios()
        best = max(ratios, key=lambda choices: ratios[choices], default=())
        if not best or ratios[best] < HELPS:
            return None
        fewer = [(choices,) for scope in best for choices in self._without(best, scope) if choices]
        # What comes first may take places from the others.
        more = [
            (other + best, best + other)
            for other in sorted(ratios, key=lambda choices: -ratios[choices])
            if len(other) == 1 and not _overlaps(best, other[0])
        ]
        plans = (self._first_plan(*orders) for orders in (*fewer, *more))
        return next(filter(None, plans), None)

    def _without(
        self, choices: tuple[RuleScope, ...], scope: RuleScope
    ) -> list[tuple[RuleScope, ...]]:
        """Returns the choices without one of them, or without one rule of it if it has several."""
        if scope.rule:
            return [tuple(other for other in choices if other != scope)]
        return [
            tuple(
                RuleScope(without=scope.without | {rule}) if other == scope else other
                for other in choices
            )
            for rule in self._rules_of.get(choices, ())
        ]


def shares_of(choice: RuleScope, hot: Mapping[str, float]) -> list[float]:
    """Returns the known shares of the default's time, of the instructions of a choice.

    Args:
        choice: The choice.
        hot: See ``hlograph.measuring.trial.PlanMeasurement``.
    """
    return [hot[kind if kind in hot else opcode] for kind, opcode in choice.kinds if opcode in hot]


def _applies(choice: RuleScope, steps: tuple[str, ...]) -> bool:
    """Returns True if a step is of this rule."""
    return not choice.rule or any(step.startswith(f"{choice.rule}(") for step in steps)


def _overlaps(choices: tuple[RuleScope, ...], other: RuleScope) -> bool:
    """Returns True if a choice is part of others, or they are of it."""
    return any(
        scope.rule == other.rule
        and (not scope.group or not other.group or scope.group == other.group)
        for scope in choices
    )


def _ordered(choices: list[RuleScope]) -> list[RuleScope]:
    """Returns the choices by predicted seconds: rules, then groups of those that have few."""
    ranked = sorted(choices, key=lambda choice: -choice.saved)
    groups: dict[str, list[RuleScope]] = {}
    for choice in ranked:
        if choice.group:
            groups.setdefault(choice.rule, []).append(choice)
    few = [choice for parts in groups.values() for choice in parts[:_MOST_GROUPS]]
    return [_PREDICTED, *(choice for choice in ranked if not choice.group), *few]
