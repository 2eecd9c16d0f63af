"""The check of each rule's floating-point class and of its integers, as rows of a table.

python -m tests.proofs.floats.rows 'merge-*' 'sort-*'
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice

import numpy as np

import hlograph
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, Array
from tests.proofs.floats import exhaustive, functions, keys, networks
from tests.proofs.floats.bounds import Rounding, worst_rounding
from tests.proofs.floats.programs import COMPLEX, INTEGERS, Pair, draws
from tests.proofs.floats.special import CHANGES, VALUES, changed, claim_of, keeps_bits
from tests.proofs.floats.values import drawn, with_usual_nans

RULES = tuple(rule for rule in hlograph.rules if rule.equation and not rule.kernel)
"""The rules of hlograph's own."""

_EVERY_CLASS = ("special", "ties", "bits", "wide", "infinite", "mixed")
# The evaluator takes seconds for a loop or a long cumulative operation on more elements.
_LARGE = 3000
_LARGE_SUMS = 12_000


@dataclass(frozen=True)
class Effort:
    """Sets how much is tried of each rule.

    Attributes:
        programs: Number of programs that are drawn.
        samples: Number of inputs of each class.
        stride: Every how many floats an approximated function is measured; 1 for all.
        exhaustive: True runs all values of 16 bits, proves keys of every type, and analyses large
            programs of rules that have no small ones.
    """

    programs: int = 3
    samples: int = 2
    stride: int = 1
    exhaustive: bool = True


FULL = Effort()
QUICK = Effort(programs=1, samples=1, stride=1 << 14, exhaustive=False)


@dataclass(frozen=True)
class FloatRow:
    """Holds what was checked of a rule.

    Attributes:
        rule: Its name.
        claim: Its class (``special.claim_of``).
        method: How it was checked, in words.
        types: Element types in which the rule applies to its programs.
        share: Greatest change by rounding as a share of the derived bound; 0 if there is none.
        bound: Greatest derived bound, in epsilons.
        tolerance: Tolerance of the package's comparison over that bound; 0 without a bound.
        seconds: Duration.
        problems: What contradicts the claim; empty if nothing does.
        remarks: What else is to be said: programs without a bound, payloads of NaNs that changed.
    """

    rule: str
    claim: str
    method: str
    types: tuple[str, ...]
    share: float
    bound: float
    tolerance: float
    seconds: float
    problems: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def result(self) -> str:
        """``holds``, or the first problem."""
        return self.problems[0] if self.problems else "holds"


def float_row(rule: hlograph.Rule, effort: Effort = FULL) -> FloatRow:
    """Checks the floating-point class of a rule, and its integers.

    Args:
        rule: A rule of hlograph's own.
        effort: How much is tried.
    """
    return _Check(rule, effort).row()


def float_rows(effort: Effort = FULL) -> Iterator[FloatRow]:
    """Checks all rules, one after the other."""
    for rule in RULES:
        yield float_row(rule, effort)


