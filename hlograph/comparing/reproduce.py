"""Compiles, runs and times a module beside this file, in the jaxlib of the Python that runs it.

    /path/to/python reproduce.py before_optimizations.hlo

It needs jax, jaxlib and numpy alone. Compare what two versions print.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend import backend
from jax.extend.mlir import hlo_to_stablehlo
from jaxlib import _hlo, xla_client  # pyright: ignore[reportAttributeAccessIssue]

HERE = Path(__file__).resolve().parent
RUNS, LEAST_SECONDS = 50, 0.01


def compiled(path: Path) -> Any:
    """Returns the executable of a file with HLO text before XLA's optimizations."""
    module = _hlo.hlo_module_from_text(path.read_text())
    bytecode = hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    client = backend.get_backend("cpu")
    device = client.local_devices()[0]
    options = backend.get_compile_options(
        num_replicas=1, num_partitions=1, device_assignment=[[device.id]], backend=client
    )
    return client.compile_and_load(bytecode, xla_client.DeviceList((device,)), options)


def arrays_of(path: Path, types: list[str]) -> list[np.ndarray]:
    """Returns the arrays of a file; ml_dtypes has the types that numpy lacks."""
    import ml_dtypes  # a requirement of jax

    with np.load(path) as stored:
        arrays = [stored[f"a{number}"] for number in range(len(types))]
    dtypes = [np.dtype(getattr(ml_dtypes, name, name)) for name in types]
    return [array.view(dtype) for array, dtype in zip(arrays, dtypes, strict=True)]


def call(executable: Any, inputs: list[Any]) -> list[Any]:
    """Runs the executable once, and waits for its outputs."""
    shards = executable.execute_sharded(inputs).disassemble_into_single_device_arrays()
    return [each[0].block_until_ready() for each in shards]


def main() -> None:
    """Prints the versions, the time of a run, and how far the outputs are from both stored ones."""
    case = json.loads((HERE / "case.json").read_text())
    executable = compiled(HERE / sys.argv[1])
    with jax.enable_x64(True):
        inputs = [
            jax.device_put(each, jax.devices("cpu")[0])
            for each in arrays_of(HERE / "inputs.npz", case["inputs"])
        ]
    begun = time.perf_counter()
    outputs = [np.asarray(each) for each in call(executable, inputs)]
    calls = max(1, int(LEAST_SECONDS / (time.perf_counter() - begun)))
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        for _ in range(calls):
            call(executable, inputs)
        times.append((time.perf_counter() - begun) / calls)
    low, median, high = np.quantile(times, (0.25, 0.5, 0.75)) * 1e6
    python = sys.version.split()[0]
    print(f"Python {python}, jax {jax.__version__}, jaxlib {version('jaxlib')}")
    print(f"{median:.2f} µs a run (quartiles {low:.2f} to {high:.2f})")
    for side in ("this", "other"):
        apart = 0.0
        stored = arrays_of(HERE / f"outputs_{side}.npz", case["outputs"])
        for mine, theirs in zip(outputs, stored, strict=True):
            difference = np.abs(mine.astype(np.complex128) - theirs.astype(np.complex128))
            apart = max(apart, float(np.nan_to_num(difference).max(initial=0.0)))
        print(f"largest difference to outputs_{side}.npz: {apart:.3g}")


if __name__ == "__main__":
    main()
