"""Native kernels: custom calls to code of hlograph's own, which jaxlib runs.

A rule whose ``kernel`` is the target of such a call puts it into a program. The code is in the
extension ``hlograph._custom_calls``, which needs neither the engine nor torch; jaxlib calls it by
XLA's foreign function interface, with the threads of the program, and without Python.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from hlograph._native import custom_calls
from hlograph.errors import EngineUnavailableError, PlanRefusedError

PREFIX = "hlograph.kernel."
"""Begins the targets of custom calls to native kernels."""

_TARGET = re.compile(rb"hlograph\.kernel\.\w+")


@functools.cache
def _handlers() -> Mapping[str, Any]:
    """Returns the handlers of the kernels that can run here, by targets.

    None can where the extension was not built, and some need a part of NumPy.
    """
    try:
        return custom_calls().handlers()
    except EngineUnavailableError:
        return {}


@functools.cache
def _register(target: str) -> None:
    import jax

    jax.ffi.register_ffi_target(target, _handlers()[target], platform="cpu")


def can_run(target: str) -> bool:
    """Returns True if there is a kernel for a target of custom calls."""
    return target in _handlers()


def register_kernels(program: bytes) -> None:
    """Registers the kernels that a program calls with jaxlib; does nothing if it calls none.

    Args:
        program: StableHLO bytecode, or a serialized ``HloModuleProto``.

    Raises:
        PlanRefusedError: The program calls a kernel that cannot run here.
    """
    targets = {match.decode() for match in _TARGET.findall(program)}
    if not targets:
        return
    missing = sorted(targets - _handlers().keys())
    if missing:
        raise PlanRefusedError(
            f"expected kernels that this installation of hlograph has, got {', '.join(missing)}: "
            "the plan was made with another version, or the extension hlograph._custom_calls is "
            "missing, or NumPy's sorts are. Install the version of hlograph that made the plan, or "
            "make a new plan with hlograph.optimize"
        )
    for target in sorted(targets):
        _register(target)
