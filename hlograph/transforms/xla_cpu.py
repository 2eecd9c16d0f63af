"""XLA:CPU's own compilation, stopped on its way."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from hlograph._native import native
from hlograph.errors import HloError
from hlograph.module import Module


def before_layout_assignment(module: Module, *, disabled: Sequence[str] = ()) -> Module:
    """Returns what XLA:CPU's own compiler makes of a module right before layout assignment.

    The compiler runs its passes in process and dumps the module after each that changed it; no
    code is generated. This is what the pipeline ``xla-cpu`` is held against.

    Args:
        module: The module to compile; unchanged.
        disabled: Names of passes that XLA is to skip (``--xla_disable_hlo_passes``).

    Raises:
        HloError: XLA's compiler refuses the module.
    """
    with tempfile.TemporaryDirectory() as folder:
        module._native.dump_cpu_passes(folder, list(disabled))
        dumps = sorted(Path(folder).glob("*.txt"))
        numbers = [i for i, path in enumerate(dumps) if "after_layout-assignment" in path.name]
        if not numbers or not numbers[0]:
            raise HloError("XLA's compiler dumped no state before layout assignment")
        return Module.load(dumps[numbers[0] - 1])


def before_fusion(module: Module) -> Module:
    """Returns what XLA:CPU's own compiler makes of a module right before it fuses instructions.

    The rules ``fusion`` and ``multi-output-fusion`` choose fusions in it, and
    ``Executable(module, lowered=True)`` compiles it with those and no others. It is the program
    of one device.

    Args:
        module: The module to compile; unchanged.

    Raises:
        HloError: XLA's compiler refuses the module.
    """
    return Module(native().lower(module._native))


def count_kernels(module: Module) -> int:
    """Returns how many kernels XLA:CPU makes of a module that it has lowered.

    Args:
        module: One of ``before_fusion``, with fusions or without. Each fusion is a kernel and so
            is any other instruction that takes time, as ``Executable.kernels`` counts them; copies
            that XLA adds afterwards are not among them.
    """
    return native().count_kernels(module._native)
