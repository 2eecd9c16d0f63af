"""Measures programs of the set `speed` beside the same computation in PyTorch, on the CPU.

    python -m benchmarks.beside_torch --out runs/beside_torch.csv
    python -m benchmarks.beside_torch --programs n-body/forces/n512 --no-compile --out runs/one.csv

Each program is compiled by jaxlib with its defaults, and written in PyTorch as its users would:
eager, and with `torch.compile`. All have the same inputs and as many threads, their outputs must
agree, and they are timed in turns. A program's rows are saved as soon as it ends. With --search 60
each program is also measured with the plan that `hlograph.optimize` finds in so many seconds.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import tyro
from tqdm import tqdm

from benchmarks.beside_torch.settings import Settings, prepare_process
from hlograph.errors import HloError

FAILED, INTERRUPTED = 1, 130
"""Exit statuses: a program failed; Ctrl-C."""

BUSY = 0.5
"""Load of the machine from which on the figures are in doubt."""

_BUSY_MACHINE = (
    "PyTorch's threads wait for the slowest of them, so its times are too long by far while other "
    "programs run; measure when the machine is quiet"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit status."""
    settings = tyro.cli(
        Settings, args=arguments, prog="python -m benchmarks.beside_torch", description=__doc__
    )
    try:
        with tempfile.TemporaryDirectory(prefix="inductor-") as cache:
            prepare_process(settings, Path(cache))
            failed = run(settings)
    except HloError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"\nInterrupted; programs that ended are in {settings.out}", file=sys.stderr)
        return INTERRUPTED
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return FAILED
    return 0


def run(settings: Settings) -> list[str]:
    """Measures programs, and saves the rows after each.

    A program that fails, as when its outputs do not agree, is reported and left out of the table.

    Returns:
        The names of the programs that failed.

    Raises:
        UnknownNameError: A program has no version in PyTorch.
    """
    import torch

    from benchmarks.beside_torch.catalogue import chosen
    from benchmarks.beside_torch.measuring import measure, plan_of, warm_compiler
    from benchmarks.beside_torch.report import markdown, write
    from benchmarks.machine import machine

    models, made_with = chosen(settings.programs), machine()
    if made_with["load"] > BUSY:
        print(f"warning: the load is {made_with['load']}: {_BUSY_MACHINE}", file=sys.stderr)
    torch.set_num_threads(settings.threads)
    if settings.compile:
        warm_compiler()
    rows, failed = [], []
    with tqdm(models, unit="program", dynamic_ncols=True) as bar:
        for model in bar:
            bar.set_postfix_str(model.name, refresh=sys.stderr.isatty())
            try:
                plan = plan_of(model.name, settings) if settings.search else None
                rows.append(measure(model, settings, plan))
            except Exception:
                failed.append(model.name)
                bar.write(f"{model.name} failed:\n{traceback.format_exc()}", file=sys.stderr)
            else:
                write(rows, settings.out, made_with)
    print(markdown(rows, made_with))
    print(f"written: {settings.out}, {settings.out.with_suffix('.md')}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
