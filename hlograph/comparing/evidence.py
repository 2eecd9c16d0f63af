"""Evidence against jaxlib's default of a program: a folder to report upstream."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from hlograph.comparing.minimising import Minimiser
from hlograph.comparing.module_cuts import text_of as text_to_cut
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array
from hlograph.isolation import Remote, WorkerLimits
from hlograph.measuring.implementation_worker import ImplementationWorker
from hlograph.measuring.implementations import Implementation, implementations_of
from hlograph.measuring.references import Judgement, JudgementVerdict, judge_default
from hlograph.measuring.samples import Samples
from hlograph.measuring.trial import Job
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.plans.known_faults import faults_of
from hlograph.storage.atomic_write import write_atomically, write_text_atomically
from hlograph.storage.machine import machine

# Larger arrays are not written: the inputs are random, and reproduce.py says with which seed.
_MOST_BYTES = 64 << 20

_SECONDS = 60.0  # to look for the smallest part

_SCRIPT = '''"""Runs a module as jaxlib compiles it, and compares the results with right ones."""

import importlib
import pathlib

import jax
import numpy as np
from jax.extend import backend
from jax.extend.mlir import hlo_to_stablehlo
from jaxlib import xla_client

here = pathlib.Path(__file__).parent
text = (here / "minimised.hlo").read_text()
module = importlib.import_module("jaxlib._hlo").hlo_module_from_text(text)
client = backend.get_backend("cpu")
device = client.local_devices()[0]
options = backend.get_compile_options(
    num_replicas=1, num_partitions=1, device_assignment=[[device.id]], backend=client
)
program = hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
executable = client.compile_and_load(program, xla_client.DeviceList((device,)), options)
with np.load(here / "inputs.npz") as file:
    with jax.enable_x64(True):
        arguments = [jax.device_put(file[name], device) for name in file.files]
results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
with np.load(here / "expected.npz") as file:
    for number, name in enumerate(file.files):
        result, expected = np.asarray(results[number][0]), file[name]
        near = np.isclose(result, expected, rtol=1e-2, atol=1e-2, equal_nan=True)
        print(f"output {number}: {np.count_nonzero(~near)} of {near.size} elements are wrong")
'''


def write_evidence(job: Job, judgement: Judgement, folder: Path) -> list[Path]:
    """Writes what shows a fault of jaxlib: the program, its smallest part, and how to run it.

    Args:
        job: The program and its inputs.
        judgement: What references say of its default, which must not stand.
        folder: The folder, which is made.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part = Job(smallest_part(job.program, judgement.verdict), seed=job.seed)
    files = {
        "README.md": _report(job, judgement),
        "program.hlo": text_of(job.program.hlo),
        "minimised.hlo": text_of(part.program.hlo),
        "reproduce.py": _SCRIPT,
    }
    for name, text in files.items():
        write_text_atomically(folder / name, text)
    inputs = Samples(part.program, part.given, part.seed).usual[0].inputs
    arrays = {"inputs.npz": inputs, "expected.npz": _expected(part, judgement)}
    for name, values in arrays.items():
        if sum(array.nbytes for array in values) <= _MOST_BYTES:
            write_atomically(folder / name, partial(_save, values))
    return sorted(folder.iterdir())


def smallest_part(
    program: Program, verdict: JudgementVerdict, seconds: float = _SECONDS
) -> Program:
    """Returns the smallest part found of a program whose default gets the same verdict.

    Args:
        program: The program.
        verdict: What the references say of its default.
        seconds: Time after which no further part is judged.

    Returns:
        The part; the program itself if no part gets the verdict.
    """
    flow = program.flow
    suspects = [
        frozenset(flow.instructions[node].name for node in fault.nodes(flow))
        for fault in faults_of(flow)
    ]
    try:
        module = text_to_cut(program)
    except HloError:
        return program
    shows = partial(_gets, verdict)
    part = Minimiser(module, shows, seconds).smallest(suspects)
    return program if part is None else part.program


def _gets(verdict: JudgementVerdict, part: Program) -> bool:
    return judge_default(Job(part)).verdict == verdict


def _save(arrays: Sequence[Array], path: Path) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, *arrays)


def _expected(part: Job, judgement: Judgement) -> list[Array]:
    """Returns the outputs of an implementation that is right; none if there is no such."""
    right = {name for name, words in judgement.implementations.items() if words == "right"}
    implementations: list[Implementation] = [
        implementation for some in implementations_of(part.program) for implementation in some
    ]
    for implementation in implementations:
        if implementation.name in right:
            worker = Remote(partial(ImplementationWorker, part, ""), WorkerLimits())
            try:
                return worker.call(ImplementationWorker.outputs_of, implementation)
            finally:
                worker.close()
    return []


def _report(job: Job, judgement: Judgement) -> str:
    plan = judgement.plan
    avoided = [] if plan is None else [f"- avoided by: {line}" for line in plan.describe()]
    here = machine()
    return "\n".join(
        [
            f"# {judgement.headline}: {job.program.name}",
            "",
            judgement.reason,
            "",
            *(f"- {name}: {words}" for name, words in judgement.implementations.items()),
            *avoided,
            *(f"- the program may meet {name}" for name in judgement.faults),
            "",
            f"jax {version('jax')}, jaxlib {version('jaxlib')}, {here.cpu}, {platform.platform()}",
            "",
            "`python reproduce.py` runs `minimised.hlo`, the smallest part of the program that was",
            "found to show the fault, on `inputs.npz`, and compares with `expected.npz`. It needs",
            "jax alone. `program.hlo` is the whole program before XLA's optimizations.",
            "",
        ]
    )
