"""The catalogue of all rules for time, for the benchmark, the tests and the campaigns.

A line of ``cases.csv`` is a case with the shapes of a real program. A module of ``topics`` has the
functions of cases, functions that draw small programs where a rule applies, ``PROGRAMS``, and
programs that a rule refuses, ``REFUSED``. Programs of native kernels are in ``KERNELS``.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.speed_rules import topics
from benchmarks.speed_rules.lowering import Programs, Refused, shapes
from benchmarks.speed_rules.topics.kernels import KERNELS

__all__ = ["CASES", "KERNELS", "PROGRAMS", "REFUSED", "Case", "chosen"]


@dataclass(frozen=True)
class Case:
    """A function and the rules that are applied to it, one after the other, wherever they apply.

    Attributes:
        rules: Names of the rules.
        shape: The shapes, in words, such as ``2x28x28x96, 3x3, NHWC``.
        function: The function, as users write it.
        arguments: Its arguments: arrays, or shapes for which random arrays stand in.
        program: Name of a program of the speed set in which it occurs; empty if there is none.
        pays: False for a shape that is kept to show where the rules do not pay.
    """

    rules: tuple[str, ...]
    shape: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = field(repr=False)
    program: str = ""
    pays: bool = True

    @property
    def name(self) -> str:
        """Rules and shape, by which a case is chosen and reported."""
        return f"{' + '.join(self.rules)}: {self.shape}"


def _case(row: Mapping[str, str]) -> Case:
    return Case(
        tuple(row["rules"].split(" + ")),
        row["shape"],
        _function(row["function"]),
        _arguments(row["arguments"]),
        row["program"],
        row["pays"] == "yes",
    )


def _function(text: str) -> Callable[..., Any]:
    """Finds a function of a topic or of JAX, such as ``jnp.sort(axis=0)``, with its options."""
    expression = ast.parse(text, mode="eval").body
    if isinstance(expression, ast.Call):
        options = {str(of.arg): ast.literal_eval(of.value) for of in expression.keywords}
        return partial(_function(ast.unparse(expression.func)), **options)
    room, name = text.split(".")
    return getattr(_ROOMS[room], name)


def _arguments(text: str) -> tuple[Any, ...]:
    """Returns shapes, or arrays if a size has a bound: ``s32:16<4`` are random numbers below 4."""
    repeated = re.sub(r"(\d+)\*\((.*?)\)", lambda match: f"{match[2]} " * int(match[1]), text)
    plain = shapes(re.sub(r"<\d+", "", repeated))
    if "<" not in text:
        return plain
    rng = np.random.default_rng(0)
    bounds = [word.partition("<")[2] for word in repeated.split()]
    return tuple(
        rng.integers(0, int(bound), of.shape).astype(of.dtype)
        if bound
        else rng.standard_normal(of.shape).astype(of.dtype)
        for of, bound in zip(plain, bounds, strict=True)
    )


_TOPICS = {
    module.name: import_module(f"{topics.__name__}.{module.name}")
    for module in iter_modules(topics.__path__)
}
_ROOMS: Mapping[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, **_TOPICS}

with Path(__file__).with_name("cases.csv").open(newline="") as _file:
    CASES: tuple[Case, ...] = tuple(map(_case, csv.DictReader(_file)))
PROGRAMS: Programs = dict(chain.from_iterable(t.PROGRAMS.items() for t in _TOPICS.values()))
REFUSED: Refused = dict(chain.from_iterable(t.REFUSED.items() for t in _TOPICS.values()))


def chosen(globs: tuple[str, ...]) -> list[Case]:
    """Returns the cases of rules with such names."""
    return [
        case for case in CASES if any(fnmatchcase(r, glob) for r in case.rules for glob in globs)
    ]
