"""Work of a program, by XLA's cost analysis, with loops counted as often as they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from hlograph.profiling.kernel_categories import is_kernel_call
from hlograph.profiling.kernel_modules import computation_texts, reachable
from hlograph.profiling.optimized_module import CONTROL, OptimizedModule, known_trips
from hlograph.reading.hlo_text import InstructionText

if TYPE_CHECKING:
    from jaxlib._jax import LoadedExecutable


@dataclass(frozen=True, slots=True)
class RunCost:
    """Work of a run.

    Attributes:
        flops: Number of floating-point operations; XLA counts integer operations, too.
        bytes_accessed: Bytes that the instructions read and write, also those that stay in a cache.
    """

    flops: float
    bytes_accessed: float

    def __add__(self, other: RunCost) -> RunCost:
        return RunCost(self.flops + other.flops, self.bytes_accessed + other.bytes_accessed)

    def times(self, factor: float) -> RunCost:
        """Returns the cost of that many runs."""
        return RunCost(self.flops * factor, self.bytes_accessed * factor)

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes as a JSON object."""
        return asdict(self)


def cost_of(
    executable: LoadedExecutable, program: OptimizedModule, calls: Mapping[str, float]
) -> RunCost:
    """Returns the cost of a run.

    XLA's analysis counts the body of a loop once. Here each computation counts as often as its
    steps ran; inside a loop that is one kernel, as often as XLA knows that it runs, or once.

    Args:
        executable: The executable, whose client does the analysis.
        program: Its module.
        calls: Steps per run of each instruction that ran.
    """
    callers = program.callers()
    if not callers:
        return _cost(executable.cost_analysis())
    analysis = _Analysis(executable, program)
    total = RunCost(0.0, 0.0)
    for computation in (program.entry, *callers):
        total += analysis.own(computation).times(_runs(computation, program, calls, callers))
    return total


class _Analysis:
    """XLA's cost analysis of single computations."""

    def __init__(self, executable: LoadedExecutable, program: OptimizedModule) -> None:
        self._client = executable.client
        self._program = program
        self._texts = computation_texts(program)
        self._known: dict[str, RunCost] = {}

    def own(self, computation: str) -> RunCost:
        """Returns the cost without loops, branches and calls."""
        cost = self._whole(computation)
        for instruction in self._program.computations[computation]:
            if instruction.opcode in CONTROL:
                cost += self._called(instruction).times(-1)
        return RunCost(max(0.0, cost.flops), max(0.0, cost.bytes_accessed))

    def _called(self, instruction: InstructionText) -> RunCost:
        """Returns what XLA's analysis adds for a loop (one trip), branch or call."""
        costs = [self._whole(called) for called in instruction.calls]
        if instruction.opcode == "conditional":
            return RunCost(max(c.flops for c in costs), max(c.bytes_accessed for c in costs))
        return sum(costs, RunCost(0.0, 0.0))

    def _whole(self, computation: str) -> RunCost:
        from jaxlib._hlo import hlo_module_from_text
        from jaxlib._jax import hlo_module_cost_analysis

        if computation not in self._known:
            *needed, _ = reachable(self._program, computation)
            text = "\n\n".join(self._texts[name] for name in needed)
            text = f"HloModule part\n\n{text}\n\nENTRY {self._texts[computation]}\n"
            module = hlo_module_from_text(text)
            self._known[computation] = _cost(hlo_module_cost_analysis(self._client, module))
        return self._known[computation]


def _runs(
    computation: str,
    program: OptimizedModule,
    calls: Mapping[str, float],
    callers: Mapping[str, tuple[str, ...]],
) -> float:
    """Returns how often a computation runs in a run of the program."""
    if computation == program.entry:
        return 1.0
    around = [program.instructions[name] for name in callers[computation]]
    # The least number of steps is the number of runs, but a sort can be two steps.
    if steps := [calls[i.name] for i in program.computations[computation] if i.name in calls]:
        most = inf if any(c.opcode == "while" for c in around) else 0.0
        return min(*steps, most + sum(calls.get(caller.name, 0.0) for caller in around))
    total = 0.0
    for caller in around:
        if caller.name in calls and not is_kernel_call(caller):
            continue  # a branch that was not taken
        trips = known_trips(caller.attributes) if caller.opcode == "while" else []
        times = float(trips[0]) if trips else 1.0
        total += times * _runs(caller.computation, program, calls, callers)
    return total


def _cost(analysis: Any) -> RunCost:
    return RunCost(float(analysis.get("flops", 0.0)), float(analysis.get("bytes accessed", 0.0)))
