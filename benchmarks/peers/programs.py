"""The programs of a run: of the speed set, of files, and of checkouts of NPBench and XLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.evaluate.speed_programs import Split
from hlograph.errors import HloError

if TYPE_CHECKING:
    from benchmarks.peers.npbench_programs import NPBenchProgram
    from hlograph.module import Module

_XLA_FOLDER = "xla/backends/cpu/benchmarks/hlo"


@dataclass(frozen=True)
class PeerProgram:
    """A program to measure.

    Attributes:
        name: Its name.
        family: Its family or domain.
        npbench: The program of NPBench; None for another one.
        file: Path of its file; empty for one of the speed set or of NPBench.
    """

    name: str
    family: str
    npbench: NPBenchProgram | None = None
    file: str = ""

    def load(self) -> Module:
        """Returns its module; NPBench's is that of its function in JAX with preset S.

        Raises:
            HloError: It cannot be read.
        """
        from benchmarks.peers.npbench_programs import NPBenchJaxWorker
        from experiments.tune.programs import programs_of
        from hlograph.plans import Program

        if self.npbench is not None:
            lowered, _ = NPBenchJaxWorker(self.npbench).lowered()
            return Program.of(lowered).module()
        (chosen,) = programs_of((self.file or self.name,), None, None)
        return chosen.load()

    def reference(self, folder: str) -> Callable[[], Any]:
        """Returns what makes the reference, which writes the prepared program to a folder."""
        from benchmarks.peers.references import ModuleReference, NPBenchReference

        if self.npbench is not None:
            return partial(NPBenchReference, self.npbench, folder)
        return partial(ModuleReference, self.file or self.name, folder)


@dataclass(frozen=True)
class ProgramChoice:
    """Settings that choose the programs of a run."""

    programs: tuple[str, ...] = ()
    """Names or globs of programs of the speed set, and paths of files."""
    split: Split | None = None
    """Split of the speed set whose programs are measured, two of each family."""
    twins: bool = False
    """Measure the programs that have a version in PyTorch."""
    npbench: Path | None = None
    """Checkout of NPBench whose programs in JAX are measured, with preset S."""
    xla: Path | None = None
    """Checkout of XLA whose own modules for benchmarks on CPUs are measured."""
    minutes: float | None = None
    """Minutes after which no further program begins; None measures all."""
    only: tuple[str, ...] = ("*",)
    """Names or globs of those of the chosen programs that are measured now, such as npbench/gemm or
    'xla/pairwise*'."""

    def chosen(self) -> list[PeerProgram]:
        """Returns the programs that are chosen, whether they are measured now or not.

        Raises:
            HloError: There is none, a name is unknown, or a folder is no checkout.
        """
        from benchmarks.peers.npbench_programs import programs_of_checkout
        from experiments.tune.programs import FileProgram, programs_of

        of_set = []
        if self.programs:
            of_set += programs_of(self.programs, None, None)
        if self.split is not None:
            of_set += programs_of((), self.split, None)
        if self.twins:
            from benchmarks.beside_torch.catalogue import MODELS

            of_set += programs_of(tuple(MODELS), None, None)
        chosen = [
            PeerProgram(
                each.name, each.family, file=each.name if isinstance(each, FileProgram) else ""
            )
            for each in of_set
        ]
        if self.npbench is not None:
            chosen += [
                PeerProgram(f"npbench/{program.name}", program.info.get("domain", ""), program)
                for program in programs_of_checkout(self.npbench, "S")
            ]
        if self.xla is not None:
            chosen += modules_of_xla(self.xla)
        if not chosen:
            raise HloError("expected programs: give --programs, --split, --twins, --npbench, --xla")
        return list({program.name: program for program in chosen}.values())

    def measures(self, program: PeerProgram) -> bool:
        """Returns True if a chosen program is measured now."""
        return any(fnmatchcase(program.name, glob) for glob in self.only)


def modules_of_xla(checkout: Path) -> list[PeerProgram]:
    """Returns the modules that XLA measures its CPU backend on, of a checkout, by name.

    Raises:
        HloError: The folder is no checkout of XLA that has them.
    """
    folder = checkout / _XLA_FOLDER
    files = sorted(folder.rglob("*.hlo"))
    if not files:
        raise HloError(
            f"expected a checkout of https://github.com/openxla/xla at {checkout}, found no "
            f"{_XLA_FOLDER}/*.hlo there"
        )
    names = [f"xla/{file.relative_to(folder).as_posix().removesuffix('.hlo')}" for file in files]
    return [
        PeerProgram(name, "xla", file=str(file)) for name, file in zip(names, files, strict=True)
    ]
