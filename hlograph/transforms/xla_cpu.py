"""XLA:CPU's own compilation, stopped before layout assignment or before fusion."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hlograph._native import native
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.module import Module


def before_layout_assignment(module: Module, *, disabled: Sequence[str] = ()) -> Module:
    """Returns the state of a module right before layout assignment in XLA:CPU's own compiler.

    The compiler runs its passes in process and dumps the module after each pass that changed it.
    No code is generated. The pipeline ``xla-cpu`` is compared with this state.

    Args:
        module: The module to compile; unchanged.
        disabled: Names of passes that XLA skips (``--xla_disable_hlo_passes``).

    Raises:
        HloError: XLA's compiler rejects the module.
    """
    with tempfile.TemporaryDirectory() as folder:
        module._native.dump_cpu_passes(folder, list(disabled))
        dumps = sorted(Path(folder).glob("*.txt"))
        numbers = [i for i, path in enumerate(dumps) if "after_layout-assignment" in path.name]
        if not numbers or not numbers[0]:
            raise HloError("XLA's compiler dumped no state before layout assignment")
        return type(module).load(dumps[numbers[0] - 1])


def before_fusion(module: Module) -> Module:
    """Returns the state of a module right before fusion in XLA:CPU's own compiler.

    The rules ``fusion`` and ``multi-output-fusion`` choose fusions in this state, and
    ``Executable(module, lowered=True)`` compiles it with these fusions and no others. The result
    is the program of one device.

    Args:
        module: The module to compile; unchanged.

    Raises:
        HloError: XLA's compiler rejects the module.
    """
    return type(module)(native().lower(module._native))


def count_kernels(module: Module) -> int:
    """Returns the number of kernels that XLA:CPU generates for a lowered module.

    Each fusion is a kernel, and so is any other instruction that takes time, as in
    ``Executable.kernels``. Copies that XLA adds later are not counted.

    Args:
        module: A result of ``before_fusion``, with or without fusions.
    """
    return native().count_kernels(module._native)
