"""Files that modules are written to; the suffix says the format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_bytes_atomically

if TYPE_CHECKING:
    from hlograph.module import Module

STABLEHLO = (".mlir", ".stablehlo")
"""Suffixes of files with StableHLO text."""
TEXT = (".hlo", ".txt")
"""Suffixes of files with HLO text."""
FORMATS = "*.hlo or *.txt (HLO text), *.pb (a proto), *.mlir or *.stablehlo (StableHLO text)"
"""The formats, for messages."""


def check_suffix(path: Path | None) -> None:
    """Checks that the name of a file to write says a format. None is no file.

    Raises:
        HloError: It does not.
    """
    if path is not None and path.suffix not in (*STABLEHLO, *TEXT, ".pb"):
        raise HloError(f"expected a file named {FORMATS}, got {str(path)!r}")


def write_module(module: Module, path: Path) -> None:
    """Writes a module in the format of the file's suffix.

    Raises:
        HloError: The suffix says no format, or jaxlib does not convert the module.
        OSError: The file cannot be written.
    """
    check_suffix(path)
    if path.suffix not in STABLEHLO:
        module.save(path)
        return
    from hlograph.plans.program import to_stablehlo

    data = stablehlo_text(to_stablehlo(module.to_proto())).encode()
    write_bytes_atomically(path, data)


def stablehlo_text(bytecode: bytes) -> str:
    """Returns StableHLO bytecode as text."""
    from hlograph.plans import mlir_modules

    return str(mlir_modules.parse(bytecode))
