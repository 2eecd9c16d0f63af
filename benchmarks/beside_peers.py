"""Measures programs under several compilers, in turns, and writes a page of where each stands.

    python -m benchmarks.beside_peers --peers 'optimize 10' iree --programs 'n-body/*'
    python -m benchmarks.beside_peers --split test --twins --npbench npbench --out runs/peers
    python -m benchmarks.beside_peers --xla xla --peers 'optimize 10' --out runs/xla

Peers are `hlograph.optimize` with 10 and with 60 seconds, Enzyme-JAX with four pipelines, IREE,
ONNX Runtime and OpenVINO after jax2onnx, PyTorch and torch.compile where a program has a version
there, and numba on programs of NPBench. The command makes a virtual environment and a lock for
each. Programs are names or globs of the speed set, a split of it, files in any format that hlograph
reads, those of NPBench in JAX, or XLA's own modules for benchmarks on CPUs. Each peer has a process
of its own, as many threads and the same settings of malloc. Its outputs are compared with an
independent reference before it is timed, its inputs lie ready, and failures are named with their
reason. A program's times are saved as soon as it ends: with --out FOLDER, a run that was
interrupted, or that --minutes or --only have cut short, goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from benchmarks.peers.programs import ProgramChoice
from experiments.evaluate.run_folder import run_in_folder, save_provenance

if TYPE_CHECKING:
    from benchmarks.peers.results import PeersRow


@dataclass(frozen=True)
class PeersConfig(ProgramChoice):
    """Settings of a run."""

    peers: tuple[str, ...] = ()
    """Beginnings of the names of peers; all of them by default."""
    threads: int = 2
    """Threads of each peer, and cores that all processes stay on."""
    environments: Path = Path("build/peers")
    """Folder of the peers' virtual environments, which are made if they are not there."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""
    page: Path | None = None
    """Page whose part between `<!-- begin: PART -->` and `<!-- end -->` is replaced."""
    part: str = "peers"
    """Name of that part."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and returns the exit status."""
    prog = "python -m benchmarks.beside_peers"
    config = tyro.cli(PeersConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("peers", config.out, lambda folder: run(config, folder))


def run(config: PeersConfig, folder: Path) -> list[str]:
    """Measures the programs that the folder has no times of, and writes all.

    Returns:
        The findings.

    Raises:
        HloError: There is no program or peer, or the process may not use so many cores.
    """
    from benchmarks.beside_torch.settings import use_cores
    from benchmarks.peers.catalogue import ENVIRONMENTS, chosen_peers, measured
    from benchmarks.peers.page import findings, of_own, write_results
    from benchmarks.peers.processes import PeersRun, fastest_blas
    from benchmarks.peers.runs import left_over, rows_of
    from hlograph.storage.atomic_write import write_text_atomically

    names, programs = chosen_peers(config.peers), config.chosen()
    use_cores(config.threads)
    fastest_blas()
    save_provenance(config, folder)
    conditions = PeersRun(folder, config.environments, config.threads)
    made_with = conditions_of(config)

    def write(rows: Sequence[PeersRow]) -> str:
        text = write_results(rows, names, folder, made_with)
        return "\n\n".join(filter(None, [of_own(rows, names), text]))

    rows = rows_of(
        programs,
        config.measures,
        folder,
        lambda program: measured(conditions, program, names),
        write,
        config.minutes,
    )
    for environment in ENVIRONMENTS:
        if lock := environment.lock(config.environments):
            write_text_atomically(folder / "locks" / f"{environment.name}.lock", lock)
    text = write(rows)
    if config.page is not None:
        from benchmarks.tables import write_parts

        write_parts({config.part: text}, config.page)
    return [*findings(rows, names), *left_over(programs, rows)]


def conditions_of(config: PeersConfig) -> dict[str, Any]:
    """Returns machine, date and versions of a run."""
    from benchmarks.machine import machine
    from benchmarks.peers.catalogue import ENVIRONMENTS

    made_with = machine()
    versions = {name: made_with["versions"][name] for name in ("jaxlib", "torch")}
    for environment in ENVIRONMENTS:
        versions |= environment.versions(config.environments)
    return made_with | {"versions": versions}


if __name__ == "__main__":
    sys.exit(main())
