"""Measures the engine: every figure a ratio or a median within one run.

python -m benchmarks.engine            # corpus modules, growth to 100,000 instructions
python -m benchmarks.engine --growth 1000000
"""

from __future__ import annotations

import argparse
import functools
import gc
import math
import statistics
import threading
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import hlograph
from envs import PassOrderingEnv
from hlograph import Module, corpus
from hlograph.features import edge_features, node_features

SIZES = (100, 1_000, 8_000)
STEPS = 30


def median_ms(call: Callable[[], object], repeats: int = 9) -> float:
    """Returns the median time of a call, in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def nearest_benchmark(op_count: int) -> corpus.Benchmark:
    """Returns the benchmark whose op count is nearest in ratio."""
    return min(corpus.load(), key=lambda benchmark: abs(math.log(benchmark.op_count / op_count)))


def step_times(module: Module, observation: str, seed: int) -> tuple[float, float]:
    """Returns the seconds of one random episode through the environment and without it.

    The same passes in the same states: those that the environment answers from
    its table of known no-ops are left out of both. Both pay for the mutable copy
    that the first pass of an episode makes.
    """
    env = PassOrderingEnv(module, observation=observation, horizon=STEPS, costs=False)  # pyright: ignore[reportArgumentType]
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    alone = module.clone()
    env_seconds = pass_seconds = 0.0
    for _ in range(STEPS):
        action = int(rng.choice(np.flatnonzero(env.action_masks()[:-1])))
        start = time.perf_counter()
        env.step(action)
        middle = time.perf_counter()
        alone.run(hlograph.passes[action])
        env_seconds += middle - start
        pass_seconds += time.perf_counter() - middle
    return env_seconds, pass_seconds


def compile_ms(module: Module) -> float:
    """Returns the time of a jaxlib compile that runs XLA's passes and stops before codegen."""
    import jax
    from jax.extend import xla
    from jaxlib import _jax, xla_client  # pyright: ignore[reportAttributeAccessIssue]

    class StopBeforeCodegenError(Exception):
        pass

    def stop(_: bytes) -> None:
        raise StopBeforeCodegenError

    stablehlo = _jax.mlir.xla_computation_to_mlir_module(
        xla_client.XlaComputation(module.to_proto())
    )
    devices = xla_client.DeviceList(tuple(jax.local_devices()[:1]))

    def compile_once() -> None:
        try:
            jax.local_devices()[0].client.compile_and_load(
                stablehlo, devices, xla_client.CompileOptions()
            )
        except Exception as error:
            if StopBeforeCodegenError.__name__ not in str(error):
                raise
        else:
            raise RuntimeError("the compile was not stopped before code generation")

    stage = xla.PipelineStage.PRE_SCHEDULER
    xla.register_hlo_module_transformation(stop, name="stop", stage=stage, platforms="cpu")
    try:
        return median_ms(compile_once, repeats=3)
    finally:
        xla.clear_hlo_module_transformation(name="stop", stage=stage, platforms="cpu")


def environment_table() -> Table:
    """Times environment steps against the passes alone and against jaxlib."""
    table = Table(title="environment steps (random passes, no cost analysis)")
    for column in ("benchmark", "ops", "observation", "pass alone ms", "env step ms", "ratio",
                   "over the pass µs", "jaxlib compile ms", "compile / step"):  # fmt: skip
        table.add_column(column, justify="left" if column == "benchmark" else "right")
    for size in SIZES:
        benchmark = nearest_benchmark(size)
        module = benchmark.load()
        compiled = compile_ms(module)
        for observation in ("op_counts", "graph"):
            pairs = [step_times(module, observation, seed) for seed in range(7)]
            env = statistics.median(pair[0] for pair in pairs) / STEPS * 1e3
            alone = statistics.median(pair[1] for pair in pairs) / STEPS * 1e3
            ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
            table.add_row(
                benchmark.name, str(benchmark.op_count), observation, f"{alone:.3f}", f"{env:.3f}",
                f"{ratio:.2f}", f"{(env - alone) * 1e3:.0f}", f"{compiled:.0f}",
                f"{compiled / env:.0f}",
            )  # fmt: skip
    return table


