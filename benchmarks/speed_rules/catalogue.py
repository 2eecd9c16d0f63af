"""The catalogue of all rules for time: every module of ``topics`` is a part of it.

A module has cases with the shapes of real programs, ``CASES``; functions that draw small programs
where a rule applies, ``PROGRAMS``; and programs that a rule refuses, ``REFUSED``. The benchmark
measures the first, the tests and campaigns take the others.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules

from benchmarks.speed_rules import topics
from benchmarks.speed_rules.case import Case, Programs, Refused

_TOPICS = [
    import_module(f"{topics.__name__}.{module.name}") for module in iter_modules(topics.__path__)
]

CASES: tuple[Case, ...] = tuple(
    replace(case, rules=tuple(rules.split(" + ")))
    for topic in _TOPICS
    for rules, cases in topic.CASES.items()
    for case in cases
)
PROGRAMS: Programs = dict(chain.from_iterable(topic.PROGRAMS.items() for topic in _TOPICS))
REFUSED: Refused = dict(chain.from_iterable(topic.REFUSED.items() for topic in _TOPICS))
