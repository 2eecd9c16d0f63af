"""Programs of a rule in any element type, before and after the rule, and runs of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from random import Random

import hlograph
from benchmarks.speed_rules.catalogue import PROGRAMS as FORMS
from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import (
    Array,
    Signature,
    from_bytes,
    signature_of,
    to_bytes,
)
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker
from tests.hlograph.transforms.algebra_programs import PROGRAMS as ALGEBRA

PROGRAMS: dict[str, Callable[[Random], str]] = {**ALGEBRA, **FORMS}
"""Functions that draw the text of a program where a rule of hlograph's own applies, by rule."""

FLOATS = ("f32", "bf16", "f16", "f64", "f8e4m3fn", "f8e5m2")
COMPLEX = ("c64", "c128")
INTEGERS = tuple(f"{sign}{width}" for width in (4, 8, 16, 32, 64) for sign in "su")
TYPES = (*FLOATS, *COMPLEX, *INTEGERS)
"""Element types in which each rule is tried."""

# Instructions after which a compiled program is another one than its text: none.
_STRICT = {"disabled_passes": [], "strict": True, "optimization_level": 0}


@dataclass(frozen=True, eq=False)
class Pair:
    """A module, and what a rule makes of it.

    Attributes:
        rule: Name of the rule.
        element_type: The type that the program was written in.
        before: The module.
        after: The module after the rule's first rewrite.
    """

    rule: str
    element_type: str
    before: hlograph.Module
    after: hlograph.Module

    @cached_property
    def signature(self) -> Signature:
        """Parameters and results, which are those of both modules."""
        return signature_of(self.before)

    @cached_property
    def maker(self) -> InputMaker:
        """Makes inputs that fit the use of each parameter."""
        return InputMaker(Flow(self.before.graph()), self.signature.parameters)

    def with_after(self, text: str) -> Pair:
        """Returns the pair with another module after the rule, such as a wrong variant of it."""
        after = hlograph.Module.from_text(text)
        after.verify()
        return Pair(self.rule, self.element_type, self.before, after)

    def evaluated(self, inputs: list[Array]) -> tuple[list[Array], list[Array]]:
        """Returns the outputs of both modules in XLA's reference evaluator."""
        return self._run(inputs, _evaluator)

    def compiled(self, inputs: list[Array]) -> tuple[list[Array], list[Array]]:
        """Returns the outputs of both modules compiled by XLA:CPU without unsafe mathematics."""
        return self._run(inputs, _compiler)

    def _run(self, inputs: list[Array], engine: Engine) -> tuple[list[Array], list[Array]]:
        given, results = to_bytes(inputs), self.signature.results
        before, after = (from_bytes(results, engine(m)(given)) for m in (self.before, self.after))
        return before, after


Engine = Callable[[hlograph.Module], Callable[[list[bytes]], list[bytes]]]


def _evaluator(module: hlograph.Module) -> Callable[[list[bytes]], list[bytes]]:
    return lambda given: native().evaluate(module._native, given, max_seconds=60.0)


@lru_cache(maxsize=64)
def _compiler(module: hlograph.Module) -> Callable[[list[bytes]], list[bytes]]:
    return native().Program.compile(module._native, **_STRICT).run


def applied(rule: str, text: str) -> Pair | None:
    """Returns a program before and after a rule.

    Args:
        rule: Name of the rule.
        text: HLO text of the program.

    Returns:
        None if the text is no valid module, or if the rule does not apply.
    """
    try:
        module = hlograph.Module.from_text(text)
        module.verify()
    except HloError:
        return None
    rewrites = module.rewrites([rule])
    if not rewrites:
        return None
    after = module.clone()
    after.apply(rewrites[0])
    after.verify()
    return Pair(rule, main_type(text), module, after)


def main_type(text: str) -> str:
    """Returns the element type that a program is about: of its floats, or of its first array."""
    entry = text[text.index("ENTRY") :]
    types = re.findall(r"= (\w+)\[[\d,]*\]\S* parameter\(", entry)
    floats = [name for name in types if name in FLOATS or name in COMPLEX]
    return (floats or types)[0]


def retyped(text: str, element_type: str) -> str:
    """Returns a program with another type in place of its main one."""
    return re.sub(rf"\b{main_type(text)}\[", f"{element_type}[", text)


def draws(rule: str, element_type: str, count: int) -> Iterator[Pair]:
    """Draws programs of an element type where a rule applies.

    Args:
        rule: Name of the rule.
        element_type: XLA's name of the type.
        count: Number of programs; there are fewer if most do not exist in the type.
    """
    found = 0
    for text in drawn_texts(rule, 4 * count):
        if element_type in ("c64", "c128") and re.search(r"direction=[GL]", text):
            continue  # complex numbers have no order
        if found < count and (pair := applied(rule, retyped(text, element_type))) is not None:
            found += 1
            yield pair


@cache
def drawn_texts(rule: str, seeds: int) -> tuple[str, ...]:
    """Returns the texts of programs that are drawn for a rule, in the types that they come in."""
    return tuple(PROGRAMS[rule](Random(f"{rule} {seed}")) for seed in range(seeds))
