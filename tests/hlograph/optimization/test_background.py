"""``hlograph.optimize`` in the background: what the program sees of a search beside it."""

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import psutil
import pytest

import hlograph
from hlograph.decisions import searches
from hlograph.errors import HloError, UnknownNameError, WorkerLostError
from hlograph.measuring.implementations import plain_plan
from hlograph.optimization import SearchSettings, Store, background
from hlograph.optimization.background import BackgroundSearch
from hlograph.optimization.cache import EARLIER_VERSION, CacheKey
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import Listed, register
from hlograph.plans import Plan, PlanError, compile_lowered
from tests.hlograph.optimization import background_reports as reports
from tests.hlograph.optimization import proposals
from tests.hlograph.optimization.small_job import HERE, X, small_function, small_job

ROOT = Path(__file__).parents[3]
NARROW, WIDE, _ = proposals.WIDTHS
LONG = 120  # seconds; no test takes them


@pytest.fixture(autouse=True, scope="module")
def single_workers():
    """Takes the place of the fixture of that name: a first stage asks for plans side by side."""


@pytest.fixture(autouse=True)
def no_search_is_left():
    yield
    background._end_all()


def _following(search, *args):
    """Returns a function that follows a search of one stage, of ``background_reports``."""
    return _following_stages(functools.partial(search, *args))


def _following_stages(*stages):
    jit = jax.jit(small_function)
    lowering = jit.lower(X)

    def compile_plan(plan):
        return None if plan.is_empty else compile_lowered(lowering, plan)

    function = OptimizedFunction(jit, None, reports.report(Plan()))
    BackgroundSearch(stages, compile_plan).start(function)
    return function


def _wait_for(condition, every=0.02):
    end = time.monotonic() + LONG
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(every)
    return found


def _ended(pids):
    processes = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(processes, timeout=20)[1]


def _pid(folder, name):
    file = folder / f"{name} begun"
    return int(_wait_for(lambda: file.exists() and file.read_text()))


def test_a_search_in_the_background(cache):
    fast = hlograph.optimize(
        small_function, X, budget=1, methods=[f"{HERE}:widths"], background=True
    )
    assert "until a search in the background" in fast.report.conclusion
    while not fast.wait(0.5):  # the program goes on
        np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    assert fast.error is None
    assert "background" not in fast.report.conclusion
    assert fast.report.outcomes
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    assert Measurements(CacheKey.of(small_job())).read() == list(fast.report.outcomes)
    # The next program finds the plan in the store, and has nothing to search for.
    again = hlograph.optimize(small_function, X, background=True)
    assert again.wait(0)
    assert again.report.from_store
    assert again.plan == fast.plan


def test_the_function_runs_by_the_stored_plan_while_a_search_goes_further():
    plan = Plan("jit_small_function", flags=NARROW.flags)
    Store().put(CacheKey.of(small_job()), plan)
    fast = hlograph.optimize(small_function, X, background=True, search_further=True, methods=[])
    assert fast.plan == plan
    fast.close()
    assert fast.wait(LONG)
    assert fast.plan == plan
    assert fast.error is None


def test_a_stored_plan_that_cannot_be_carried_out_is_no_obstacle():
    Store().put(CacheKey.of(small_job()), reports.BROKEN)
    fast = hlograph.optimize(small_function, X, background=True, methods=[])
    assert fast.plan.is_empty
    assert not fast.report.from_store
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    fast.close()


def test_the_function_runs_by_the_last_report():
    fast = _following(reports.found, (NARROW, WIDE))
    assert fast.wait(LONG)
    assert fast.plan == WIDE
    assert fast.report.conclusion == f"found {WIDE.digest}"
    assert fast.error is None
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    with pytest.warns(UserWarning, match="other shapes"):
        np.testing.assert_allclose(fast(X[:4, :4]), small_function(X[:4, :4]), rtol=1e-5)
    jits = _following(reports.found, (NARROW, Plan()))
    assert jits.wait(LONG)
    assert jits.plan.is_empty
    jits(X[:4, :4])  # as jit, there is nothing to warn of


def test_an_early_report_is_used_while_the_search_goes_on(tmp_path):
    fast = _following(reports.waiting, tmp_path, "a")
    _wait_for(lambda: fast.plan == NARROW)
    assert not fast.wait(0)
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)
    (tmp_path / "a may end").touch()
    assert fast.wait(LONG)
    assert fast.plan == WIDE


