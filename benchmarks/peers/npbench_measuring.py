"""Measures one program of NPBench under jaxlib's default, ``hlograph.optimize`` and numba."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.peers.environments import PeerEnvironment
from benchmarks.peers.npbench_programs import (
    NUMBA_VARIANTS,
    NPBenchJaxWorker,
    NPBenchProgram,
    NPBenchWorker,
    NumbaWorker,
    NumpyWorker,
)
from benchmarks.peers.processes import (
    SEARCH_SECONDS,
    PeerProcess,
    PeersRun,
    reason_of,
    searched,
    timed_in_turns,
)
from benchmarks.peers.results import DEFAULT, PeersRow, PeerTimes
from experiments.evaluate.run_folder import file_stem
from hlograph.errors import HloError
from hlograph.plans import Plan
from hlograph.storage.atomic_write import write_atomically

W = TypeVar("W", bound=NPBenchWorker)

OPTIMIZE, ALONE, NUMBA = "optimize", "optimize, plan alone", "numba"
"""Names of the peers: with all that ``optimize`` does, without the setting of the process."""
PEERS = (OPTIMIZE, ALONE, NUMBA)

NUMBA_ENVIRONMENT = PeerEnvironment("numba", ("numba==0.68.1", "scipy==1.17.1"))

KEPT = "jaxlib's default"
"""Note of a search that found no faster plan."""

_VARIANT_SECONDS = 300.0


class WrongOutputsError(HloError):
    """Raised when outputs are not those of the reference; the message says how far they are."""


@dataclass(frozen=True)
class NPBenchRun:
    """Conditions of a run.

    Attributes:
        peers: Those of all peers.
        budget: Seconds of each search.
    """

    peers: PeersRun
    budget: float

    def measured(self, program: NPBenchProgram) -> PeersRow:
        """Returns the times of a program: all peers check their outputs, and are timed in turns.

        Args:
            program: The program.
        """
        domain = program.info.get("domain", "")
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            turns = _Turns(self, program, str(Path(folder, "reference")), stack)
            try:
                reference = turns.write_reference()
                turns.add_default()
            except Exception as error:  # whatever NPBench's program raises
                peers = {DEFAULT: PeerTimes(error=reason_of(error))}
                return PeersRow(program.name, domain, peers)
            turns.add_optimized()
            turns.add_numba()
            return PeersRow(program.name, domain, turns.times(), reference)

    def plan_file(self, program: NPBenchProgram) -> Path:
        """Returns the file of a program's plan."""
        return self.peers.folder / "plans" / f"{file_stem(program.name)}.json"

    def start(self, name: str, worker: type[W], program: NPBenchProgram) -> PeerProcess:
        """Starts the process of a peer.

        Raises:
            HloError: The environment is not there, or the process does not start.
        """
        environment = NUMBA_ENVIRONMENT if worker is NumbaWorker else None
        return self.peers.start(name, partial(worker, program), environment)


