"""Conventions of programs that work in a folder: provenance, interruption, exit status."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.evaluate.run_folder import RunFolderError, run_folder
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

REFUSED, INTERRUPTED = 2, 130


def run_in_folder(name: str, out: Path | None, work: Callable[[Path], list[str]]) -> int:
    """Works in the folder of a run, and prints what came of it.

    Args:
        name: First part of the folder's name under runs/, without ``out``.
        out: The folder.
        work: Works in the folder, and returns the findings, one sentence each.

    Returns:
        Exit status: 2 if the run is refused, 130 after Ctrl-C.
    """
    folder = out or Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        with run_folder(folder):
            findings = work(folder)
    except KeyboardInterrupt:
        print(f"\nInterrupted; go on with --out {folder}", file=sys.stderr)
        return INTERRUPTED
    except (HloError, RunFolderError, OSError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    print("\n".join(findings))
    print(f"all results are in {folder}")
    return 0


def save_provenance(config: "DataclassInstance", folder: Path) -> None:
    """Writes the settings, versions, commit and machine of a run beside its results."""
    from hlograph.storage.machine import machine
    from hlograph.storage.provenance import provenance

    made = provenance() | {"settings": {k: str(v) for k, v in asdict(config).items()}}
    made |= {"machine": machine().to_json()}
    write_text_atomically(folder / "made.json", json.dumps(made, indent=2) + "\n")