def test_a_fork_of_the_program_has_no_search_to_wait_for(tmp_path):
    fast = _following(reports.waiting, tmp_path, "a")
    _pid(tmp_path, "a")
    child = os.fork()
    if not child:
        background._end_all()  # as at its exit
        for turns in background._TURNS:
            with turns:  # for ever, if a search of the program had its turn here
                pass
        os._exit(0 if fast.wait(0) else 1)
    try:
        assert psutil.Process(child).wait(20) == 0
    except psutil.TimeoutExpired:
        os.kill(child, signal.SIGKILL)
        raise
    assert not fast.wait(0)
    (tmp_path / "a may end").touch()
    assert fast.wait(LONG)


@pytest.mark.parametrize(
    ("search", "plans", "error", "stays"),
    [
        (reports.dying, (), WorkerLostError, NARROW),
        (reports.found, ((NARROW, reports.BROKEN),), HloError, NARROW),
        (reports.found, ((3,),), HloError, Plan()),
    ],
)
def test_a_search_that_fails_is_said_once(search, plans, error, stays):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fast = _following(search, *plans)
        assert fast.wait(LONG)
    assert ["search in the background failed" in str(one.message) for one in said] == [True]
    assert isinstance(fast.error, error)
    assert f"failed: {fast.error}" in str(fast.report)
    assert fast.plan == stays
    np.testing.assert_allclose(fast(X), small_function(X), rtol=1e-5)


def test_no_error_of_a_search_reaches_the_program_where_warnings_are_errors():
    fast = _following(reports.found, (reports.BROKEN,))  # they are, in this suite
    assert fast.wait(LONG)
    assert isinstance(fast.error, HloError)
    fast(X)


def test_wrong_arguments_are_errors_at_once(monkeypatch):
    monkeypatch.setitem(searches.SEARCHES, "plans", dict(searches.SEARCHES["plans"]))
    monkeypatch.setattr(searches, "_ADDED", set())
    register("own", lambda program, numerics: Listed(iter(())))
    wrong: tuple[tuple[dict[str, Any], type[HloError], str], ...] = (
        ({"budget": 0}, HloError, "budget"),
        ({"numerics": "nearly"}, PlanError, "numerics"),
        ({"methods": ["flgs"]}, UnknownNameError, "did you mean 'flags"),
        ({"methods": ["own"]}, HloError, "package.module:function"),
    )
    for more, error, words in wrong:
        with pytest.raises(error, match=words):
            hlograph.optimize(small_function, X, background=True, **more)
    assert not background._RUNNING


def test_searches_take_turns_and_can_be_closed(tmp_path):
    first = _following(reports.waiting, tmp_path, "first")
    pid = _pid(tmp_path, "first")
    second = _following(reports.waiting, tmp_path, "second")
    third = _following(reports.waiting, tmp_path, "third")
    assert not second.wait(0.2)
    second.close()
    assert second.wait(LONG)
    _wait_for(lambda: first.plan == NARROW)
    first.close()
    assert first.wait(LONG)
    assert _ended([pid])
    assert first.plan == NARROW
    _pid(tmp_path, "third")
    assert not (tmp_path / "second begun").exists()
    third.close()
    assert third.wait(LONG)
    assert {one.error for one in (first, second, third)} == {None}


def test_turns_are_given_in_the_order_in_which_threads_ask():
    turns, order = background._Turns(), []

    def take(number):
        with turns:
            order.append(number)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    with turns:
        for number, thread in enumerate(threads):
            thread.start()
            _wait_for(lambda waiting=number + 2: len(turns._threads) == waiting)
    for thread in threads:
        thread.join()
    assert order == list(range(8))


def test_a_function_that_is_dropped_ends_its_search(tmp_path):
    functions = [_following(reports.waiting, tmp_path, "a")]
    pid = _pid(tmp_path, "a")
    _wait_for(lambda: functions[0].plan == NARROW)
    functions.clear()
    gc.collect()
    assert _ended([pid])
    _wait_for(lambda: not background._RUNNING)


def test_arguments_may_change_after_the_call():
    values = np.ones(4)
    search = BackgroundSearch([functools.partial(reports.told, values)], lambda plan: None)
    values[:] = 2
    function = OptimizedFunction(jax.jit(small_function), None, reports.report(Plan()))
    search.start(function)
    assert function.wait(LONG)
    assert function.report.conclusion == "4.0"


