"""Stores of plans, and what a search does with the plan that it finds in one."""

import hashlib
import json
import logging
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.errors import HloError
from hlograph.measuring.trial import Job, PlanMeasurement
from hlograph.measuring.verification import Checks
from hlograph.optimization import Store, optimizing
from hlograph.optimization import measurements as optimization_measurements
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.optimizing import fitting, stored_plan
from hlograph.plans import Measured, Plan, Program
from hlograph.storage.machine import machine
from tests.hlograph.optimization.small_job import HERE, X, small_function, small_job


@pytest.mark.parametrize("where", ["folder", "memory"])
def test_store(where, tmp_path):
    store = Store(tmp_path / "plans" if where == "folder" else "memory://plans-of-tests")
    job = small_job()
    program, key = job.program, CacheKey.of(job)
    plan = Plan(program.name, program.fingerprint, flags={"xla_cpu_prefer_vector_width": 128})
    assert store.get(key) is None
    store.put(key, plan)
    assert store.get(key) == plan
    fast = hlograph.optimize(small_function, X, budget=1, methods=[], store=store)
    assert fast.report.from_store
    assert fast.plan == plan


def test_a_search_puts_its_plan_into_the_store_that_it_is_given():
    store = Store("memory://plans-of-a-search")
    fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"], store=store)
    assert hlograph.optimize(small_function, X, store=store).plan == fast.plan


def test_a_stored_plan_that_does_not_fit_is_no_obstacle(cache):
    job = small_job()
    store = Store()
    assert fitting(job, Plan(fingerprint="of another")) is None
    assert fitting(job, Plan(flags={"xla_cpu_enable_fast_math": True})) is None
    store.put(CacheKey.of(job), Plan(steps=("no-such-pass",)))
    fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"])
    assert not fast.report.from_store
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    (cache / "plans" / f"{CacheKey.of(job)}.plan.json").write_text("{")
    assert store.get(CacheKey.of(job)) is None


def test_a_stored_plan_that_was_refused_on_these_inputs_is_not_used_with_them(cache):
    job = small_job()
    plan = Plan(
        job.program.name, job.program.fingerprint, flags={"xla_cpu_prefer_vector_width": 128}
    )
    Store().put(CacheKey.of(job), plan)
    checks = Checks(False, "different", "on given inputs", ("given",))
    refused = PlanMeasurement(plan, True, checks=checks, error="outputs are different")
    Measurements(CacheKey.of(job), given=job.given).add(refused)
    fast = hlograph.optimize(small_function, X, budget=0.1, methods=f"{HERE}:silent")
    assert fast.plan.is_empty
    assert not fast.report.from_store
    other = hlograph.optimize(small_function, X + 1, budget=0.1, methods=f"{HERE}:silent")
    assert other.plan == plan


def test_a_stored_plan_is_compared_again_after_an_update_of_hlograph(cache, monkeypatch):
    job, store = small_job(), Store()
    key, name = CacheKey.of(job), (job.program.name, job.program.fingerprint)
    flags = Plan(*name, flags={"xla_cpu_prefer_vector_width": 128})
    steps = Plan(*name, steps=("dce",))
    for plan in (flags, steps):
        store.put(key, plan)
        assert store.get(key) == stored_plan(job, store).plan == plan
        assert store.outdated(key) is None
    monkeypatch.setattr(optimization_measurements, "rules_digest", lambda: "of another extension")
    assert store.get(key) is stored_plan(job, store).plan is None
    assert store.outdated(key) == steps
    fast = hlograph.optimize(small_function, X, budget=0.1, methods=f"{HERE}:silent")
    assert not fast.report.from_store
    # Beside the plain reference, in any order.
    assert steps.digest in {outcome.plan.digest for outcome in fast.report.outcomes}
    store.put(key, steps)
    assert store.get(key) == steps
    store.put(key, flags)
    monkeypatch.undo()
    assert store.get(key) == flags  # jaxlib alone carries it out
    path = cache / "plans" / f"{key}.plan.json"
    path.write_text(steps.to_json())  # as before stores knew of rules
    assert store.outdated(key) == steps


def test_a_store_that_cannot_be_written_costs_the_store_alone(cache):
    cache.write_text("a file where a folder should be")
    with pytest.warns(UserWarning, match="cannot") as found:
        fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"])
    assert len(found) == 2  # measurements, store
    assert fast.report.outcomes


