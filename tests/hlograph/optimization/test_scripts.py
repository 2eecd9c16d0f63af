"""Programs that call ``hlograph.optimize`` and are interrupted, killed, or badly written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
_CODE = """
import jax, jax.numpy as jnp, hlograph
x = jnp.ones((8, 8))
fast = hlograph.optimize(
    lambda x: jnp.tanh(x @ x), x, budget={budget}, methods=["{here}:{method}"], progress=False
)
assert fast(x).shape == (8, 8)
print(len(fast.report.outcomes), fast.report.conclusion, flush=True)
"""
_HERE = "tests.hlograph.optimization.proposals"


# A shell without a terminal starts what runs in its background with Ctrl-C ignored.
_INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def _start(tmp_path, budget, method, stdin=False, more=""):
    code = _INTERRUPTIBLE + more + _CODE.format(budget=budget, method=method, here=_HERE)
    (tmp_path / "script.py").write_text(code)
    process = subprocess.Popen(
        [sys.executable, "-" if stdin else str(tmp_path / "script.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )
    if stdin:
        assert process.stdin is not None
        process.stdin.write(code)
        process.stdin.close()
        process.stdin = None
    return process


def _wait_for_outcomes(cache, process, number):
    for _ in range(1200):
        lines = [
            line
            for path in cache.glob("measurements/*.jsonl")
            for line in path.read_text().splitlines()
            if line
        ]
        if len(lines) >= number:
            return lines
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no outcomes within a minute")


def _children_end(children):
    _, alive = psutil.wait_procs(children, timeout=20)
    return not alive


@pytest.mark.slow
def test_a_script_from_standard_input_without_a_guard(tmp_path):
    process = _start(tmp_path, 1, "widths", stdin=True)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 1, out
    assert err == ""


def test_ctrl_c_ends_the_search_and_the_program_goes_on(tmp_path, cache):
    process = _start(tmp_path, 1000, "endless")
    measured = len(_wait_for_outcomes(cache, process, 2))
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    for one in (process, *children):  # as the terminal does
        one.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert int(out.split()[0]) >= measured
    assert "ended by the user" in out
    assert "ended by Ctrl-C" in err
    assert "Traceback" not in err
    assert _children_end(children)


@pytest.mark.slow
def test_ctrl_c_while_workers_start(tmp_path):
    more = "import os, signal, threading\n"
    more += "threading.Timer({}, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
    code = "import hlograph.optimization.optimizing, hlograph.measuring.worker, jax\n"
    process = _start(tmp_path, 1000, "endless", more=code + more.format(1.5))
    out, err = process.communicate(timeout=120)
    if process.returncode:  # before the search, as anywhere in a program
        assert err.rstrip().endswith("KeyboardInterrupt")
    else:
        assert "ended by the user" in out


def test_a_program_whose_plan_is_stored_starts_no_processes(tmp_path, cache):
    more = "import atexit\nfrom multiprocessing import forkserver\n"
    more += "atexit.register(lambda: print(forkserver._forkserver._forkserver_pid))\n"
    servers = []
    for _ in range(2):
        process = _start(tmp_path, 1, "widths", more=more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        servers.append(out.splitlines()[-1])
    assert servers[0].isdigit()
    assert servers[1] == "None"


def test_a_search_that_is_killed_goes_on_in_the_next_program(tmp_path, cache):
    process = _start(tmp_path, 1000, "endless")
    _wait_for_outcomes(cache, process, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    assert _children_end(children)
    before = _wait_for_outcomes(cache, process, 2)
    process = _start(tmp_path, 1, "endless")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 1, out  # workers did not run the script, which has no guard
    assert err == ""
    assert int(out.split()[0]) > len(before)
    lines = _wait_for_outcomes(cache, process, len(before) + 1)
    assert lines[: len(before)] == before  # nothing of what was measured is lost
    screened = [one["plan"] for one in map(json.loads, lines) if "thorough" not in one]
    assert len(screened) == len({json.dumps(plan) for plan in screened})
    assert len(list(cache.glob("plans/*.json"))) == 2  # for the engine, and without it
