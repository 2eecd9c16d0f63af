"""Checks that a lowered function can be compiled from its module alone.

Workers and plans compile the module again. A function whose code or arguments depend on anything
else is refused, because the program that runs would differ from the one that was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hlograph.errors import ProgramError

# Settings of jax that reach the options of a compilation, and no module, with their defaults. They
# are those that jax/_src/compiler.py of jax 0.10.2 reads, without those of GPUs and of caches.
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


def check_settings() -> None:
    """Checks that jax compiles with its default options.

    Raises:
        ProgramError: A setting of jax changes them.
    """
    import jax

    for name, default in _SETTINGS.items():
        # Those without a context manager are flags, which the attributes of the config lack.
        value = getattr(jax.config, name) if hasattr(jax.config, name) else jax.config.read(name)
        if value != default:
            raise ProgramError(
                f"expected {name}={default!r}, jax's default, got {value!r}: plans are measured "
                "beside what jaxlib compiles by default. Leave the setting out (as an environment "
                f"variable it is {name.upper()}), or set flags of XLA for the whole process in "
                "XLA_FLAGS"
            )


def check_lowered(lowered: Any) -> None:
    """Checks that the module of a ``jax.stages.Lowered`` says all about it, and is for one CPU.

    Raises:
        ProgramError: It is for another platform or for several devices, calls back into Python,
            changes a ``jax.Ref``, has compiler options, or asks for layouts of its arguments.
    """
    # Attributes of jax 0.10, which tests/hlograph/plans hold.
    lowering = lowered._lowering
    arguments = lowering.compile_args
    if tuple(lowering._platforms) != ("cpu",):
        raise ProgramError(
            f"expected a function lowered for the CPU, got one for {', '.join(lowering._platforms)}"
            ": plans are for CPUs alone. Run the program with JAX_PLATFORMS=cpu, or lower and call "
            "the function within jax.default_device(jax.devices('cpu')[0]), with arguments there"
        )
    if arguments["num_devices"] != 1:
        raise ProgramError(
            f"expected a program for one device, got one for {arguments['num_devices']}"
        )
    if arguments["host_callbacks"] or arguments["ordered_effects"]:
        raise ProgramError(
            "expected a program without callbacks and ordered effects (jax.pure_callback, "
            "jax.debug.print, io_callback): they cannot be run again for a measurement"
        )
    if arguments["mut"] is not None:
        raise ProgramError(
            "expected a function that changes no array, got one with a jax.Ref (jax.new_ref) as "
            "an argument or from outside of it: a measurement would change it. Take and return "
            "arrays instead; a Ref that is made within the function is no obstacle"
        )
    if lowering._compiler_options_kvs:
        given = ", ".join(name for name, _ in lowering._compiler_options_kvs)
        raise ProgramError(
            f"expected a function without compiler_options, got one with {given}: plans are "
            "measured beside what jaxlib compiles by default. Leave them out, as plans set flags "
            "themselves, or set them for the whole process in XLA_FLAGS"
        )
    _check_layouts(arguments)


def _check_layouts(arguments: Mapping[str, Any]) -> None:
    from jax.experimental.layout import Layout

    for number, layout in enumerate(arguments["in_layouts"]):
        rank = arguments["global_in_avals"][number].ndim
        if layout is None or (
            isinstance(layout, Layout) and layout.major_to_minor == tuple(range(rank))
        ):
            continue
        raise ProgramError(
            f"expected arguments in jax's default layout, got {layout} for argument {number}: "
            "inputs are measured in the default one. Copy the array first, as in "
            "jax.device_put(x, jax.experimental.layout.Format(Layout(tuple(range(x.ndim))), "
            "x.sharding)), and leave layouts out of in_shardings"
        )
    for number, layout in enumerate(arguments["out_layouts"]):
        if layout is not None and not isinstance(layout, Layout):
            raise ProgramError(
                f"expected a given layout of result {number}, or none, got {layout}: jaxlib may "
                "choose another one with each plan. Leave it out of out_shardings"
            )
