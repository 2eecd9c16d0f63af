"""Types of the tables of programs, and programs from JAX functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
from hypothesis import strategies as st

from hlograph.programs import Program
from hlograph.transforms.sweeping import PREPARATION

Programs = Mapping[str, Callable[[], st.SearchStrategy[str]]]
"""Functions that return a strategy for the HLO text of programs where a rule applies, by rule."""

Refused = Mapping[str, tuple[str, Callable[[], str]]]
"""Rule, and function that returns a program that lacks one detail of its pattern, by the detail."""


def lowered(function: Callable[..., Any], *arguments: Any) -> str:
    """Returns the HLO text of a function of JAX, prepared as for a sweep."""
    module = Program.of(jax.jit(function).lower(*arguments)).module()
    for step in PREPARATION:
        module.run(step)
    return module.to_text()