def graph_table() -> Table:
    """Times parsing and graphs against XLA's parser."""
    import torch_geometric.data  # noqa: F401  its import is not what is timed

    table = Table(title="graphs (ms)")
    for column in ("benchmark", "ops", "KB", "XLA parse", "parse", "ratio", "graph walk",
                   "graph observation", "to_pyg", "fingerprint", "clone"):  # fmt: skip
        table.add_column(column, justify="left" if column == "benchmark" else "right")
    for size in SIZES:
        benchmark = nearest_benchmark(size)
        module = benchmark.load()
        text = module.to_text()
        graph = module.graph()
        xla, ours = [], []
        for _ in range(7):
            xla.append(median_ms(functools.partial(Module.from_text, text), 1))
            ours.append(median_ms(functools.partial(hlograph.parse, text), 1))

        changed = module.clone()
        changed.run(hlograph.pipelines["xla-simplify"])
        table.add_row(
            benchmark.name, str(benchmark.op_count), f"{len(text) / 1e3:.0f}",
            f"{statistics.median(xla):.2f}", f"{statistics.median(ours):.2f}",
            f"{statistics.median(b / a for a, b in zip(xla, ours, strict=True)):.2f}",
            f"{median_ms(module.graph):.2f}",
            f"{median_ms(functools.partial(observe, module)):.2f}",
            f"{median_ms(graph.to_pyg):.2f}", f"{fingerprint_ms(text):.3f}",
            f"{median_ms(changed.clone):.2f}",
        )  # fmt: skip
    return table


def observe(module: Module) -> None:
    """Makes the graph observation of a module."""
    graph = module.graph()
    node_features(graph)
    edge_features(graph)


def fingerprint_ms(text: str, repeats: int = 7) -> float:
    """Returns the median time of a first fingerprint (later ones are cached)."""
    fresh = [Module.from_text(text) for _ in range(repeats)]
    modules = iter(fresh)
    return median_ms(lambda: next(modules).fingerprint(), repeats)


def chain(instructions: int) -> str:
    """Returns the text of a module of so many instructions, in layers of eight."""
    lines = ["HloModule chain", "ENTRY e {", "  x0 = f32[8,8] parameter(0)"]
    for index in range(1, instructions - 1):
        operand = max(0, index - 1 - index % 8)
        opcode = ("add", "multiply", "maximum", "subtract")[index % 4]
        lines.append(f"  x{index} = f32[8,8] {opcode}(x{index - 1}, x{operand})")
    lines += [f"  ROOT r = f32[8,8] tanh(x{instructions - 2})", "}"]
    return "\n".join(lines)


def growth_table(largest: int) -> Table:
    """Times synthetic modules of growing size and fits exponents."""
    sizes = [10**power for power in range(3, 8) if 10**power <= largest]
    calls: dict[str, Callable[[str, Module], object]] = {
        "XLA parse": lambda text, module: Module.from_text(text),
        "parse": lambda text, module: hlograph.parse(text),
        "graph": lambda text, module: module.graph(),
        "to_pyg": lambda text, module: module.graph().to_pyg(),
        "node features": lambda text, module: node_features(module.graph()),
        "clone": lambda text, module: module.clone(),
        "dce": lambda text, module: module.run("dce"),
    }
    table = Table(title="growth on synthetic modules (ms), exponent fitted")
    for column in ("call", *(f"{size:,}" for size in sizes), "exponent"):
        table.add_column(column, justify="left" if column == "call" else "right")
    times: dict[str, list[float]] = {name: [] for name in [*calls, "fingerprint"]}
    for size in sizes:
        text = chain(size)
        module = Module.from_text(text)
        module.run("dce")
        repeats = 5 if size <= 10_000 else 2
        for name, call in calls.items():
            times[name].append(median_ms(functools.partial(call, text, module), repeats))
        times["fingerprint"].append(fingerprint_ms(text, 1))
        gc.collect()
    for name, row in times.items():
        exponent = np.polyfit(np.log(sizes), np.log(row), 1)[0]
        table.add_row(name, *(f"{value:.2f}" for value in row), f"{exponent:.2f}")
    return table


def threads_ratio() -> float:
    """Returns the speed of two threads on two modules over one thread on both."""
    module = nearest_benchmark(1_000).load()

    def work(rounds: int) -> None:
        for _ in range(rounds):
            module.clone().run(hlograph.pipelines["xla-cpu"])

    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        work(6)
        middle = time.perf_counter()
        threads = [threading.Thread(target=work, args=(3,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    return statistics.median(ratios)


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--growth", type=int, default=100_000, help="largest synthetic module")
    options = parser.parse_args()
    console = Console(width=180)
    console.print(environment_table())
    console.print(graph_table())
    console.print(growth_table(options.growth))
    console.print(f"two threads on two modules, over one thread on both: {threads_ratio():.2f}")


if __name__ == "__main__":
    main()
