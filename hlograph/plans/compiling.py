"""Compilation of programs in jaxlib as plans say."""

from __future__ import annotations

import copy
import itertools
import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hlograph.errors import PlanError, PlanRefusedError
from hlograph.plans import flags, jaxlib_modules, mlir_modules
from hlograph.plans.hook import CaptureError, editing
from hlograph.plans.jaxlib_modules import with_name
from hlograph.plans.jaxlib_versions import check_flags
from hlograph.plans.placing import place
from hlograph.plans.plan import Plan
from hlograph.plans.program import Program
from hlograph.plans.transforming import transformed
from hlograph.plans.weak_types import checking_weak_types

# Prefix of a plan's digest in the name of its module. The name is part of the key of JAX's
# compilation cache, which knows nothing of placements and extra flags.
_MARK = "__plan_"
# Of modules that are compiled until they are optimized, and never run.
_CAPTURE, _CAPTURES = "__optimized_", itertools.count()
# Prefix of the names of custom calls to LAPACK, which crash before LAPACK was initialised.
_LAPACK = b"lapack_"
# XLA's words for a custom call that it does not know, followed by its target.
_NO_CODE = re.compile(
    r"No (?:registered implementation for \w+ custom call to|FFI handler registered for) (\S+)"
)


def compile_program(program: Program, plan: Plan | None = None) -> Any:
    """Compiles a program with jaxlib's CPU client, as ``jax.jit`` would, and with a plan.

    Args:
        program: The program.
        plan: The plan; None is jaxlib's default.

    Returns:
        The ``jaxlib._jax.LoadedExecutable``.

    Raises:
        PlanError: The plan cannot be carried out, or XLA does not compile the program.
        PlanRefusedError: The plan is for another program, or for another jaxlib.
    """
    from jax.extend import backend

    plan = plan or Plan()
    client = PlannedClient(backend.get_backend("cpu"), plan)
    return _compiled_by(client, plan, program.name, _planned_bytecode(program, plan))


def optimized_module(program: Program, plan: Plan | None = None) -> bytes:
    """Returns the module that placements of a program are about, as XLA:CPU's scheduler gets it.

    XLA optimizes the program, and is stopped before it generates code.

    Args:
        program: The program.
        plan: Steps, layouts and flags; its placements are not carried out.

    Returns:
        A serialized ``HloModuleProto``.

    Raises:
        PlanError: The plan cannot be carried out, or XLA does not compile the program.
        PlanRefusedError: The plan is for another jaxlib.
    """
    from jax.extend import backend

    plan = replace(plan or Plan(), placements=(), placed="")
    name = f"{program.name}{_CAPTURE}{next(_CAPTURES)}"
    data = mlir_modules.renamed(transformed(program, plan), name)
    protos: list[bytes] = []

    def stop(proto: bytes) -> None:
        protos.append(proto)
        raise CaptureError("the optimized module was all that was wanted")

    client = PlannedClient(backend.get_backend("cpu"), plan)
    with editing(name, stop):
        try:
            _compiled_by(client, plan, program.name, data)
        except PlanError:
            if not protos:
                raise
    if not protos:
        raise PlanError(f"jaxlib did not show its optimized module of {program.name}")
    return with_name(protos[0], program.name)


def _compiled_by(client: PlannedClient, plan: Plan, name: str, data: bytes) -> Any:
    """Returns the executable of StableHLO bytecode, compiled by a client with a plan's flags.

    Args:
        client: The client, which carries out the plan's placements.
        plan: The plan.
        name: Name of the program in errors.
        data: The bytecode, after the plan's steps and layouts.

    Raises:
        PlanError: XLA does not compile it.
    """
    from jax.extend import backend
    from jaxlib import lapack, xla_client

    device = client.local_devices()[0]
    overrides: Any = flags.options(plan.flags)  # jax takes numbers and switches too
    options = backend.get_compile_options(
        num_replicas=1,
        num_partitions=1,
        device_assignment=[[device.id]],
        env_options_overrides=overrides or None,
        backend=client,  # pyright: ignore[reportArgumentType]
    )
    devices = xla_client.DeviceList((device,))
    if _LAPACK in data:
        # jax does this when it lowers such a function; a program from a file was lowered elsewhere.
        lapack.prepare_lapack_call("getrf_ffi", np.dtype(np.float32))
    try:
        return client.compile_and_load(data, devices, options)
    except RuntimeError as error:  # jax.errors.JaxRuntimeError
        if missing := _NO_CODE.search(str(error)):
            raise PlanError(
                f"{name} has a custom call to {missing[1]!r}, and jaxlib has no code for it on "
                "CPUs: the code is a library's own, or a GPU's or TPU's"
            ) from error
        raise PlanError(f"XLA does not compile {name}: {error}") from error


