"""Lists the flags, rules, settings and hooks of plans that versions of jax and jaxlib have.

``TESTED`` is the one place that names versions. Everything else asks for the part it needs.
``hlograph.plans.flag_effects`` finds out which flags change what jaxlib compiles, and a test
compares that with ``TESTED``.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from hlograph._native import has_engine
from hlograph.errors import PlanRefusedError, ProgramError
from hlograph.plans.native_kernels import can_run
from hlograph.transforms.rules import rules


@dataclass(frozen=True)
class JaxlibSupport:
    """Flags and rules that one version of jaxlib makes nothing of.

    Attributes:
        unknown: Flags of ``hlograph.plans.flags.FLAGS`` that the version does not have. It refuses
            some of them, and ignores others without a word: those of ``xla_backend_extra_options``.
        idle: Flags that it has, and with which it compiled the same modules and the same machine
            code, with each value that plans try.
        slow_rules: Rules for time that were faster than the default on none of the shapes that were
            tried. Searches leave them out.
    """

    unknown: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    slow_rules: frozenset[str] = frozenset()

    @property
    def without_effect(self) -> frozenset[str]:
        """Flags that a plan has no reason to set."""
        return self.unknown | self.idle


# Dots stay in Eigen or YNNPACK.
_IDLE = frozenset({"xla_cpu_experimental_onednn_fusion_type"})

TESTED: Mapping[str, JaxlibSupport] = MappingProxyType(
    {
        "0.10.2": JaxlibSupport(idle=_IDLE),
        # It has xla_cpu_use_new_xtile_lowering, too, which changes nothing yet.
        "0.12.0.1": JaxlibSupport(
            unknown=frozenset(
                {"xla_cpu_disable_new_fusion_emitters", "xla_cpu_use_fusion_emitters"}
            ),
            idle=_IDLE | {"xla_cpu_experimental_enable_tiling_propagation"},
            # Its own reductions over major dimensions are as fast as sums of halves.
            slow_rules=frozenset({"major-reduction-by-halves"}),
        ),
    }
)
"""The versions of jaxlib that are tested, with their flags and rules."""

# Settings of jax that reach the options of a compilation, and no module, with their defaults: those
# that jax/_src/compiler.py reads, without those of GPUs and of caches. jax 0.12 lacks both efforts.
_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "jax_disable_most_optimizations": False,
        "jax_compiler_enable_remat_pass": True,
        "jax_exec_time_optimization_effort": 0.0,
        "jax_memory_fitting_effort": 0.0,
        "jax_optimization_level": "UNKNOWN",
        "jax_memory_fitting_level": "O2",
    }
)


def jaxlib_support() -> JaxlibSupport | None:
    """Returns what the installed jaxlib makes nothing of; None if it is not in ``TESTED``."""
    return TESTED.get(version("jaxlib"))


def rules_for_time(*, exact: bool) -> tuple[str, ...]:
    """Returns the names of the rules for time that a search tries with the installed jaxlib.

    Rules of native kernels are among them, where the kernels can run.

    Args:
        exact: True leaves out rules that round differently.

    Returns:
        The names; none without the engine.
    """
    if not has_engine():
        return ()
    support = jaxlib_support()
    slow = support.slow_rules if support else frozenset[str]()
    forms = (name for name in rules.names_for_time(exact=exact) if name not in slow)
    kernels = (rule for rule in rules.of_kernels if rule.exact or not exact)
    return (*forms, *(rule.name for rule in kernels if can_run(rule.kernel)))


def check_flags(flags: Iterable[str]) -> None:
    """Checks that the installed jaxlib has some flags.

    Raises:
        PlanRefusedError: It is known not to have one of them.
    """
    support = jaxlib_support()
    unknown = sorted(support.unknown.intersection(flags)) if support else []
    if unknown:
        raise PlanRefusedError(
            f"expected flags that jaxlib {version('jaxlib')} has, got {', '.join(unknown)}: this "
            "plan was made for another version. Make a new one with hlograph.optimize, or leave "
            "the flag out"
        )


def check_jaxlib() -> None:
    """Checks that jaxlib has what plans need, and warns of a version that is not tested.

    Raises:
        ProgramError: It is too old.
    """
    # What is private in jaxlib differs between versions; this module is the newest that is used.
    try:
        importlib.import_module("jaxlib._hlo")
    except ImportError as error:
        raise ProgramError(
            "plans, hlograph.optimize and kernel times need jaxlib 0.10.2 or newer, and "
            f"{version('jaxlib')} is installed: pip install 'jax>=0.10.2'. Graphs, modules "
            "and passes work with jax from 0.6.2 on"
        ) from error
    if jaxlib_support() is None:
        _warn_of_untested(version("jaxlib"))


@lru_cache(maxsize=1)
def _warn_of_untested(installed: str) -> None:
    warnings.warn(
        f"hlograph is tested with jaxlib {' and '.join(TESTED)}, and {installed} is installed: "
        "plans set the flags that change what it compiles, and rules may miss what it lowers in "
        "another way",
        stacklevel=4,
    )


def check_settings() -> None:
    """Checks that jax compiles with its default options.

    Raises:
        ProgramError: A setting of jax changes them.
    """
    import jax

    for name, default in _SETTINGS.items():
        # Those without a context manager are flags, which the attributes of the config lack.
        if hasattr(jax.config, name):
            value = getattr(jax.config, name)
        elif name in jax.config.values:
            value = jax.config.read(name)
        else:  # not in this version of jax
            continue
        if value != default:
            raise ProgramError(
                f"expected {name}={default!r}, jax's default, got {value!r}: plans are measured "
                "beside what jaxlib compiles by default. Leave the setting out (as an environment "
                f"variable it is {name.upper()}), or set flags of XLA for the whole process in "
                "XLA_FLAGS"
            )