class _Check:
    """The check of one rule."""

    def __init__(self, rule: hlograph.Rule, effort: Effort) -> None:
        self.rule, self.effort = rule, effort
        self.methods: list[str] = []
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self.types: list[str] = []
        self.rounding = Rounding()

    def row(self) -> FloatRow:
        """Runs all that applies to the rule."""
        start = time.perf_counter()
        if keeps_bits(self.rule) or self.rule.name in VALUES:
            self._bits()
        else:
            if not self._functions():
                self._rounding()
            self._infinities()
        self._integers()
        if self.rule.name in keys.KEYS:
            self._keys()
        self._every_value()
        bound = self.rounding.bound
        return FloatRow(
            self.rule.name,
            claim_of(self.rule),
            ", ".join(self.methods),
            tuple(self.types),
            self.rounding.measured,
            bound,
            self.rounding.tolerance / bound if bound else 0.0,
            time.perf_counter() - start,
            tuple(self.problems),
            tuple(self.remarks),
        )

    def _draws(self, element_type: str) -> list[Pair]:
        pairs = list(draws(self.rule.name, element_type, self.effort.programs))
        self._has_type(element_type, pairs)
        return pairs

    def _small(self, element_type: str) -> list[Pair]:
        """Returns programs that the analysis takes little time for, or large ones if none are."""
        count = self.effort.programs
        pairs = draws(self.rule.name, element_type, 4 * count)
        small = list(islice((pair for pair in pairs if not _is_large(pair)), count))
        if not small and self.effort.exhaustive:
            small = list(draws(self.rule.name, element_type, count))
        self._has_type(element_type, small)
        return small

    def _has_type(self, element_type: str, pairs: list[Pair]) -> None:
        if pairs and element_type not in self.types:
            self.types.append(element_type)

    def _changes(self, pair: Pair, kinds: tuple[str, ...]) -> Counter[str]:
        """Returns what changes on inputs of some classes, in all engines that have the program."""
        found = Counter[str]()
        for kind in kinds:
            for seed in range(self.effort.samples):
                found += self._changes_of(pair, drawn(pair, kind, seed))
        return found

    def _changes_of(self, pair: Pair, inputs: list[Array]) -> Counter[str]:
        """Returns what changes; the order of NaNs of several payloads does not count."""
        found = Counter[str]()
        for before, after in _runs(pair, inputs):
            result = changed(before, after)
            self.payloads += result.payloads
            found += result.kinds
        if set(found) == {"integer"} and self.payloads:
            usual = with_usual_nans(inputs)
            found = sum((changed(*each).kinds for each in _runs(pair, usual)), Counter[str]())
        return found

    payloads = 0

    def _bits(self) -> None:
        self.methods.append("bits of programs in all types, on all classes of values")
        for element_type in (*FLOATS_TRIED, *COMPLEX):
            for pair in self._draws(element_type):
                found = self._changes(pair, _EVERY_CLASS)
                if self.rule.name in VALUES:
                    del found["sign of zero"]
                if found:
                    self.problems.append(f"{element_type}: {dict(found)}")
        if self.payloads:
            self.remarks.append(f"payloads of {self.payloads} NaNs changed")

    def _rounding(self) -> None:
        self.methods.append("running error bounds of both modules")
        count, reasons = 0, set[str]()
        for element_type in ("f32", "f64", "bf16"):
            pairs = self._small(element_type)
            worst, compared, reason = worst_rounding(pairs, self.effort.samples)
            self.rounding = self.rounding.worst(worst)
            count += compared
            reasons |= {reason} if reason else set()
        if not self.rounding.holds:
            self.problems.append(
                f"changes {self.rounding.measured:.2f} of the bound, of which over the reals "
                f"{self.rounding.reals:.2g}"
            )
        self.remarks += [f"no bound: {reason[:120]}" for reason in sorted(reasons)]
        if not count:
            self.methods[-1] = "no bound"

    def _infinities(self) -> None:
        self.methods.append("NaNs and infinities among small numbers")
        found = Counter[str]()
        for pair in self._draws("f32"):
            for seed in range(4 * self.effort.samples):
                for before, after in _runs(pair, drawn(pair, "infinite", seed)):
                    found += changed(before, after).kinds
        allowed = CHANGES.get(self.rule.name, frozenset()) | {"rounding", "sign of zero"}
        if others := {kind: found[kind] for kind in found if kind not in allowed}:
            self.problems.append(f"of infinite inputs: {others}")
        if self.rule.name in CHANGES and not CHANGES[self.rule.name] & set(found):
            self.remarks.append("no input drawn shows the changes that are listed")

    def _integers(self) -> None:
        widths = []
        for element_type in INTEGERS:
            for pair in self._draws(element_type):
                found = self._changes(pair, ("special", "bits"))
                if integers := found["integer"]:
                    self.problems.append(f"{element_type}: {integers} integers differ")
            if element_type in self.types:
                widths.append(element_type)
        if widths:
            self.methods.append("integers of random and extreme bits")

    def _keys(self) -> None:
        types, _ = keys.KEYS[self.rule.name]
        self.methods.append("keys proved for all bits (z3)")
        for element_type in types if self.effort.exhaustive else types[-1:]:
            for pair in keys.key_pairs(self.rule.name, element_type):
                for flush in (False, True):
                    if found := keys.refuted(pair, flush=flush):
                        self.problems.append(f"keys of {element_type}: {found}")
        if self.rule.name == "sort-as-network":
            self.methods.append("zero-one principle for all lengths")
            for length in range(2, 33):
                row = networks.unsorted_row(*networks.exchanges_of(networks.of_length(length)))
                if row is not None:
                    self.problems.append(f"network of {length} leaves {row}")

    def _every_value(self) -> None:
        if not self.effort.exhaustive:
            return
        cases = []
        if self.rule.name in exhaustive.KEYS:
            types = exhaustive.KEYS[self.rule.name][0]
            cases = [(name, *exhaustive.every_key(self.rule.name, name)) for name in types]
        elif self.rule.name in exhaustive.LABELS:
            types = ("s32", "u32")
            cases = [(name, *exhaustive.every_label(self.rule.name, name)) for name in types]
        for name, pair, inputs in cases:
            result = changed(*pair.compiled(inputs))
            if result.payloads:
                self.remarks.append(f"{name}: payloads of {result.payloads} of all NaNs")
                result = changed(*pair.compiled(with_usual_nans(inputs)))
            if result.kinds:
                self.problems.append(f"all values of {name}: {dict(result.kinds)}")
        if cases:
            self.methods.append("all values of 16 bits")

    def _functions(self) -> bool:
        """Measures what the rule approximates; returns False for a rule that approximates none."""
        chosen = [each for each in functions.APPROXIMATIONS if each.rule == self.rule.name]
        for each in chosen:
            measured = functions.measured(each, self.effort.stride)
            text = f"{each.name}: {measured.epsilons:.3g} eps of {each.epsilons:g}"
            self.remarks.append(f"{text}, default {measured.default:.3g}")
            if measured.epsilons > each.epsilons:
                self.problems.append(f"{text} at {measured.argument}")
            share = measured.epsilons / each.epsilons if each.epsilons else 0.0
            self.rounding = self.rounding.worst(Rounding(share, 0.0, each.epsilons, 0.0))
        if chosen:
            every = "all" if self.effort.stride == 1 else f"one in {self.effort.stride} of all"
            self.methods.append(f"{every} floats of the range")
        return bool(chosen)