def test_a_search_without_any_time_is_not_stored(cache):
    fast = hlograph.optimize(small_function, X, budget=1, methods=[])
    assert fast.plan.is_empty
    assert not (cache / "plans").exists()


def test_keys():
    key = CacheKey.of(small_job())
    assert key == CacheKey.of(small_job())
    assert key != CacheKey.of(small_job(numerics="exact"))
    assert key != CacheKey.of(small_job(jnp.sin))
    donating = jax.jit(small_function, donate_argnums=0).lower(X)
    assert key != CacheKey.of(Job(Program.of(donating)))


def test_a_key_says_in_which_part_another_one_differs(cache, caplog):
    key, exact = CacheKey.of(small_job()), CacheKey.of(small_job(numerics="exact"))
    assert list(key.parts) == ["program", "numerics", "machine"]
    assert key.differences(key) == []
    assert key.differences(exact) == ["numerics"]
    assert key.differences(CacheKey.of(small_job(jnp.sin))) == ["program"]
    Store().put(exact, Plan())
    Store().put(CacheKey.of(small_job(jnp.sin)), Plan())
    with caplog.at_level(logging.DEBUG, "hlograph.cache"):
        assert Store().get(key) is None
    assert [record.getMessage() for record in caplog.records] == [
        f"{key}: not used: another numerics: {exact}"
    ]


def test_a_plan_that_an_earlier_version_of_hlograph_has_stored_is_used(cache, monkeypatch):
    monkeypatch.setattr(optimizing, "refusal_here", lambda job, plan: "")  # see test_first_use.py
    job = small_job()
    flags = {"xla_cpu_optimize_for_size": True}
    plan = Plan(job.program.name, job.program.fingerprint, flags=flags)
    measured = Measured(2.0, 1.0, 2.0, 1.9, 2.1, 1.0, 60)
    content = json.loads(plan.measured_at(measured).to_json()) | {"rules": ""}
    # The name as it was made before keys had parts.
    program = hashlib.sha256(f"{job.program.fingerprint} ".encode()).hexdigest()[:24]
    folder = cache / "plans"
    folder.mkdir(parents=True)
    (folder / f"{program}-close-{machine().key}.plan.json").write_text(json.dumps(content))
    fast = hlograph.optimize(small_function, X)
    assert fast.report.from_store
    assert fast.plan == plan.measured_at(measured)
    # So are its measurements.
    line = {"plan": {"flags": {"xla_cpu_prefer_vector_width": 128}}, "error": "no", "when": 1.5}
    folder = cache / "measurements"
    folder.mkdir()
    (folder / f"{program}-close-{machine().key}.jsonl").write_text(json.dumps(line) + "\n")
    (outcome,) = Measurements(CacheKey.of(job), given=job.given).read()
    assert (outcome.plan.flags, outcome.error, outcome.when) == (line["plan"]["flags"], "no", 1.5)


def test_a_store_says_its_size_and_removes_what_was_not_used_for_long(tmp_path, monkeypatch):
    store = Store(tmp_path)
    for number in range(3):
        store.put(f"key{number}", Plan("program"))
        os.utime(tmp_path / f"key{number}.plan.json", (number, number))
    size = store.size // 3
    assert size == (tmp_path / "key0.plan.json").stat().st_size
    assert store.get("key0") is not None  # it is in use
    own = tmp_path / "weights.bin"  # of the user, who chose this folder
    own.write_bytes(bytes(10 * size))
    os.utime(own, (0, 0))
    monkeypatch.setenv("HLOGRAPH_CACHE_MB", str(3.5 * size / 1e6))
    store.put("key3", Plan("program"))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        *(f"key{number}.plan.json" for number in (0, 2, 3)),
        own.name,
    ]
    monkeypatch.setenv("HLOGRAPH_CACHE_MB", "1 GB")
    with pytest.raises(HloError, match="a number of MB in HLOGRAPH_CACHE_MB, got '1 GB'"):
        store.put("key4", Plan("program"))


def test_a_plan_is_found_without_the_engine(cache, tmp_path):
    job, store = small_job(), Store(tmp_path)
    fast = hlograph.optimize(small_function, X, budget=1, methods="flags", store=store)
    here, without_engine = CacheKey.all_of(job)
    assert here == CacheKey.of(job)
    assert store.get(without_engine) == fast.plan
    (tmp_path / f"{here}.plan.json").unlink()
    assert stored_plan(job, store).plan == fast.plan