class _Turns:
    """The peers of one program that are ready to run, and what became of the others."""

    def __init__(
        self, run: NPBenchRun, program: NPBenchProgram, reference: str, stack: ExitStack
    ) -> None:
        self._run, self._program, self._reference, self._stack = run, program, reference, stack
        self._ready: dict[str, PeerProcess] = {}
        self._times: dict[str, PeerTimes] = {}
        self._same: dict[str, str] = {}  # peers that run what another one runs

    def write_reference(self) -> PeerTimes:
        """Writes the outputs of the version in numpy, and returns its times."""
        with self._run.start("numpy", NumpyWorker, self._program) as process:
            seconds = process.call(NumpyWorker.write_outputs, self._reference)
        return PeerTimes(tuple(seconds), note="numpy")

    def add_default(self) -> None:
        """Adds jaxlib's default.

        Raises:
            Exception: It fails, or its outputs are not numpy's.
        """
        process = self._stack.enter_context(
            self._run.start(DEFAULT, NPBenchJaxWorker, self._program)
        )
        seconds = process.call(NPBenchJaxWorker.compile)
        self._check(process)
        self._add(process, PeerTimes(compile_seconds=seconds))

    def add_optimized(self) -> None:
        """Searches for a plan, and adds it with and without the setting of the process."""
        try:
            plan, seconds = self._plan()
        except Exception as error:  # whatever the search raises
            failed = PeerTimes(error=reason_of(error))
            self._times |= {OPTIMIZE: failed, ALONE: failed}
            return
        lines = [] if plan.is_empty else plan.summary()
        times = PeerTimes(compile_seconds=seconds, note="; ".join(lines) or KEPT)
        for name, keeps in ((ALONE, False), (OPTIMIZE, True)):
            if keeps and plan.kept_memory is None:
                self._same[name], self._times[name] = ALONE, times
            elif plan.is_empty and not keeps:
                self._same[name], self._times[name] = DEFAULT, times
            else:
                note = "; ".join([*lines, "freed memory is kept"]) if keeps else times.note
                self._add_plan(name, keeps, replace(times, note=note))

    def _plan(self) -> tuple[Plan, float | None]:
        """Returns the plan, and the seconds of its search; None if that was in an earlier run."""

        def search(path: str) -> None:
            budget = self._run.budget
            with self._run.start("search", NPBenchJaxWorker, self._program) as process:
                process.call(NPBenchJaxWorker.search, budget, path, limit=budget + SEARCH_SECONDS)

        return searched(self._run.plan_file(self._program), search)

    def _add_plan(self, name: str, keeps: bool, times: PeerTimes) -> None:
        file = str(self._run.plan_file(self._program))
        try:
            process = self._stack.enter_context(
                self._run.start(name, NPBenchJaxWorker, self._program)
            )
            process.call(NPBenchJaxWorker.compile, file, keeps)
            self._check(process)
        except Exception as error:  # whatever the plan does
            self._times[name] = replace(times, error=reason_of(error))
        else:
            self._add(process, times)

    def add_numba(self) -> None:
        """Adds the fastest of numba's variants whose outputs are right."""
        start = partial(self._run.start, NUMBA, NumbaWorker, self._program)
        try:
            process, times = fastest_numba(self._program, start, self._check)
        except HloError as error:
            self._times[NUMBA] = PeerTimes(error=reason_of(error))
        else:
            self._stack.enter_context(process)
            self._add(process, times)

    def _check(self, process: PeerProcess) -> None:
        """Compares a peer's outputs with numpy's.

        Raises:
            WrongOutputsError: They do not agree.
        """
        if reason := process.call(NPBenchWorker.check, self._reference):
            raise WrongOutputsError(reason)

    def _add(self, process: PeerProcess, times: PeerTimes) -> None:
        self._ready[process.name], self._times[process.name] = process, times

    def times(self) -> dict[str, PeerTimes]:
        """Returns the times of all peers, those that are ready timed in turns."""
        seconds, failures = timed_in_turns(self._ready)
        timed = {
            name: replace(times, seconds=seconds.get(name, ()))
            for name, times in self._times.items()
        }
        for name, reason in failures.items():
            timed[name] = replace(timed[name], error=reason)
        for name, other in self._same.items():
            timed[name] = replace(timed[name], seconds=timed[other].seconds)
        return {name: timed[name] for name in (DEFAULT, *PEERS) if name in timed}


def fastest_numba(
    program: NPBenchProgram,
    start: Callable[[], PeerProcess],
    check: Callable[[PeerProcess], None],
) -> tuple[PeerProcess, PeerTimes]:
    """Returns the process of the fastest of numba's variants whose outputs are right.

    Args:
        program: The program.
        start: Starts a process with a ``NumbaWorker``.
        check: Raises an error if the outputs of one are wrong.

    Raises:
        HloError: No variant is right, or there is none; it says why.
    """
    failures: list[str] = []
    best: tuple[PeerProcess, PeerTimes] | None = None
    least = math.inf
    for variant in (v for v, postfix in NUMBA_VARIANTS.items() if program.has(postfix)):
        with ExitStack() as attempt:
            process = attempt.enter_context(start())
            try:
                compiling = process.call(NumbaWorker.compile, variant, limit=_VARIANT_SECONDS)
                check(process)
                seconds = min(process.call(NumbaWorker.screened))
            except Exception as error:  # whatever numba raises
                failures.append(f"{variant}: {reason_of(error)}")
                continue
            if seconds < least:
                if best is not None:
                    best[0].close()
                least, best = seconds, (process, PeerTimes(compile_seconds=compiling, note=variant))
                attempt.pop_all()
    if best is None:
        raise HloError("; ".join(failures) or "NPBench has no version for it")
    return best


def write_database(
    rows: Sequence[PeersRow], programs: Iterable[NPBenchProgram], file: Path, version: str
) -> None:
    """Writes times in the form of NPBench's own results: a SQLite file ``npbench.db``.

    Args:
        rows: The times.
        programs: The programs.
        file: The file.
        version: Versions of what was measured.
    """
    by_name = {program.name: program for program in programs}

    def write(path: Path) -> None:
        path.unlink(missing_ok=True)
        for row in rows:
            _insert(row, by_name[row.program], path, version)

    write_atomically(file, write)


_FRAMEWORKS = {DEFAULT: "jax", OPTIMIZE: "hlograph", ALONE: "hlograph", NUMBA: "numba"}


def _insert(row: PeersRow, program: NPBenchProgram, path: Path, version: str) -> None:
    own = program.own_module("utilities")
    connection = own.create_connection(str(path))
    own.create_table(connection, own.sql_create_results_table)
    about = [program.info.get(name, "") for name in ("kind", "domain", "dwarf")]
    timed = {"numpy": row.reference, **row.peers}
    for name, times in timed.items():
        framework = _FRAMEWORKS.get(name, name)
        details = times.note if name == NUMBA else name if framework == "hlograph" else "default"
        start = (int(time.time()), program.info["short_name"], *about, program.preset, "main")
        for seconds in times.seconds:
            values = (*start, framework, version, details, True, seconds)
            own.create_result(connection, own.sql_insert_into_results_table, values)
    connection.close()
