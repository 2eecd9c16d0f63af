"""Finds the flags that change what the installed jaxlib compiles, by compiling two small programs.

A name says little: XLA ignores an unknown entry of ``xla_backend_extra_options``, and takes options
that nothing reads. What counts is the final module and the machine code.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from hlograph.errors import PlanError
from hlograph.plans.compiling import compile_program
from hlograph.plans.flags import CONVOLUTIONS, DOTS, LIBRARIES, REDUCTIONS, FlagValue
from hlograph.plans.jaxlib_versions import jaxlib_support
from hlograph.plans.plan import Plan
from hlograph.plans.program import Program

FLAG_VALUES: Mapping[str, tuple[FlagValue, ...]] = {
    "xla_cpu_small_while_loop_byte_threshold": (4_000_000, 0),
    LIBRARIES: (f"{DOTS},{CONVOLUTIONS}", "", f"{DOTS},{REDUCTIONS}", REDUCTIONS),
    "xla_cpu_experimental_onednn_fusion_type": (DOTS,),
    "xla_cpu_prefer_vector_width": (512, 128),
    "xla_cpu_use_multi_output_fusion": (True,),
    "xla_cpu_disable_new_fusion_emitters": (True,),
    "xla_cpu_disable_tiled_emitter": (True,),
    "xla_cpu_experimental_enable_tiling_propagation": (True,),
    "xla_cpu_disable_loop_unrolling": (True,),
    "xla_cpu_optimize_for_size": (True,),
    "xla_cpu_scheduler_type": ("CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",),
    "xla_cpu_multi_thread_eigen": (False,),
    "xla_cpu_enable_fast_math": (True,),
}
"""The flags that plans try, each with its values, the most promising first."""

# Flags beside which a flag may matter: without the library, dots are XLA's own.
_BESIDE: tuple[Mapping[str, FlagValue], ...] = ({}, {LIBRARIES: ""})

_METADATA = re.compile(r", metadata=\{[^}]*\}")
_ELF, _PROGRAM_BITS, _ALLOCATED = b"\x7fELF", 1, 2


def flags_without_effect() -> frozenset[str]:
    """Returns the flags with which the installed jaxlib compiles what it compiles without them.

    For a version of jaxlib that is not tested, two small programs are compiled with each flag,
    once in a process; that takes a second or two.
    """
    support = jaxlib_support()
    return _compared() if support is None else support.without_effect


@cache
def _compared() -> frozenset[str]:
    return frozenset(name for name, values in FLAG_VALUES.items() if not has_effect(name, values))


def has_effect(name: str, values: Iterable[FlagValue]) -> bool:
    """Returns True if a flag changes the final module or the machine code of a small program.

    Args:
        name: Name of the flag.
        values: Values to try, each alone and with all dots in XLA's own kernels.
    """
    return any(
        (changed := _compiled({**beside, name: value})) is not None and changed != _compiled(beside)
        for value in values
        for beside in _BESIDE
        if name not in beside
    )


def _compiled(flags: Mapping[str, FlagValue]) -> object:
    """Returns what is compared of the two programs; None if jaxlib does not have a flag."""
    return _compiled_with(tuple(flags.items()))


@cache
def _compiled_with(flags: tuple[tuple[str, FlagValue], ...]) -> object:
    plan = Plan(flags=dict(flags), numerics="fast")
    try:
        straight, loop = (compile_program(program, plan) for program in _programs())
    except PlanError:
        return None
    # The order of the kernels of a loop, and with it their code, varies from run to run.
    return _final_module(straight), machine_code(straight), _final_module(loop)


@cache
def _programs() -> tuple[Program, Program]:
    """Returns a program without a loop, and one that is a loop, with what the flags are about."""
    import jax
    import jax.numpy as jnp

    def straight(x: Any, y: Any) -> Any:
        grown = jnp.exp(x)
        turned = x.T * 2 + jnp.exp(x.T)
        return grown + 1, grown * 2, turned, jnp.log(x).sum(0), jnp.tanh(x @ y), x.sum(1)

    def loop(x: Any) -> Any:
        return jax.lax.fori_loop(0, 50, lambda _, a: jnp.sin(a) * 0.5 + a[::-1], x)

    x, y = jax.ShapeDtypeStruct((64, 96), "float32"), jax.ShapeDtypeStruct((96, 32), "float32")
    return Program.of(jax.jit(straight).lower(x, y)), Program.of(jax.jit(loop).lower(x))


def _final_module(executable: Any) -> str:
    text = executable.hlo_modules()[0].to_string()
    return _METADATA.sub("", text.partition("\n")[2])  # its first line has the name


def machine_code(executable: Any) -> Counter[bytes]:
    """Returns the sections with code and constants of an executable, in no order."""
    return Counter(_sections(executable.serialize()))


def _sections(serialized: bytes) -> Iterator[bytes]:
    """Yields the contents of the sections of all ELF objects in a serialized executable."""
    start = serialized.find(_ELF)
    while start >= 0:
        elf = memoryview(serialized)[start:]
        (table,) = struct.unpack_from("<Q", elf, 0x28)
        size, count = struct.unpack_from("<HH", elf, 0x3A)
        for number in range(count):
            _, kind, marks, _, at, length = struct.unpack_from(
                "<IIQQQQ", elf, table + number * size
            )
            if kind == _PROGRAM_BITS and marks & _ALLOCATED:
                yield bytes(elf[at : at + length])
        start = serialized.find(_ELF, start + len(_ELF))
