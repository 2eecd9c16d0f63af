"""Lists the peers, and how each is made ready to run a program."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from benchmarks.peers.environments import PeerEnvironment
from benchmarks.peers.function_workers import NoVersionError, OnnxWorker, TorchWorker
from benchmarks.peers.module_workers import (
    EnzymeWorker,
    IreeWorker,
    JaxlibModuleWorker,
    SearchWorker,
)
from benchmarks.peers.npbench_measuring import (
    KEPT,
    NUMBA,
    NUMBA_ENVIRONMENT,
    WrongOutputsError,
    fastest_numba,
)
from benchmarks.peers.npbench_programs import NPBenchWorker, NumbaWorker
from benchmarks.peers.processes import (
    SEARCH_SECONDS,
    PeerProcess,
    PeersRun,
    reason_of,
    searched,
    timed_in_turns,
)
from benchmarks.peers.programs import PeerProgram
from benchmarks.peers.references import ModuleReference, NPBenchReference
from benchmarks.peers.results import DEFAULT, PeersRow, PeerTimes
from experiments.evaluate.run_folder import file_stem
from hlograph.errors import UnknownNameError
from hlograph.plans.enzyme import PIPELINES

_JAX = ("jax==0.10.2", "jaxlib==0.10.2")
ENZYME_ENVIRONMENT = PeerEnvironment("enzyme", ("enzyme-ad==0.0.16", *_JAX))
IREE_ENVIRONMENT = PeerEnvironment(
    "iree", ("iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "ml-dtypes==0.6.0")
)
ONNX_ENVIRONMENT = PeerEnvironment(
    "onnx", ("jax2onnx==0.17.1", "onnxruntime==1.32.0", "openvino==2026.4.1", *_JAX)
)
ENVIRONMENTS = (ENZYME_ENVIRONMENT, IREE_ENVIRONMENT, ONNX_ENVIRONMENT, NUMBA_ENVIRONMENT)


@dataclass
class Preparation:
    """One program, prepared, with the process that judges outputs.

    Attributes:
        run: Conditions of the run.
        subject: The program.
        folder: The prepared program.
        reference: Process with its reference.
        stack: Closes the processes.
    """

    run: PeersRun
    subject: PeerProgram
    folder: str
    reference: PeerProcess
    stack: ExitStack = field(default_factory=ExitStack)

    def compiled(
        self,
        name: str,
        make: partial[Any],
        environment: PeerEnvironment | None = None,
        note: str = "",
    ) -> tuple[PeerProcess, PeerTimes]:
        """Starts a peer, has it compile the program, and judges its outputs.

        Raises:
            Exception: Whatever the peer raises.
            WrongOutputsError: Its outputs are wrong.
        """
        worker: Any = make.func
        process = self.stack.enter_context(self.run.start(name, make, environment))
        seconds = process.call(worker.compile)
        self.judge(process, worker)
        return process, PeerTimes(compile_seconds=seconds, note=note)

    def judge(self, process: PeerProcess, worker: Any) -> None:
        """Judges the outputs of a peer.

        Raises:
            WrongOutputsError: They are wrong.
        """
        outputs = process.call(worker.outputs)
        judge: Any = NPBenchReference if self.subject.npbench else ModuleReference
        if reason := self.reference.call(judge.judge, outputs):
            raise WrongOutputsError(f"wrong outputs: {reason}")


Ready = Callable[[Preparation], tuple[PeerProcess | None, PeerTimes]]
"""Function that makes a peer ready; it raises an error that says why it cannot.

