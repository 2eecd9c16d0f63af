"""A small checkout in NPBench's form, for tests."""

import json
from pathlib import Path

_BENCHMARK = """
import importlib, json, pathlib
class Benchmark:
    def __init__(self, name):
        root = pathlib.Path(__file__).parents[2]
        self.info = json.loads((root / "bench_info" / f"{name}.json").read_text())["benchmark"]
    def get_data(self, preset):
        data = dict(self.info["parameters"][preset])
        module = importlib.import_module(
            f"npbench.benchmarks.{self.info['relative_path']}.{self.info['module_name']}")
        outputs = module.initialize(*data.values())
        return data | dict(zip(self.info["init"]["output_args"], outputs))
"""
_UTILITIES = '''
import sqlite3
import numpy as np
def validate(ref, val, framework, rtol, atol, norm_error):
    for r, v in zip(ref, val):
        if not np.allclose(r, v, rtol=rtol, atol=atol):
            print("Relative error:", np.linalg.norm(r - v) / np.linalg.norm(r))
            return False
    return True
create_connection = sqlite3.connect
def create_table(connection, sql):
    connection.execute(sql)
def create_result(connection, sql, values):
    connection.execute(sql, values)
    connection.commit()
sql_create_results_table = """CREATE TABLE IF NOT EXISTS results (id integer PRIMARY KEY,
timestamp, benchmark, kind, domain, dwarf, preset, mode, framework, version, details, validated,
time)"""
sql_insert_into_results_table = """INSERT INTO results(timestamp, benchmark, kind, domain, dwarf,
preset, mode, framework, version, details, validated, time) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"""
'''
_INFO = {
    "name": "Scaled sums",
    "short_name": "sums",
    "relative_path": "sums",
    "module_name": "sums",
    "func_name": "sums",
    "kind": "microapp",
    "domain": "Other",
    "parameters": {"S": {"N": 64, "K": 3}},
    "init": {"func_name": "initialize", "input_args": ["N", "K"], "output_args": ["x", "y"]},
    "input_args": ["x", "y", "K"],
    "array_args": ["x", "y"],
    "output_args": ["y"],
}
_INITIALIZE = """
import numpy as np
def initialize(N, K):
    return np.arange(N * N, dtype=float).reshape(N, N) / N, np.zeros(N)
"""
_NUMPY = "def sums(x, y, K):\n    y[:] = (K * x).sum(axis=1)\n"
_JAX = """
import functools, jax
@functools.partial(jax.jit, static_argnums=2)
def sums(x, y, K):
    return y + sum(x.sum(axis=1) for _ in range(K))
"""
_NUMBA = """
import numba as nb
@nb.jit(nopython=True)
def sums(x, y, K):
    for i in range(x.shape[0]):
        y[i] = K * x[i].sum()
"""


def small_checkout(root: Path, *, jax: str = _JAX, name: str = "sums") -> Path:
    """Writes a checkout with one program, which scales an array and sums its rows.

    Args:
        root: Its folder.
        jax: Source of the version in JAX.
        name: Name of the program, which no other checkout of the process has: their modules are
            imported by it.
    """
    folder = root / "npbench" / "benchmarks" / name
    folder.mkdir(parents=True)
    (root / "npbench" / "infrastructure").mkdir()
    (root / "npbench" / "infrastructure" / "benchmark.py").write_text(_BENCHMARK)
    (root / "npbench" / "infrastructure" / "utilities.py").write_text(_UTILITIES)
    (root / "bench_info").mkdir()
    info = _INFO | {"relative_path": name}
    (root / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": info}))
    (root / "bench_info" / "without_jax.json").write_text(
        json.dumps({"benchmark": info | {"module_name": "other"}})
    )
    (folder / "sums.py").write_text(_INITIALIZE)
    for postfix, text in (("numpy", _NUMPY), ("jax", jax), ("numba_n", _NUMBA)):
        (folder / f"sums_{postfix}.py").write_text(text)
    return root
