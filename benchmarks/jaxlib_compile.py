"""Compiles with jaxlib up to code generation, as one would without hlograph to run a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hlograph.module import Module

_NAME = "stop-before-codegen"


class StopBeforeCodegenError(Exception):
    """Raised inside a compile to end it."""


@contextmanager
def compiles_of(module: Module) -> Iterator[Callable[[], None]]:
    """Yields a function that compiles a module with jaxlib, up to code generation.

    All of XLA:CPU's passes run, those on the way to code generation, too.
    """
    import jax
    from jax.extend import xla
    from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]

    stablehlo = _jax.mlir.xla_computation_to_mlir_module(
        xla_client.XlaComputation(module.to_proto())
    )
    devices = xla_client.DeviceList(tuple(jax.local_devices()[:1]))
    client = jax.local_devices()[0].client

    def compile_once() -> None:
        try:
            client.compile_and_load(stablehlo, devices, xla_client.CompileOptions())
        except Exception as error:
            if StopBeforeCodegenError.__name__ not in str(error):
                raise
        else:
            raise RuntimeError("the compile was not stopped before code generation")

    stage = xla.PipelineStage.PRE_SCHEDULER
    xla.register_hlo_module_transformation(_stop, name=_NAME, stage=stage, platforms="cpu")
    try:
        yield compile_once
    finally:
        xla.clear_hlo_module_transformation(name=_NAME, stage=stage, platforms="cpu")


def _stop(_: bytes) -> None:
    raise StopBeforeCodegenError