It returns the process, or None if the peer runs what jaxlib's default runs.
"""


def _default(about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    return about.compiled(DEFAULT, partial(JaxlibModuleWorker, about.folder))


def _optimized(
    name: str, budget: float, about: Preparation
) -> tuple[PeerProcess | None, PeerTimes]:
    def search(path: str) -> None:
        with about.run.start(name, partial(SearchWorker, about.folder)) as process:
            process.call(SearchWorker.search, budget, path, limit=budget + SEARCH_SECONDS)

    file = about.run.folder / "plans" / f"{budget:g}" / f"{file_stem(about.subject.name)}.json"
    plan, seconds = searched(file, search)
    if plan.is_empty:
        return None, PeerTimes(compile_seconds=seconds, note=KEPT)
    process, _ = about.compiled(name, partial(JaxlibModuleWorker, about.folder, str(file)))
    return process, PeerTimes(compile_seconds=seconds, note="; ".join(plan.summary()))


def _enzyme(name: str, pipeline: str, about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    file = f"enzyme-{pipeline}.mlir"
    make = partial(EnzymeWorker, about.folder)
    with about.run.start(name, make, ENZYME_ENVIRONMENT) as process:
        seconds = process.call(EnzymeWorker.rewrite, pipeline, file)
    process, times = about.compiled(name, partial(JaxlibModuleWorker, about.folder, "", file))
    compiling = seconds + (times.compile_seconds or 0.0)
    return process, PeerTimes(compile_seconds=compiling)


def _iree(about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    make = partial(IreeWorker, about.folder, about.run.threads)
    return about.compiled("IREE", make, IREE_ENVIRONMENT)


def _onnx(name: str, backend: Any, about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    source = about.subject.npbench or about.subject.name
    make = partial(OnnxWorker, about.folder, source, backend, about.run.threads)
    return about.compiled(name, make, ONNX_ENVIRONMENT)


def _torch(name: str, compiled: bool, about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    threads = about.run.threads
    return about.compiled(
        name, partial(TorchWorker, about.folder, about.subject.name, compiled, threads)
    )


def _numba(about: Preparation) -> tuple[PeerProcess, PeerTimes]:
    program = about.subject.npbench
    if program is None:
        raise NoVersionError("has no version for numba")
    start = partial(about.run.start, NUMBA, partial(NumbaWorker, program), NUMBA_ENVIRONMENT)
    process, times = fastest_numba(
        program, start, lambda process: about.judge(process, NPBenchWorker)
    )
    about.stack.enter_context(process)
    return process, times


PEERS: Mapping[str, Ready] = {
    DEFAULT: _default,
    **{
        f"optimize {budget} s": partial(_optimized, f"optimize {budget} s", budget)
        for budget in (10, 60)
    },
    **{
        f"Enzyme-JAX, {pipeline}": partial(_enzyme, f"Enzyme-JAX, {pipeline}", pipeline)
        for pipeline in PIPELINES
    },
    "IREE": _iree,
    "ONNX Runtime": partial(_onnx, "ONNX Runtime", "onnxruntime"),
    "OpenVINO": partial(_onnx, "OpenVINO", "openvino"),
    "PyTorch": partial(_torch, "PyTorch", False),
    "torch.compile": partial(_torch, "torch.compile", True),
    NUMBA: _numba,
}
"""How each peer is made ready, by its name."""


def chosen_peers(names: Sequence[str]) -> list[str]:
    """Returns the peers whose names begin with one of some words; all of them for no word.

    Raises:
        UnknownNameError: A word is the beginning of no name.
    """
    others = [name for name in PEERS if name != DEFAULT]
    for word in names:
        if not any(name.lower().startswith(word.lower()) for name in others):
            raise UnknownNameError(
                f"expected the beginning of a peer's name, got {word!r}; there are "
                f"{'; '.join(others)}"
            )
    words = tuple(name.lower() for name in names)
    return [name for name in others if not words or name.lower().startswith(words)]


def measured(run: PeersRun, subject: PeerProgram, names: Sequence[str]) -> PeersRow:
    """Returns the times of a program under the default and some peers, taken in turns.

    Args:
        run: Conditions of the run.
        subject: The program.
        names: Names of the peers beside the default.
    """
    ready: dict[str, PeerProcess] = {}
    times: dict[str, PeerTimes] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        try:
            reference = stack.enter_context(run.start("reference", subject.reference(folder)))
        except Exception as error:  # whatever reading the program raises
            default = PeerTimes(error=reason_of(error))
            return PeersRow(subject.name, subject.family, {DEFAULT: default})
        about = Preparation(run, subject, folder, reference, stack)
        for name in (DEFAULT, *names):
            try:
                process, times[name] = PEERS[name](about)
                if process is not None:
                    ready[name] = process
            except NoVersionError:
                continue
            except Exception as error:  # whatever the peer raises
                times[name] = PeerTimes(error=reason_of(error))
        seconds, failures = timed_in_turns(ready)
    for name, each in times.items():
        error = failures.get(name, each.error)
        timed = name if name in ready or error else DEFAULT
        times[name] = replace(each, seconds=seconds.get(timed, ()), error=error)
    return PeersRow(subject.name, subject.family, times)
