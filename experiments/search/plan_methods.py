"""Policies as methods of ``hlograph.optimize``: the passes or rewrites that they choose.

    methods = [*hlograph.optimization.methods.names(), "experiments.search.plan_methods:gnn"]
    hlograph.optimize(step, params, batch, methods=methods)

The policies were trained to leave fewer instructions. Whether that makes a program faster is
measured, as for any other plan.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from hlograph.errors import HloError
from hlograph.optimization.methods import Listed, Method
from hlograph.plans import Numerics, Plan
from hlograph.programs import Program
from hlograph.storage.atomic_write import write_bytes_atomically
from hlograph.timing import lock

_CHECKOUT = Path(__file__).parents[2]
_SECONDS = 20.0
_SAMPLES = 4


def policy(checkpoint: str, program: Program, numerics: Numerics) -> Method:
    """Returns the method that proposes what a policy chooses, in its best of four episodes.

    The policy plays in a process of its own, when it is first asked.

    Args:
        checkpoint: Path of a checkpoint, or the name of a policy that comes with the project.
        program: The program.
        numerics: Class of the results.
    """
    return Listed(_plans(checkpoint, program, numerics))


gnn = partial(policy, "gnn")
op_counts = partial(policy, "op-counts")
rewrites = partial(policy, "rewrites")
sweeps = partial(policy, "sweeps")


def _plans(checkpoint: str, program: Program, numerics: Numerics) -> Iterator[Plan]:
    steps = played(checkpoint, program)
    if steps:
        yield Plan(
            program=program.name,
            fingerprint=program.fingerprint,
            steps=steps,
            numerics=numerics,
            method=f"policy: {checkpoint}",
        )


def played(checkpoint: str, program: Program) -> tuple[str, ...]:
    """Returns the passes or rewrites that a policy chooses for a program.

    Args:
        checkpoint: As for ``policy``.
        program: The program.

    Raises:
        HloError: The policy cannot be played on it.
    """
    from experiments.outcomes.study import Study

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bytes_atomically(folder / "program.pb", program.module().to_proto())
        command = [sys.executable, "-m", "experiments.evaluate", checkpoint]
        command += ["--benchmarks", str(folder / "program.pb"), "--checks", "0"]
        command += ["--samples", str(_SAMPLES), "--seconds", str(_SECONDS)]
        command += ["--num-workers", "1", "--out", str(folder / "out")]
        with lock.compiling():  # it takes a core, which a measurement needs
            ended = subprocess.run(command, cwd=_CHECKOUT, capture_output=True, text=True)
        if ended.returncode:
            raise HloError(f"the policy {checkpoint} does not play: {ended.stderr.strip()[-500:]}")
        (trial,) = Study.load(folder / "out" / "study.json").trials
    return tuple(trial.outcomes[0].passes)
