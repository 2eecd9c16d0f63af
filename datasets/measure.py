"""Checks and measures every module of the corpus."""

from __future__ import annotations

from typing import NamedTuple

from manifest import ROOT

from hlograph.module import Module
from hlograph.transforms.pipelines import pipelines
from hlograph.transforms.xla_cpu import before_layout_assignment

LARGEST = 50_000
"""Instructions that a module of the corpus may have."""


class UnsuitableError(Exception):
    """A graph that lowers, but that the corpus cannot take."""


class Measurements(NamedTuple):
    """The columns of the manifest that come from the module."""

    op_count: int
    op_count_xla_cpu: int
    op_count_xla_dump: int
    op_count_xla_simplify: int
    fingerprint: str
    structure: str


def measure(module: Module, smallest: int = 20) -> Measurements:
    """Checks that everything later in the project can work with a module, and measures it.

    The module must have the right size, verify, come back the same from its own print, and go
    through both reference pipelines and XLA:CPU's own passes.

    Args:
        module: The module; it is not changed.
        smallest: Instructions that it must have.

    Raises:
        UnsuitableError: One of these does not hold.
        HloError: XLA refuses the module, its print, or one of the results.
    """
    if not smallest <= module.op_count <= LARGEST:
        raise UnsuitableError(f"{module.op_count} instructions")
    module.verify()
    text = module.to_text()
    if "site-packages" in text or str(ROOT) in text:
        raise UnsuitableError("paths of this machine in the text")
    if Module.from_text(text).fingerprint() != module.fingerprint():
        raise UnsuitableError("another fingerprint after printing and parsing")
    return Measurements(
        op_count=module.op_count,
        op_count_xla_cpu=op_count_after(module, "xla-cpu"),
        op_count_xla_dump=before_layout_assignment(module).op_count,
        op_count_xla_simplify=op_count_after(module, "xla-simplify"),
        fingerprint=module.fingerprint(),
        structure=module.structure(),
    )


def op_count_after(module: Module, pipeline: str) -> int:
    """Returns the instructions of a module after a reference pipeline; the module is unchanged."""
    optimised = module.clone()
    optimised.run(pipelines[pipeline])
    optimised.verify()
    return optimised.op_count
