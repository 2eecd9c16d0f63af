"""Measures NPBench's programs in JAX: jaxlib's default, hlograph.optimize and numba, in one run.

    git clone https://github.com/spcl/npbench
    python -m benchmarks.npbench npbench --preset S --budget 20
    python -m benchmarks.npbench npbench --programs gemm 'jacobi*' --out runs/npbench

Programs, inputs and the check of outputs are those of the checkout: what disagrees with NPBench's
version in numpy is named, and not timed. jaxlib's default, the plan that `hlograph.optimize` finds,
the same with the setting of the process that it proposes, and the fastest right variant for numba
(in a virtual environment that this command makes) run in processes of their own, take turns, and
have as many threads. Arguments lie ready before the clock starts. A program's times are saved as
soon as it ends: with --out FOLDER, a run that was interrupted goes on. The folder also gets the
tables, a picture, and npbench.db, the results in NPBench's own form.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from experiments.evaluate.run_folder import run_in_folder, save_provenance

if TYPE_CHECKING:
    from benchmarks.peers.npbench_programs import NPBenchProgram
    from benchmarks.peers.results import PeersRow

ENVIRONMENTS = Path("build/peers")
"""Folder of the peers' virtual environments."""


@dataclass(frozen=True)
class NPBenchConfig:
    """Settings of a run."""

    checkout: Annotated[Path, tyro.conf.Positional]
    """Folder of a checkout of NPBench."""
    preset: Literal["S", "M"] = "S"
    """Size of the inputs, as NPBench names it."""
    budget: float = 20.0
    """Seconds of each search."""
    programs: tuple[str, ...] = ("*",)
    """Names or globs of the programs that are measured now."""
    threads: int = 2
    """Threads of each peer, and cores that all processes stay on."""
    environments: Path = ENVIRONMENTS
    """Folder of the peers' virtual environments, which are made if they are not there."""
    minutes: float | None = None
    """Minutes after which no further program begins; None measures all."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""
    page: Path | None = None
    """Page whose part between `<!-- begin: npbench-PRESET -->` and `<!-- end -->` is replaced."""

    def measures(self, program: NPBenchProgram) -> bool:
        """Returns True if a program is measured now."""
        return any(fnmatchcase(program.name, glob) for glob in self.programs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and returns the exit status."""
    prog = "python -m benchmarks.npbench"
    config = tyro.cli(NPBenchConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("npbench", config.out, lambda folder: run(config, folder))


def run(config: NPBenchConfig, folder: Path) -> list[str]:
    """Measures the programs that the folder has no times of, and writes all.

    Returns:
        The findings.

    Raises:
        HloError: There is no checkout or program, or the process may not use so many cores.
    """
    from benchmarks.beside_torch.settings import use_cores
    from benchmarks.peers.npbench_measuring import NPBenchRun
    from benchmarks.peers.npbench_programs import programs_of_checkout
    from benchmarks.peers.processes import PeersRun, fastest_blas
    from benchmarks.peers.runs import left_over, rows_of
    from hlograph.errors import HloError

    programs = programs_of_checkout(config.checkout, config.preset)
    if not any(map(config.measures, programs)):
        raise HloError(f"no program of {config.checkout} matches {' '.join(config.programs)}")
    use_cores(config.threads)
    fastest_blas()
    save_provenance(config, folder)
    # Whether freed memory is kept is what is measured: plans set it, and nothing else.
    peers = PeersRun(folder, config.environments, config.threads, variables={})

    def write_all(rows: Sequence[PeersRow]) -> str:
        return write(rows, programs, config, folder)

    measured = NPBenchRun(peers, config.budget).measured
    rows = rows_of(programs, config.measures, folder, measured, write_all, config.minutes)
    text = write_all(rows)
    if config.page is not None:
        from benchmarks.tables import write_parts

        write_parts({f"npbench-{config.preset}": text}, config.page)
    return [*summary(rows), *left_over(programs, rows)]


def write(
    rows: Sequence[PeersRow],
    programs: Sequence[NPBenchProgram],
    config: NPBenchConfig,
    folder: Path,
) -> str:
    """Writes tables, picture and NPBench's own form of the results; returns the tables."""
    from benchmarks.peers.npbench_measuring import NUMBA, PEERS, write_database
    from benchmarks.peers.page import beside, write_results

    made_with = conditions_of(config)
    text = write_results(rows, PEERS, folder, made_with)
    versions = made_with["versions"]
    version = f"jaxlib {versions['jaxlib']}, numba {versions.get('numba')}"
    write_database(rows, programs, folder / "npbench.db", version)
    return "\n".join([beside(rows, PEERS[0], NUMBA), "", text])


def conditions_of(config: NPBenchConfig) -> dict[str, Any]:
    """Returns machine, date and versions of a run."""
    from benchmarks.machine import machine
    from benchmarks.peers.npbench_measuring import NUMBA_ENVIRONMENT

    made_with = machine()
    versions = {name: made_with["versions"][name] for name in ("jaxlib", "numpy")}
    versions |= NUMBA_ENVIRONMENT.versions(config.environments)
    return made_with | {"versions": versions}


def summary(rows: Sequence[PeersRow]) -> list[str]:
    """Returns the findings, one sentence each."""
    from benchmarks.peers.npbench_measuring import NUMBA, PEERS
    from benchmarks.peers.page import beside, findings

    return [*findings(rows, PEERS), beside(rows, PEERS[0], NUMBA)]


if __name__ == "__main__":
    sys.exit(main())
