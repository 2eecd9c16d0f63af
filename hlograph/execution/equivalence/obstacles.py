"""What keeps a module from being run on one CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hlograph.errors import HloError
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
    """What a comparison may cost; more is ``not comparable``, with the figures.

    Attributes:
        compiled_ops: Instructions of a module that is compiled: a thousand take about 2 s.
        evaluated_ops: Instructions of a module that the evaluator runs.
        memory: Bytes of all arrays of a module together, which is more than it needs at once:
            the evaluator frees nothing, compiled code shares buffers.
        flops: Floating-point operations of a run of compiled code, by XLA's cost analysis.
        evaluated_flops: The same of the evaluator, which goes element by element.
        evaluator_seconds: After so long the evaluator gives up.
    """

    compiled_ops: int = 10_000
    evaluated_ops: int = 50_000
    memory: int = 2 << 30
    flops: float = 1e11
    evaluated_flops: float = 5e7
    evaluator_seconds: float = 20.0


def obstacles(flow: Flow, engine: EngineName) -> list[str]:
    """Returns what an engine cannot run, or not twice with the same result, in words.

    The evaluator takes custom calls without side effects as arbitrary functions of their
    operands (``native/arbitrary_function.h``). ``rng-bit-generator`` is no obstacle: its result
    is a function of its state, and where the algorithm is left to the backend, XLA:CPU and
    the registry's expander both take Philox.

    Args:
        flow: Data flow of the module.
        engine: What is to run it.
    """
    counts: Counter[str] = Counter()
    for node, opcode in enumerate(flow.opcodes):
        if opcode in _RANDOM:
            counts[f"{opcode} draws other numbers on each run"] += 1
        elif opcode in _HOST:
            counts[f"{opcode} talks to a host"] += 1
        elif opcode in _COLLECTIVE:
            counts[f"{opcode} needs other devices"] += 1
        elif opcode == "custom-call" and engine == "compiled":
            target = flow.attribute(node, "custom_call_target", "")
            if target not in _COMPILED_CALLS:
                counts[f"XLA has no code for custom call {target}"] += 1
    return [text if n == 1 else f"{text} ({n} times)" for text, n in sorted(counts.items())]


def check_runnable(flow: Flow, engine: EngineName, limits: Limits) -> None:
    """Raises HloError, which names the obstacles, for what an engine cannot run.

    Args:
        flow: Data flow of the module.
        engine: What is to run it.
        limits: Of these, the memory.
    """
    reasons = obstacles(flow, engine)
    memory = int(flow.graph.bytes[: -flow.graph.num_computations].sum())
    if memory > limits.memory:
        reasons.append(f"its arrays take {memory} bytes, at most {limits.memory} may be")
    if reasons:
        raise HloError("; ".join(reasons))