FLOATS_TRIED = ("f32", "bf16", "f16", "f64", "f8e4m3fn", "f8e5m2")


def _is_large(pair: Pair) -> bool:
    size = max((int(np.prod(spec.dims)) for spec in pair.signature.parameters), default=0)
    text = pair.before.to_text() + pair.after.to_text()
    is_slow = " while(" in text or " reduce-window(" in text
    return size > (_LARGE if is_slow else _LARGE_SUMS)


def _runs(pair: Pair, inputs: list[Array]) -> Iterator[tuple[list[Array], list[Array]]]:
    """Returns the outputs of the engines that the claims hold for.

    The evaluator has no top-k, and does not wrap integers in convolutions; code of XLA:CPU
    multiplies the padding of convolutions. It is compiled for the usual types alone, which takes
    far longer than to evaluate.
    """
    text = pair.before.to_text() + pair.after.to_text()
    convolves, is_float = " convolution(" in text, pair.element_type in FLOATS
    lacks = " topk(" in text or _is_large(pair) or (convolves and not is_float)
    if not lacks:
        try:
            yield pair.evaluated(inputs)
        except HloError:
            lacks = True
    is_usual = pair.element_type in ("f32", "s32", "s8") and pair.rule not in VALUES
    if lacks or (is_usual and not convolves):
        try:
            outputs = pair.compiled(inputs)
        except HloError:
            return  # neither engine has the operation for this type
        yield outputs


def main() -> None:
    """Prints the rows of some rules."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", default=["*"], help="names of rules, with wildcards")
    parser.add_argument("--quick", action="store_true", help="one program, few values")
    options = parser.parse_args()
    for rule in RULES:
        if any(fnmatchcase(rule.name, glob) for glob in options.rules):
            row = float_row(rule, QUICK if options.quick else FULL)
            print(f"{row.rule} [{row.claim}] {row.result}; {row.method}; {' '.join(row.types)}")
            print(f"    {row.share:.2g} of {row.bound:.3g} eps, tolerance {row.tolerance:.2g}")
            for remark in (*row.problems, *row.remarks):
                print(f"    {remark}")
            print(f"    {row.seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
