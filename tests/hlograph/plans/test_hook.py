"""The hook: compilations of other threads, errors, and JAX's compilation cache."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlograph.plans import Placement, PlanError
from hlograph.plans.hook import editing
from hlograph.plans.placing.placements import placements_of
from tests.hlograph.plans import functions as f

PROGRAM = """
import sys, jax, jax.numpy as jnp
from hlograph.plans import Placement, Plan, compile_lowered
from hlograph.plans.compiling import optimized_module
from hlograph.plans.jaxlib_modules import fingerprint
from hlograph.plans.placing.placements import placements_of
from hlograph.plans import Program
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
lowered = jax.jit(lambda x: jnp.sin(x) * jnp.exp(x)).lower(jnp.ones((256, 256)))
proto = optimized_module(Program.of(lowered))
name = next(one.instruction for one in placements_of(proto) if one.decision == "partitions")
plan = Plan(placements=(Placement(name, "partitions", "8"),), placed=fingerprint(proto))
for one in (Plan(), plan):
    hits.clear()
    compiled = compile_lowered(lowered, one)
    hit = "/jax/compilation_cache/cache_hits" in hits
    print('partitions":["8"]' in compiled.as_text(), hit)
"""


def test_the_cache_never_mixes_planned_and_other_executables(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for hit in (False, True):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:2] == [f"False {hit}", f"True {hit}"]


def test_other_threads_compile_while_plans_are_compiled() -> None:
    stop, count = threading.Event(), [0]

    def others(number: int) -> None:
        while not stop.is_set():
            count[0] += 1
            factor = number * 1000 + count[0]
            compiled = jax.jit(lambda x, k=factor: x * k).lower(jnp.ones(8)).compile()
            np.testing.assert_allclose(compiled(jnp.ones(8)), factor)

    def plans(number: int) -> None:
        x = f.array(64, 64)
        lowered = jax.jit(lambda x: f.waves(x) + number).lower(x)
        for one in placements_of(f.program_of(lowered)[0])[:3]:
            f.assert_same(f.planned(lowered, one)(x), f.waves(x) + number)

    with ThreadPoolExecutor(5) as pool:
        running = [pool.submit(others, number) for number in range(2)]
        for one in [pool.submit(plans, number % 2) for number in range(3)]:
            one.result()
        stop.set()
        for one in running:
            one.result()
    assert count[0] > 3


def test_an_edit_that_fails_does_not_fail_other_compilations() -> None:
    def edit(proto: bytes) -> bytes:
        raise ZeroDivisionError("in the edit")

    def function_with_a_failing_edit(x: jax.Array) -> jax.Array:
        return x + 42

    def compile_both() -> None:
        with editing("jit_function_with_a_failing_edit", edit) as waiting:
            jax.jit(lambda x: x + 41).lower(jnp.ones(3)).compile()
            assert not waiting.seen
            compiled = jax.jit(function_with_a_failing_edit).lower(jnp.ones(3)).compile()
            assert waiting.seen
            np.testing.assert_array_equal(compiled(jnp.ones(3)), 43)

    with pytest.raises(PlanError, match="in the edit"):
        compile_both()


def test_a_failed_plan_leaves_the_name_free() -> None:
    lowered = jax.jit(f.waves).lower(f.array(32, 32))
    for _ in range(3):
        with pytest.raises(PlanError):
            f.planned(lowered, Placement("nobody", "unfuse"))
