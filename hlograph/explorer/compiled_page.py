"""The page of what jaxlib makes of a program, with the measured time of each kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlograph.explorer.module_data import Numbers, module_data
from hlograph.explorer.pages import Page

if TYPE_CHECKING:
    from hlograph.measuring.trial import Job

_FILE = "compiled-module"


def compiled_page(job: Job) -> tuple[Page, dict[str, Any]]:
    """Compiles a program by jaxlib, runs and profiles it, and returns its page and data file.

    Kernels are instructions of the module that jaxlib generated code from, not of the one that it
    was given; so this is a graph of its own.

    Args:
        job: The program, and the arguments to run it with.

    Raises:
        HloError: jaxlib does not compile or run it.
    """
    from hlograph.measuring.samples import Samples
    from hlograph.module import Module
    from hlograph.plans import compile_program
    from hlograph.profiling import OptimizedModule
    from hlograph.profiling.of_program import profile_compiled

    inputs = Samples(job.program, job.given, job.seed).usual[0].inputs
    executable = compile_program(job.program, None)
    profile = profile_compiled(executable, job.program, inputs)
    module = Module.from_text(OptimizedModule.of(executable).text)
    seconds = {kernel.name: kernel.seconds for kernel in profile.kernels}
    graph = module.graph()
    names = graph.names()[: graph.num_nodes - graph.num_computations]
    values = np.array([seconds.get(name, np.nan) for name in names])
    within = float(np.nansum(values))
    slowest = next((k.name for k in profile.kernels if k.name in names), None)
    data = module_data(module, [Numbers("seconds", "Time of the kernel", "s", values)])
    page = {
        "module": _FILE,
        "colour": "seconds",
        "seconds": profile.seconds,
        "outside": max(0.0, profile.seconds - within),
        "focus": slowest,
    }
    return Page("graph", "compiled", "Compiled", page), {_FILE: data}
