"""Processes beside a program have its setting: environment, CPUs, client of jax, allocator."""

import json
import os
import subprocess
import sys

_IMPORTS = """
import json, os, jax
from hlograph.execution.process_memory import keep_freed_memory
from tests.hlograph.isolation import setting_probe as probe
"""


def _seen(program, **environment):
    """Returns what the processes of a program see; its last line makes a list of that."""
    *before, last = [line.strip() for line in program.strip().splitlines()]
    code = "\n".join((*before, f"print(json.dumps({last}))"))
    run = subprocess.run(
        [sys.executable, "-c", _IMPORTS + code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_settings_of_the_environment_the_program_began_with():
    flags = "--xla_force_host_platform_device_count=3"
    given = {"XLA_FLAGS": flags, "HLOGRAPH_PROBE": "1", "MALLOC_ARENA_MAX": "2"}
    program = """
        os.environ["MALLOC_ARENA_MAX"] = "1"  # the C library has read it at the start
        os.environ["MALLOC_TOP_PAD_"] = "1048576"
        [probe.seen(), probe.seen_by_worker(), *probe.seen_by_side_process()]
    """
    program, worker, side, nested = _seen(program, **given)
    assert program["devices"] == 3
    assert program["environment"]["HLOGRAPH_PROBE"] == "1"
    assert program["malloc"] == ["MALLOC_ARENA_MAX=2"]
    assert worker == side == nested == program


def test_settings_that_were_changed_after_the_server_of_workers_had_started():
    program = """
        before = probe.seen_by_worker()
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.environ["HLOGRAPH_PROBE"] = "changed"
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        jax.config.update("jax_num_cpu_devices", 2)
        keep_freed_memory()
        [before, probe.seen(), probe.seen_by_worker(), *probe.seen_by_side_process()]
    """
    before, program, worker, side, nested = _seen(program, HLOGRAPH_PROBE="begun")
    assert before["environment"]["HLOGRAPH_PROBE"] == "begun"
    assert before["devices"] == 1
    assert before["async"]
    assert not before["keeps"]
    assert program["environment"]["HLOGRAPH_PROBE"] == "changed"
    assert program["devices"] == 2
    assert len(program["cpus"]) == 1
    assert program["keeps"]  # the C library of the tests is glibc
    assert worker == side == nested == program
