"""Engines that run modules, and obstacles to running one on a CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from hlograph._native import native
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import (
    Array,
    ComparedModule,
    Signature,
    from_bytes,
    to_bytes,
)
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.verdict import EngineName

_RANDOM = frozenset({"rng", "rng-get-and-update-state"})
_HOST = frozenset({"infeed", "outfeed", "send", "send-done", "recv", "recv-done"})
_COLLECTIVE = frozenset(
    {
        "all-gather", "all-gather-start", "all-reduce", "all-reduce-start", "all-to-all",
        "collective-broadcast", "collective-permute", "collective-permute-start",
        "partition-id", "ragged-all-to-all", "reduce-scatter", "replica-id",
    }
)  # fmt: skip
# Custom calls that XLA:CPU compiles itself.
_COMPILED_CALLS = frozenset({"Sharding", "TopK"})


@dataclass(frozen=True)
class Limits:
    """Limits of a comparison. A module that exceeds one is ``not comparable``.

    Attributes:
        compiled_ops: Instructions of a module to compile; a thousand take about 2 s.
        evaluated_ops: Instructions of a module to run in the evaluator.
        memory: Bytes of all arrays of a module together. A module needs less at once: compiled
            code shares buffers, only the evaluator frees nothing.
        flops: Floating-point operations of a run of compiled code, by XLA's cost analysis.
        evaluated_flops: Floating-point operations of a run in the evaluator, which computes
            element by element.
        evaluator_seconds: Time limit of the evaluator in seconds.
    """

    compiled_ops: int = 10_000
    evaluated_ops: int = 50_000
    memory: int = 2 << 30
    flops: float = 1e11
    evaluated_flops: float = 5e7
    evaluator_seconds: float = 20.0


def obstacles(flow: Flow, engine: EngineName) -> list[str]:
    """Describes the instructions that an engine cannot run reproducibly.

    The evaluator treats custom calls without side effects as arbitrary functions of their operands
    (``native/execution/arbitrary_function.h``). ``rng-bit-generator`` is not an obstacle: its
    result is a function of its state, and if the backend chooses the algorithm, XLA:CPU and the
    registry's expander both choose Philox.

    Args:
        flow: Data flow of the module.
        engine: The engine.

    Returns:
        One sentence for each kind of obstacle.
    """
    counts: Counter[str] = Counter()
    for node, opcode in enumerate(flow.opcodes):
        if opcode in _RANDOM:
            counts[f"{opcode} draws different numbers on each run"] += 1
        elif opcode in _HOST:
            counts[f"{opcode} communicates with a host"] += 1
        elif opcode in _COLLECTIVE:
            counts[f"{opcode} needs other devices"] += 1
        elif opcode == "select-and-scatter" and engine == "evaluator":
            if not flow.elements[flow.operands[node][1]]:
                counts[f"the evaluator reads beyond what an empty {opcode} scatters"] += 1
        elif opcode == "custom-call" and engine == "compiled":
            target = flow.attribute(node, "custom_call_target", "")
            if target not in _COMPILED_CALLS:
                counts[f"XLA has no code for custom call {target}"] += 1
    return [text if n == 1 else f"{text} ({n} times)" for text, n in sorted(counts.items())]


def check_runnable(flow: Flow, engine: EngineName, limits: Limits) -> None:
    """Checks that an engine can run a module.

    Args:
        flow: Data flow of the module.
        engine: The engine.
        limits: Limits, of which only the memory is checked.

    Raises:
        HloError: The engine cannot run the module; names the obstacles.
    """
    reasons = obstacles(flow, engine)
    memory = int(flow.graph.bytes[: -flow.graph.num_computations].sum())
    if memory > limits.memory:
        reasons.append(f"its arrays take {memory} bytes, more than the limit of {limits.memory}")
    if reasons:
        raise HloError("; ".join(reasons))


class Runner(Protocol):
    """Function that runs a module."""

    def __call__(self, inputs: list[Array]) -> list[Array]:
        """Returns the leaves of the result.

        Raises:
            HloError: XLA cannot run the module.
        """
        ...


def make_runner(
    engine: EngineName, module: ComparedModule, signature: Signature, limits: Limits
) -> Runner:
    """Returns a function that runs a module.

    Args:
        engine: The engine.
        module: The module; it is not changed.
        signature: Signature of the module.
        limits: Limits of the cost.

    Raises:
        HloError: The module exceeds the limits, or XLA does not compile it.
    """
    flops, transcendentals, _ = module._native.cost()
    most_ops, most_flops = (
        (limits.compiled_ops, limits.flops)
        if engine == "compiled"
        else (limits.evaluated_ops, limits.evaluated_flops)
    )
    for quantity, number, most in (
        ("instructions", module._native.op_count, most_ops),
        ("flops", flops + 16 * transcendentals, most_flops),
    ):
        if number > most:
            raise HloError(
                f"expected at most {most:.3g} {quantity} to run {engine}, got {number:.3g}"
            )
    return (_compiled if engine == "compiled" else _evaluated)(module, signature, limits)


def _compiled(module: ComparedModule, signature: Signature, limits: Limits) -> Runner:
    # Strict means no fused multiply-add and no libraries with their own order of sums, so that
    # results depend less on XLA:CPU's fusions. Level 0 takes half the time of level 1.
    program = native().Program.compile(
        module._native, disabled_passes=[], strict=True, optimization_level=0
    )

    def run(inputs: list[Array]) -> list[Array]:
        return from_bytes(signature.results, program.run(to_bytes(inputs)))

    return run


def _evaluated(module: ComparedModule, signature: Signature, limits: Limits) -> Runner:
    # The evaluator runs the instructions as they are, without any pass before.
    def run(inputs: list[Array]) -> list[Array]:
        outputs = native().evaluate(
            module._native, to_bytes(inputs), max_seconds=limits.evaluator_seconds
        )
        return from_bytes(signature.results, outputs)

    return run