def compile_lowered(lowered: Any, plan: Plan) -> Any:
    """Compiles a lowered jax function as a plan says.

    The result is called as the function is, with the same overhead as ``jax.jit``: pytrees,
    donated arguments and several outputs are those of the function, and arguments of other types
    are a TypeError. Two things differ:

    - With placements, jaxlib 0.10.2 forgets which arguments were donated. They stay valid, the
      results are the same, and the program needs memory for both.
    - With the layout of an argument, jax copies an array that has another one, in each call; pass
      ``jax.device_put(x, compiled.input_formats...)`` to copy it once. With that of a result,
      the results have it, and are committed to their device.

    Args:
        lowered: A ``jax.stages.Lowered``.
        plan: The plan.

    Returns:
        A ``jax.stages.Compiled``.

    Raises:
        PlanError: The plan cannot be carried out, or XLA does not compile the program.
        PlanRefusedError: The plan is for another program, or for another jaxlib.
    """
    if plan.is_empty:
        return checking_weak_types(lowered.compile(), lowered)
    program = Program.of_lowered(lowered)
    # jax has no public way to compile another module for a lowered function. These attributes are
    # those of jax 0.10, and tests/hlograph/plans hold them.
    try:
        lowering = copy.copy(lowered._lowering)
        arguments = lowering.compile_args
        client = arguments["backend"]
    except (AttributeError, KeyError) as error:
        raise PlanError(
            f"this version of jax keeps a lowered program elsewhere: {error}"
        ) from error
    lowering._hlo = mlir_modules.parse(_planned_bytecode(program, plan))
    lowering._executable = None
    lowering.compile_args = {**arguments, "backend": PlannedClient(client, plan)}
    if any(key.startswith("result:") for key in plan.layouts):
        # jax.jit ignores the layout of an array that is not committed, and would read it wrongly.
        lowering.compile_args["committed"] = True
    planned = copy.copy(lowered)
    planned._lowering = lowering
    try:
        compiled = planned.compile(compiler_options=flags.options(plan.flags) or None)
        return checking_weak_types(compiled, lowered)
    except RuntimeError as error:  # jax.errors.JaxRuntimeError
        raise PlanError(f"XLA does not compile {program.name}: {error}") from error


class PlannedCompilation(NamedTuple):
    """Arguments that make a compilation of jax that of a plan.

    Attributes:
        client: Stands in for jaxlib's client.
        module: The ``ir.Module`` after the plan's steps and layouts.
        options: Options of the compilation, with the plan's flags.
    """

    client: PlannedClient
    module: Any
    options: Any


def planned_compilation(
    program: Program, plan: Plan, client: Any, options: Any
) -> PlannedCompilation:
    """Returns what compiles a program as a plan says, for a compilation that jax has begun.

    Args:
        program: The program.
        plan: The plan.
        client: jaxlib's client.
        options: The ``CompileOptions`` of jax; they are copied.

    Raises:
        PlanError: The plan cannot be carried out.
    """
    module = mlir_modules.parse(_planned_bytecode(program, plan))
    options = type(options).ParseFromString(options.SerializeAsString())
    options.env_option_overrides = list(flags.options(plan.flags).items())
    return PlannedCompilation(PlannedClient(client, plan), module, options)


def _planned_bytecode(program: Program, plan: Plan) -> bytes:
    """Returns StableHLO bytecode after a plan's steps and layouts, with the plan in its name."""
    name = program.name if plan.is_empty else f"{program.name}{_MARK}{plan.digest}"
    return mlir_modules.renamed(transformed(program, plan), name)


class PlannedClient:
    """Stands in for ``jaxlib._jax.Client`` and compiles one program as a plan says.

    jax hands its client the lowered module and the options of the compilation. This one adds the
    flags that jax refuses and applies the placements. Everything else is the client's.

    Attributes:
        placed: Fingerprint of the optimized module of the last compilation; empty without
            placements.

    Args:
        client: jaxlib's client.
        plan: The plan; its steps and layouts are those of the lowered module already.

    Raises:
        PlanRefusedError: The installed jaxlib does not have one of the plan's flags.
    """

    def __init__(self, client: Any, plan: Plan) -> None:
        check_flags(plan.flags)
        self._client, self._plan = client, plan
        self.placed = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def compile_and_load(
        self, computation: Any, executable_devices: Any, compile_options: Any, **more: Any
    ) -> Any:
        """Compiles a module as ``jaxlib._jax.Client.compile_and_load`` does.

        Raises:
            PlanRefusedError: The optimized module is not the one that the placements are about.
            PlanError: A placement does not apply.
        """
        extra = flags.serialized_extra_options(self._plan.flags)
        if extra:
            serialized = compile_options.SerializeAsString() + extra
            compile_options = type(compile_options).ParseFromString(serialized)
        arguments = (computation, executable_devices, compile_options)
        if not self._plan.placements:
            return self._client.compile_and_load(*arguments, **more)
        with editing(_name_of(computation), self._edit):
            return self._client.compile_and_load(*arguments, **more)

    def _edit(self, proto: bytes) -> bytes:
        self.placed = jaxlib_modules.fingerprint(proto)
        if self._plan.placed and self._plan.placed != self.placed:
            raise PlanRefusedError(
                f"this plan's placements are about an optimized module with fingerprint "
                f"{self._plan.placed}, and XLA made one with {self.placed}: another jaxlib, other "
                "flags or another CPU. Make a new plan with hlograph.optimize"
            )
        return place(proto, self._plan.placements)


def _name_of(computation: Any) -> str:
    module = mlir_modules.parse(computation) if isinstance(computation, bytes) else computation
    return mlir_modules.name_of(module)
