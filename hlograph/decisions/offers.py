"""Offers of a state of tuning: values of knobs, and rules wherever they apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlograph.graph.vocabulary import OPCODES
from hlograph.measuring.compiled import Shares, kinds_of
from hlograph.module import Module
from hlograph.plans import Plan
from hlograph.plans.knobs import Knob, Point, flag_knobs, flag_values
from hlograph.plans.versions import Versions
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.transforms.rewriting import Rewrite
from hlograph.transforms.rules import rules

PREDICTED = "predicted"
"""In place of a rule: the rules that are predicted to save time, at the places where they are."""

_PLACEMENTS = (
    *("partitions 1", "partitions 2", "partitions 4", "partitions"),
    *("library ynn", "library onednn", "library none"),
    *("one-kernel", "one-kernel without libraries"),
    *("unfuse", "unfuse part", "fuse", "fuse all"),
)
_OTHER, _LOOP = "other", "while"

# Values of one knob that are offered, the most promising ones. A fusion has a value for each of
# its instructions.
_MOST_VALUES = 4


def offer_kinds() -> tuple[str, ...]:
    """Returns the names of all kinds of offers, in the order of their numbers."""
    flags = tuple(f"{name} {value}" for name, value in flag_values())
    sweeps = (PREDICTED, *(rule.name for rule in rules.for_time))
    return (_OTHER, *_PLACEMENTS, *flags, *(f"rule {name}" for name in sweeps))


@dataclass(frozen=True)
class Offer:
    """One decision that a state offers.

    Attributes:
        kind: Its kind, one of ``offer_kinds()``.
        share: Share of the predicted time that it is about, from 0 to 1.
        places: Number of places that it decides on together.
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


class ApplicableRule(NamedTuple):
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


def sweeps(source: Module, rules: Sequence[str]) -> tuple[ApplicableRule, ...]:
    """Returns the rules that apply, after all that are predicted to save time, as one.

    Args:
        source: The program, before XLA's own passes.
        rules: Names of the rules.
    """
    found: dict[str, list[Rewrite]] = {}
    for rewrite in source.rewrites(rules):
        found.setdefault(rewrite.rule, []).append(rewrite)
    if not found:
        return ()
    kinds, seconds = _kinds_by_name(source), max(source.seconds(), 1e-12)
    every = [one for several in found.values() for one in several if one.seconds < 0]
    return tuple(
        ApplicableRule(
            rule,
            len(several),
            -sum(one.seconds for one in several) / seconds,
            tuple(sorted({kinds[n] for one in several for n in (one.instruction, *one.gone)})),
        )
        for rule, several in ([(PREDICTED, every)] if every else []) + list(found.items())
    )


def offers(
    versions: Versions,
    version: Plan,
    point: Point,
    program: OptimizedModule,
    shares: Shares,
    applicable: Sequence[ApplicableRule],
) -> list[Offer]:
    """Returns what a state offers: rules, then flags, then fusion and kernels.

    Values that the point has are left out.

    Args:
        versions: The versions of the program.
        version: The plan of the point without placements.
        point: The decisions so far.
        program: The optimized module with them.
        shares: Shares of its predicted time.
        applicable: The rules that apply after the steps of the point.
    """
    found = [*_of_sweeps(applicable, program, shares)]
    flags = flag_knobs(versions.opcodes, shares.kinds, versions.numerics)
    found += _values(flags, point, {})
    places = versions.places(version)
    touched = {
        name: [place for one in values.values() for place in one.places]
        for name, values in places.decided.items()
    }
    return [*found, *_values(places.knobs(shares.instructions), point, touched)]


def _values(
    knobs: Iterable[Knob], point: Point, touched: Mapping[str, Sequence[str]]
) -> Iterator[Offer]:
    chosen = point.values
    for knob in knobs:
        places = tuple(dict.fromkeys(touched.get(knob.name, ())))
        for value in knob.values[:_MOST_VALUES]:
            if chosen.get(knob.name) != value:
                kind = _kind(knob.name, value)
                yield Offer(kind, knob.share, knob.places, 0.0, places, knob.name, value)


def _kind(knob: str, value: str) -> str:
    """Returns the kind of a value of a knob."""
    if knob.startswith("flags "):
        return f"{knob} {value}"
    word, _, rest = value.partition(" ")
    if value in _PLACEMENTS:
        return value
    if word == "unfuse":
        return "unfuse part"
    return word if word in ("fuse", "partitions") and rest else _OTHER


def _of_sweeps(
    applicable: Sequence[ApplicableRule], program: OptimizedModule, shares: Shares
) -> Iterator[Offer]:
    """Yields the offers of rules."""
    names = _names_by_kind(program) if applicable else {}
    for rule, places, saved, about in applicable:
        share = max((_share(kind, shares) for kind in about), default=0.0)
        touched = dict.fromkeys(name for kind in about for name in _named(kind, names))
        yield Offer(f"rule {rule}", min(share, 1.0), places, saved, tuple(touched), "", rule)


def _share(kind: tuple[str, str], shares: Shares) -> float:
    return shares.kinds.get(kind[0], shares.kinds.get(kind[1], 0.0))


def _kinds_by_name(module: Module) -> dict[str, tuple[str, str]]:
    """Returns the kind of each instruction of a module before XLA's passes, by name."""
    graph = module.graph()
    columns = zip(graph.names(), graph.opcode.tolist(), graph.elements.tolist(), strict=True)
    return {
        name: (f"{OPCODES[opcode]} {elements}", OPCODES[opcode])
        for name, opcode, elements in columns
        if opcode >= 0
    }


def _names_by_kind(program: OptimizedModule) -> dict[str, list[str]]:
    """Returns the names of instructions by kind, and of loops also by opcode."""
    found: dict[str, list[str]] = {}
    for one in program.instructions.values():
        found.setdefault(kinds_of(one.opcode, one.shape)[0], []).append(one.name)
        if one.opcode == _LOOP:
            found.setdefault(_LOOP, []).append(one.name)
    return found


def _named(kind: tuple[str, str], names: Mapping[str, Sequence[str]]) -> Sequence[str]:
    # XLA adds to what a loop carries, so that it has another number of elements.
    return names.get(_LOOP if kind[1] == _LOOP else kind[0], ())