def test_a_search_begins_with_the_recipe_of_an_earlier_version():
    job, store = small_job(), Store()
    store.put_recipe(job, Plan(job.program.name, job.program.fingerprint, flags=NARROW.flags))
    settings = SearchSettings(1, (), store, progress=False)
    (first,) = background.first_stage(job, settings, 0.0)
    (last,) = background.whole_search(job, settings, first.seconds)
    screened = [outcome for outcome in last.outcomes if not outcome.thorough]
    plain = plain_plan(job.program).method
    assert sorted(outcome.plan.method for outcome in screened) == [EARLIER_VERSION, plain]
    assert last.before == len(first.outcomes)
    assert "search goes on" in first.conclusion


@pytest.mark.parametrize(
    ("methods", "tried"), [(None, True), (("recipes", "flags"), True), (("flags",), False)]
)
def test_a_search_begins_with_the_recipes_of_the_package(methods, tried):
    settings = SearchSettings(1, methods, progress=False)
    (report,) = background.first_stage(small_job(), settings, 0.0)
    plain = plain_plan(small_job().program).method
    screened = {outcome.plan.method for outcome in report.outcomes if not outcome.thorough}
    screened -= {plain}
    assert bool(screened) == tried
    assert all(method.startswith("recipes: ") for method in screened)


@pytest.mark.parametrize(
    ("budget", "methods", "begins"),
    [(60, None, True), (60, ("flags",), False), (2, None, False), (2, ("recipes",), False)],
)
def test_a_short_search_has_no_first_stage(budget, methods, begins):
    settings = SearchSettings(budget, methods, progress=False)
    assert background._has_first_stage(small_job(), settings) == begins


def test_first_stages_do_not_wait_for_a_whole_search(tmp_path):
    first = _following_stages(
        functools.partial(reports.found, (NARROW,)),
        functools.partial(reports.waiting, tmp_path, "first"),
    )
    _pid(tmp_path, "first")
    second = _following_stages(
        functools.partial(reports.found, (WIDE,)),
        functools.partial(reports.waiting, tmp_path, "second"),
    )
    _wait_for(lambda: second.plan == WIDE)
    assert not second.wait(0.2)
    assert not (tmp_path / "second begun").exists()  # whole searches take turns
    (tmp_path / "first may end").touch()
    assert first.wait(LONG)
    _pid(tmp_path, "second")
    second.close()
    assert second.wait(LONG)
    assert (first.error, second.error) == (None, None)


def test_a_stage_is_told_what_others_have_taken():
    fast = _following_stages(reports.spending, reports.spending)
    assert fast.wait(LONG)
    assert fast.report.conclusion == "7.0 s are over"


_SCRIPT = """
import sys
import jax, jax.numpy as jnp
import hlograph
x = jnp.ones((8, 8))
fast = hlograph.optimize(
    lambda x: jnp.tanh(x @ x), x, budget=1000, methods=["{here}:endless"], background=True
)
print("begun", flush=True)
try:
    fast.wait()
except KeyboardInterrupt:
    print("interrupted", fast.wait(0), flush=True)
sys.stdin.readline()
assert fast(x).shape == (8, 8)
"""


def _start():
    """Starts a script, and returns it and its descendants when workers of the search run."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script = subprocess.Popen(
        [sys.executable, "-c", code + _SCRIPT.format(here=HERE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert script.stdout is not None
    assert script.stdout.readline() == "begun\n"
    program = psutil.Process(script.pid)
    # To list children takes milliseconds, which the search, of a low priority, would wait for.
    (search,) = _wait_for(lambda: [c for c in program.children() if _is_search(c)], every=0.2)
    # Two are of multiprocessing.
    _wait_for(lambda: len(search.children(recursive=True)) >= 4, every=0.2)
    return script, [one.pid for one in program.children(recursive=True)]


def _is_search(process):
    return any("side_process" in word for word in process.cmdline())


def test_ctrl_c_is_the_programs_and_its_end_ends_the_search():
    script, pids = _start()
    group = os.getpgid(script.pid)
    for pid in pids:  # the terminal interrupts a group
        if os.getpgid(pid) == group:
            os.kill(pid, signal.SIGINT)
    script.send_signal(signal.SIGINT)
    assert script.stdout is not None
    assert script.stdout.readline() == "interrupted False\n"
    out, err = script.communicate("\n", timeout=LONG)
    assert (script.returncode, out, err) == (0, "", "")
    assert _ended(pids)


@pytest.mark.slow
def test_a_program_that_is_killed_leaves_no_process():
    script, pids = _start()
    script.kill()
    _, err = script.communicate(timeout=LONG)
    assert _ended(pids)
    # The server of multiprocessing says so if the program ends while it asks for a process.
    assert err == "" or err.endswith("raise EOFError\nEOFError\n")
