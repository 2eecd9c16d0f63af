"""Command line that runs a reproducer: a call on the module on which it ended a worker.

python -m hlograph.isolation.repro runs/NAME/quarantine/FILE.hlo
python -m hlograph.isolation.repro FILE.hlo --in-process     # under a debugger, say
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from hlograph.errors import HloError, PassError, RewriteError, WorkerLostError
from hlograph.isolation import FlightRecorder, WorkerLimits, WorkerPool
from hlograph.isolation.pass_call import RUN, RUN_LOWERED
from hlograph.isolation.quarantine import Reproducer
from hlograph.module import Module, take_step

REPRODUCED = 1
"""Exit status if the call ends its process again."""


def main(arguments: list[str] | None = None) -> int:
    """Runs the program; returns 0 if the call finishes, 1 if it ends its process."""
    parser = argparse.ArgumentParser(
        "python -m hlograph.isolation.repro",
        description="Runs a pass on the module that it crashed, hung or ran out of memory on.",
    )
    parser.add_argument("file", type=Path, help="file of a run's quarantine folder")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of the pass")
    parser.add_argument("--memory-gib", type=float, default=8.0, help="memory limit of the pass")
    parser.add_argument(
        "--in-process", action="store_true", help="run it in this process, for a debugger"
    )
    options = parser.parse_args(arguments)
    try:
        reproducer = Reproducer.load(options.file)
    except (HloError, OSError) as error:
        parser.error(str(error))
    call = reproducer.call
    print(f"{call.name} on {call.benchmark} after {len(call.applied)} passes: {reproducer.message}")
    if options.in_process:
        print(run_pass(reproducer))
        return 0
    limits = WorkerLimits(seconds=options.seconds, memory=int(options.memory_gib * (1 << 30)))
    with WorkerPool(_make_worker, 1, limits) as pool:
        for _, result in pool.map([reproducer]):
            if isinstance(result, WorkerLostError):
                print(f"reproduced: {result.kind}: {result} ({result.seconds:.2f} s)")
                print(result.output)
                return REPRODUCED
            print(f"not reproduced: {result}")
    return 0


def run_pass(reproducer: Reproducer) -> str:
    """Runs the reproducer's call in this process and returns its result in words."""
    return _run(reproducer, _read(reproducer))


def _make_worker(recorder: FlightRecorder) -> Callable[[Reproducer], str]:
    def work(reproducer: Reproducer) -> str:
        module = _read(reproducer)
        recorder.begin(reproducer.call.to_note())
        return _run(reproducer, module)

    return work


def _read(reproducer: Reproducer) -> Module:
    return Module.from_text(reproducer.module)


def _run(reproducer: Reproducer, module: Module) -> str:
    before, call = module.op_count, reproducer.call
    if call.name in (RUN, RUN_LOWERED):
        from hlograph.execution.executable import Executable, random_inputs

        Executable(module, lowered=call.name == RUN_LOWERED).run(random_inputs(module))
        return "the module compiles and runs"
    if call.rules is not None:
        return f"the listing finished: {len(module.rewrites(call.rules))} rewrites"
    try:
        changed = take_step(module, call.name)
    except (PassError, RewriteError) as error:
        return f"the pass returned an error and left the module as it was: {error}"
    effect = f"{before} to {module.op_count} instructions" if changed else "no change"
    return f"the pass finished, {effect}"


if __name__ == "__main__":
    sys.exit(main())
