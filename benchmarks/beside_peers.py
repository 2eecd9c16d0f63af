"""Measures programs under several compilers, in turns, and writes a page of where each stands.

    python -m benchmarks.beside_peers --peers 'optimize 10' iree --programs 'n-body/*'
    python -m benchmarks.beside_peers --split test --twins --npbench npbench --out runs/peers
    python -m benchmarks.beside_peers --programs xla/backends/cpu/benchmarks/hlo/*.hlo --peers optim

Peers are `hlograph.optimize` with 10 and with 60 seconds, Enzyme-JAX with four pipelines, IREE,
ONNX Runtime and OpenVINO after jax2onnx, PyTorch and torch.compile where a program has a version
there, and numba on programs of NPBench. The command makes a virtual environment and a lock for
each. Programs are names or globs of the speed set, files in any format that hlograph reads (such as
the HLO of XLA's own benchmarks), or a split. Each peer has a process of its own, as many threads
and the same settings of malloc. Its outputs are compared with an independent reference before it is
timed, its inputs lie ready, and failures are named with their reason. A program's times are saved
as soon as it ends: with --out FOLDER, a run that was interrupted goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from experiments.evaluate.run_folder import run_in_folder, save_provenance
from experiments.evaluate.speed_programs import Split

if TYPE_CHECKING:
    from benchmarks.peers.catalogue import PeerProgram
    from benchmarks.peers.results import PeersRow


@dataclass(frozen=True)
class PeersConfig:
    """Settings of a run."""

    programs: tuple[str, ...] = ()
    """Names or globs of programs of the speed set, and paths of files."""
    split: Split | None = None
    """Split of the speed set whose programs are measured, two of each family."""
    twins: bool = False
    """Measure the programs that have a version in PyTorch."""
    npbench: Path | None = None
    """Checkout of NPBench whose programs in JAX are measured, with preset S."""
    npbench_programs: tuple[str, ...] = ("*",)
    """Names or globs of programs of NPBench."""
    peers: tuple[str, ...] = ()
    """Beginnings of the names of peers; all of them by default."""
    threads: int = 2
    """Threads of each peer, and cores that all processes stay on."""
    environments: Path = Path("build/peers")
    """Folder of the peers' virtual environments, which are made if they are not there."""
    out: Path | None = None
    """Folder of the results; None makes one under runs/."""
    page: Path | None = None
    """Page whose part between `<!-- begin: peers -->` and `<!-- end -->` is replaced."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the run that a command line asks for, and returns the exit status."""
    prog = "python -m benchmarks.beside_peers"
    config = tyro.cli(PeersConfig, args=arguments, prog=prog, description=__doc__)
    return run_in_folder("peers", config.out, lambda folder: run(config, folder))


def subjects_of(config: PeersConfig) -> list[PeerProgram]:
    """Returns the programs of a run.

    Raises:
        HloError: There is none, or a name is unknown.
    """
    from benchmarks.peers.catalogue import PeerProgram
    from benchmarks.peers.npbench_programs import programs_of_checkout
    from experiments.tune.programs import programs_of
    from hlograph.errors import HloError

    chosen = []
    if config.programs:
        chosen += programs_of(config.programs, None, None)
    if config.split is not None:
        chosen += programs_of((), config.split, None)
    if config.twins:
        from benchmarks.beside_torch.catalogue import MODELS

        chosen += programs_of(tuple(MODELS), None, None)
    subjects = {each.name: PeerProgram(each.name, each.family) for each in chosen}
    if config.npbench is not None:
        for program in programs_of_checkout(config.npbench, "S"):
            if any(fnmatchcase(program.name, glob) for glob in config.npbench_programs):
                name = f"npbench/{program.name}"
                subjects[name] = PeerProgram(name, program.info.get("domain", ""), program)
    if not subjects:
        raise HloError("expected programs: give --programs, --split, --twins or --npbench")
    return list(subjects.values())


def run(config: PeersConfig, folder: Path) -> list[str]:
    """Measures the programs that the folder has no times of, and writes all.

    Returns:
        The findings.

    Raises:
        HloError: There is no program or peer, or the process may not use so many cores.
    """
    from tqdm import tqdm

    from benchmarks.beside_torch.settings import use_cores
    from benchmarks.peers.catalogue import ENVIRONMENTS, chosen_peers, measured
    from benchmarks.peers.page import findings, write_results
    from benchmarks.peers.processes import PeersRun, fastest_blas
    from benchmarks.peers.results import PeersRow
    from hlograph.storage.atomic_write import write_text_atomically

    names, subjects = chosen_peers(config.peers), subjects_of(config)
    use_cores(config.threads)
    fastest_blas()
    save_provenance(config, folder)
    conditions = PeersRun(folder, config.environments, config.threads)
    rows: list[PeersRow] = []
    text, made_with = "", conditions_of(config)
    with tqdm(subjects, unit="program", desc="peers", disable=None) as bar:
        for subject in bar:
            bar.set_postfix_str(subject.name)
            row = PeersRow.load(folder, subject.name)
            if row is None:
                row = measured(conditions, subject, names)
                row.save(folder)
            rows.append(row)
            text = write_results(rows, names, folder, made_with)
    for environment in ENVIRONMENTS:
        if lock := environment.lock(config.environments):
            write_text_atomically(folder / "locks" / f"{environment.name}.lock", lock)
    if config.page is not None:
        from benchmarks.tables import write_parts

        write_parts({"peers": text}, config.page)
    return findings(rows, names)


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
