"""Predicted kernels of an optimized module: their seconds, their kinds, and what bounds them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from hlograph.execution.rates import Rates, features
from hlograph.module import Module
from hlograph.profiling.kernel_categories import OUTSIDE, kind_of, library_of
from hlograph.profiling.kernel_modules import KernelModule, is_kernel_text, kernel_modules
from hlograph.profiling.kernel_seconds import LEAST_SECONDS, PredictTime, work_of
from hlograph.profiling.optimized_module import OptimizedModule, known_trips

Bound = Literal["arithmetic", "memory", "calls", ""]
"""What takes most of a kernel's predicted time; empty if nothing takes half of it."""

# Features that count what is begun: kernels, products of a batch, rows that are looked up, rounds
# of a loop.
_CALLS = frozenset(
    {"kernels", "elementwise", "dots", "tiny_dots", "batched_dots", "batched_vectors"}
    | {"convolutions", "convolution_groups", "sorts", "gathered_slices", "scattered_slices"}
    | {"transforms", "matrices", "iterations", "small_iterations"}
)
# Features that count what is read, moved or written.
_MEMORY = frozenset(
    {"argument_bytes", "result_bytes", "dot_elements", "matrix_vector_elements"}
    | {"convolution_elements", "sorted_elements", "strided_sorted_elements"}
    | {"gathered_elements", "scattered_elements", "transposed_elements", "moved_elements"}
)
# Cheap operations on each element: arithmetic only where there are more of them than elements that
# the kernel reads and writes.
_CHEAP = frozenset(
    {"cheap_elements", "reduced_elements", "shallow_reduced_elements", "narrow_reduced_elements"}
    | {"minor_reduced_elements", "short_reduced_elements", "variadic_reduced_elements"}
)
_OF_A_PROGRAM = "programs"
_ELEMENT = 4  # bytes of an element of work


@dataclass(frozen=True, slots=True)
class PredictedKernel:
    """Predicted time of one instruction of the optimized module.

    Attributes:
        name: Name of the instruction; ``outside kernels`` for the rest of the run's time.
        opcode: XLA's name of its opcode.
        kind: Kind of kernel, one of ``hlograph.profiling.KINDS``.
        calls: Number of times that it runs in a run: see ``kernel_modules.KernelModule``.
        seconds: Predicted seconds of all calls in a run.
        share: Share of the run's predicted time.
        bound_by: What takes half of its time or more by the rates; empty if nothing does.
        shape: Shape of its result.
        library: ``ynn``, ``onednn``, ``eigen`` or ``none``.
        op_name: Name of the operation in the source; may be empty.
    """

    name: str
    opcode: str
    kind: str
    calls: float
    seconds: float
    share: float
    bound_by: Bound
    shape: str
    library: str
    op_name: str

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


def predicted_kernels(
    program: OptimizedModule, predict: PredictTime, rates: Rates
) -> tuple[PredictedKernel, ...]:
    """Returns the predicted time of each kernel, the longest first, and of ``outside kernels``.

    Their sum is the predicted time of a run.

    Args:
        program: The module that jaxlib generates code from.
        predict: Predicts the seconds.
        rates: Rates that say what bounds a kernel.

    Raises:
        HloParseError: The linked XLA does not read a kernel.
    """
    modules = kernel_modules(program)
    time = predict(modules, {})
    distinct = dict.fromkeys(module.text for module in modules)
    bounds: dict[str, Bound] = {text: _bound_of(text, rates) for text in distinct}
    kernels = [
        _kernel(module, seconds, seconds / time.seconds, bounds[module.text], program)
        for module, seconds in zip(modules, time.kernels, strict=True)
    ]
    outside = time.seconds - sum(time.kernels)
    share = outside / time.seconds
    kernels.append(
        PredictedKernel(OUTSIDE, "", OUTSIDE, 1, outside, share, "calls", "", "none", "")
    )
    return tuple(sorted(kernels, key=lambda kernel: (-kernel.seconds, kernel.name)))


def loops_of_unknown_length(program: OptimizedModule) -> tuple[str, ...]:
    """Returns the names of the loops whose number of rounds XLA does not know."""
    return tuple(
        each.name
        for each in program.instructions.values()
        if each.opcode == "while" and not known_trips(each.attributes)
    )


def _bound_of(text: str, rates: Rates) -> Bound:
    """Returns what takes half of a kernel's time or more by rates; empty if nothing does."""
    if not is_kernel_text(text):
        return "calls"  # a loop or branch around kernels
    module = Module.from_text(text)
    names, work = features(), work_of(module)
    elements = max(module.cost().bytes_accessed, 0.0) / _ELEMENT
    cheap = sum(amount for feature, amount in work.items() if names[feature] in _CHEAP)
    seconds: dict[Bound, float] = {"arithmetic": 0.0, "memory": 0.0, "calls": 0.0}
    for feature, amount in work.items():
        if names[feature] != _OF_A_PROGRAM:
            bound = _class_of(names[feature], streams=cheap <= elements)
            seconds[bound] += amount * rates.seconds[feature]
    total = sum(seconds.values())
    if total <= LEAST_SECONDS:
        return "calls"  # hardly any work but that it begins
    most = max(seconds, key=lambda each: seconds[each])
    return most if 2 * seconds[most] >= total else ""


def _class_of(feature: str, *, streams: bool) -> Bound:
    if feature in _CALLS:
        return "calls"
    return "memory" if feature in _MEMORY or (streams and feature in _CHEAP) else "arithmetic"


def _kernel(
    module: KernelModule, seconds: float, share: float, bound: Bound, program: OptimizedModule
) -> PredictedKernel:
    instruction = program.instructions[module.name]
    return PredictedKernel(
        module.name,
        instruction.opcode,
        kind_of(instruction, program),
        module.calls,
        seconds,
        share,
        bound,
        instruction.shape,
        library_of(instruction),
        instruction.op_name,
    )
