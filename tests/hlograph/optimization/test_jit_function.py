"""``hlograph.jit``: which executable a call runs, seen in results that fast math changes.

With fast math XLA takes ``x * 0`` for 0, also where x is infinite.
"""

import copy
import functools
import gc
import pickle
import threading
import tracemalloc
import warnings
import weakref
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compiler

import hlograph
from hlograph.errors import HloError
from hlograph.measuring.trial import Job
from hlograph.optimization import Store, background, jit_planning
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.jit_planning import _ALLOWANCE
from hlograph.plans import Plan, Program
from hlograph.plans.mlir_modules import name_of

X = np.array([1.0, np.inf], np.float32)
LONGER = np.array([1.0, np.inf, np.inf], np.float32)
FAST = {
    "xla_cpu_enable_fast_math": True,
    "xla_cpu_fast_math_honor_nans": False,
    "xla_cpu_fast_math_honor_infs": False,
}


def times_zero(x):
    return x * 0 + 1


def times_zero_as(x, mode):
    return x * 0 + {"one": 1, "two": 2}[mode]


@hlograph.jit(numerics="fast", max_signatures=0)
def decorated(x):
    return x * 0 + 1


def _fast_plan(function, *args, **kwargs):
    jit = function if hasattr(function, "lower") else jax.jit(function)
    program = Program.of(jit.lower(*args, **kwargs))
    return Plan(program.name, program.fingerprint, flags=FAST, numerics="fast")


def _store_for(folder, function, *args, **kwargs):
    """Returns a store with a plan of fast math for the program of a call."""
    jit = function if hasattr(function, "lower") else jax.jit(function)
    job = Job(Program.of(jit.lower(*args, **kwargs)), None, "fast")
    store = Store(folder)
    store.put(CacheKey.of(job), _fast_plan(jit, *args, **kwargs))
    return store


def _is_planned(result):
    return bool(np.isfinite(np.asarray(result)).all())


@pytest.fixture
def jitted(tmp_path):
    """Returns ``hlograph.jit`` that searches for nothing, with a store in a folder of the test."""
    return functools.partial(hlograph.jit, numerics="fast", max_signatures=0, store=Store(tmp_path))


def test_the_first_call_runs_by_the_plan_of_the_store(jitted, tmp_path):
    _store_for(tmp_path, times_zero, X)
    function = jitted(times_zero)
    assert _is_planned(function(X))
    assert "from the store" in str(function.report)
    assert [plan.flags for plan in function.plans] == [FAST]


def test_without_a_plan_it_is_jax_jit(jitted):
    function = jitted(times_zero)
    np.testing.assert_array_equal(function(X), jax.jit(times_zero)(X))
    assert "max_signatures=0 is reached" in str(function.report)
    assert not function.plans


def test_jax_jit_of_the_function_stays_as_it_is(jitted, tmp_path):
    _store_for(tmp_path, times_zero, X)
    assert _is_planned(jitted(times_zero)(X))
    assert not _is_planned(jax.jit(times_zero)(X))


@pytest.mark.parametrize("function", [functools.partial(times_zero_as, mode="one"), jnp.sin])
def test_a_program_has_the_name_that_jax_jit_gives_it(jitted, function):
    assert jitted(function).lower(X).as_text() == jax.jit(function).lower(X).as_text()


def test_each_signature_has_its_own_plan(jitted, tmp_path):
    _store_for(tmp_path, times_zero, LONGER)
    function = jitted(times_zero)
    assert not _is_planned(function(X))
    for _ in range(2):
        assert not _is_planned(function(X))
        assert _is_planned(function(LONGER))
    assert list(function.report.reports) == ["f32[2]", "f32[3]"]


@pytest.mark.parametrize("first", ["default", "checked"])
def test_each_signature_is_judged_before_jax_compiles_it(tmp_path, monkeypatch, first):
    judged = []

    def note(job, report, *, is_checked):
        judged.append((job.program.signature.parameters[0].dims, job.given, is_checked))
        return report

    monkeypatch.setattr(background, "judged_before", note)
    monkeypatch.setattr(background.BackgroundSearch, "start", lambda *args: None)
    compiled = []
    compile_module = compiler.compile_or_get_cached

    def note_compilation(backend, module, *args, **kwargs):
        if name_of(module) == "jit_times_zero":
            compiled.append(len(judged))
        return compile_module(backend, module, *args, **kwargs)

    monkeypatch.setattr(compiler, "compile_or_get_cached", note_compilation)
    function = hlograph.jit(
        times_zero, store=Store(tmp_path), budget=1, first=first, donate_argnums=0
    )
    for x in (X, X, LONGER, LONGER, X):
        function(jnp.array(x))
    assert [(dims, is_checked) for dims, _, is_checked in judged] == [
        ((2,), first == "checked"),
        ((3,), first == "checked"),
    ]
    assert compiled == [1, 2]
    # What a call donates is still there when its signature is noticed.
    np.testing.assert_array_equal(judged[1][1][0], LONGER)


def test_a_signature_beyond_the_limit_is_judged_too(tmp_path, monkeypatch):
    judged = []

    def note(job, report, *, is_checked):
        judged.append((job.program.signature.parameters[0].dims, is_checked))
        return report

    monkeypatch.setattr(background, "judged_before", lambda job, report, *, is_checked: report)
    monkeypatch.setattr(jit_planning, "judged_before", note)
    monkeypatch.setattr(background.BackgroundSearch, "start", lambda *args: None)
    limits = {"budget": 1, "max_signatures": 1}
    function = hlograph.jit(times_zero, store=Store(tmp_path), first="checked", **limits)
    for x in (X, LONGER):
        function(jnp.array(x))
    assert judged == [((3,), True)]


def test_an_error_of_a_new_signature_is_that_of_jax_alone(jitted):
    function = jitted(lambda x: x @ x)
    function(np.ones((2, 2), np.float32))
    with pytest.raises(TypeError) as caught:
        function(np.ones((2, 3), np.float32))
    assert caught.value.__context__ is None


def test_static_arguments_are_part_of_the_signature(jitted, tmp_path):
    static = jax.jit(times_zero_as, static_argnames="mode")
    _store_for(tmp_path, static, X, mode="two")
    function = jitted(times_zero_as, static_argnames="mode")
    assert not _is_planned(function(X, mode="one"))
    function(X, mode="two")
    np.testing.assert_array_equal(function(X, mode="two"), [2, 2])
    function(X, "two")  # another call for jax, and the same program
    np.testing.assert_array_equal(function(X, "two"), [2, 2])
    assert not _is_planned(function(X, "one"))
    assert list(function.report.reports) == ["f32[2], mode='one'", "f32[2], mode='two'"]


@pytest.mark.parametrize("by_name", [False, True])
def test_values_are_those_of_the_arguments_that_are_not_static(jitted, by_name):
    function = jitted(times_zero_as, static_argnums=1)
    args, kwargs = ((X,), {"mode": "one"}) if by_name else ((X, "one"), {})
    lowered = function.lower(*args, **kwargs)
    (values,) = function._inputs(lowered, args, kwargs)
    np.testing.assert_array_equal(values, X)


def test_donated_arguments(jitted, tmp_path):
    donating = jax.jit(times_zero, donate_argnums=0)
    _store_for(tmp_path, donating, X)
    _store_for(tmp_path, donating, LONGER)
    function = jitted(times_zero, donate_argnums=0)
    first, second, third = jnp.array(X), jnp.array(LONGER), jnp.array(LONGER)
    assert _is_planned(function(first))
    function(second)  # noticed when it is gone
    assert first.is_deleted()
    assert second.is_deleted()
    assert _is_planned(function(third))


def test_committed_arrays_are_a_signature(jitted, tmp_path):
    committed = jax.device_put(X, jax.devices("cpu")[0])
    _store_for(tmp_path, times_zero, committed)
    function = jitted(times_zero)
    assert not _is_planned(function(X))
    function(committed)
    assert _is_planned(function(committed))
    assert not _is_planned(function(X))


def test_plans_survive_that_jax_forgets_its_executables(jitted, tmp_path):
    _store_for(tmp_path, times_zero, X)
    function = jitted(times_zero)
    function(X)
    jax.clear_caches()
    function(X)
    assert _is_planned(function(X))


def test_lowerings_that_jax_forgets_are_not_kept(jitted):
    function = jitted(times_zero, plans=[_fast_plan(times_zero, X)])
    assert _is_planned(function(X))
    lowering = weakref.ref(function.lower(X)._lowering)
    jax.clear_caches()
    gc.collect()
    assert lowering() is None


class Pair:
    """A pytree that does something when jax has taken the executable of a call."""

    then: ClassVar[list[Callable[[], object]]] = []

    def __init__(self, value):
        self.value = value

    @classmethod
    def build(cls, _, children):
        while cls.then:
            cls.then.pop()()
        return cls(*children)


jax.tree_util.register_pytree_node(Pair, lambda pair: ((pair.value,), None), Pair.build)


def test_a_plan_that_comes_during_a_call(jitted):
    function = jitted(lambda x: Pair(times_zero(x)))
    plan = _fast_plan(function, X)
    assert not _is_planned(function(X).value)
    (signature,) = function._signatures.values()
    function._cache.clear()  # so that jax asks for the executable in the next call
    Pair.then.append(lambda: signature.executables.use(plan))
    assert not _is_planned(function(X).value)
    assert not Pair.then
    assert _is_planned(function(X).value)


def test_caches_that_are_cleared_during_a_call(jitted):
    function = jitted(lambda x: Pair(times_zero(x)))
    function(X)
    Pair.then.append(jax.clear_caches)
    function(X)
    assert not Pair.then
    function(LONGER)
    assert len(function.report.reports) == 2


def test_threads_that_call_new_signatures_at_once(jitted):
    def traced(x):
        if x.shape == LONGER.shape:  # while jax compiles it
            other = threading.Thread(target=function, args=(np.ones(4, np.float32),))
            other.start()
            other.join()
        return times_zero(x)

    function = jitted(traced)
    for x in (X, LONGER):
        function(x)
    assert set(function.report.reports) == {"f32[2]", "f32[3]", "f32[4]"}


class SlowStore(Store):
    """Store that finds its plans when another signature has been called, or after a minute."""

    def __init__(self, location):
        super().__init__(location)
        self.asked, self.called, self.waited = threading.Event(), threading.Event(), True

    def get(self, key):
        plan = super().get(key)
        if plan is not None:
            self.asked.set()
            self.waited = self.called.wait(600)
        return plan


def test_calls_of_other_signatures_do_not_wait_for_a_stored_plan(jitted, tmp_path):
    _store_for(tmp_path, times_zero, LONGER)
    store = SlowStore(tmp_path)
    function = jitted(times_zero, store=store)
    function(X)
    results = []
    threads = [threading.Thread(target=lambda: results.append(function(LONGER))) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert store.asked.wait(600)
    function(np.ones(4, np.float32))
    store.called.set()
    for thread in threads:
        thread.join()
    assert store.waited
    assert set(function.report.reports) == {"f32[2]", "f32[3]", "f32[4]"}
    assert len(results) == 2
    assert _is_planned(function(LONGER))


def test_in_transformations_it_is_jax_jit(jitted, tmp_path):
    _store_for(tmp_path, times_zero, X)
    function = jitted(times_zero)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not _is_planned(jax.jit(lambda x: function(x))(X))
        jax.grad(lambda x: function(x).sum())(X)
        jax.vmap(function)(X[None])
    assert function.report.traced == 3
    assert "3 calls inside transformations" in str(function.report)


def test_what_cannot_be_measured_is_said_once(jitted):
    def prints(x):
        jax.debug.print("{}", x.shape[0], ordered=True)
        return x

    printing = jitted(prints)
    with pytest.warns(UserWarning, match="prints runs as jax.jit compiles it.*callbacks"):
        printing(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        printing(LONGER)
        printing(X)
    assert list(printing.report.refused) == ["f32[2]", "f32[3]"]


def test_signatures_differ_in_what_the_report_does_not_show(jitted):
    long = "a" * 100

    def last(*arrays, mode):
        if "print" in mode:
            jax.debug.print("{}", arrays[-1])
        return times_zero(arrays[-1]) + len(mode)

    function = jitted(last, static_argnames="mode")
    arrays = [X] * 8
    with pytest.warns(UserWarning, match="as jax.jit compiles it"):
        function(*arrays, X, mode=f"{long}print{long}")
    for mode in (long, long + long):
        for batch in (X, LONGER):
            function(*arrays, batch, mode=mode)
    (text,) = function.report.refused
    assert text.startswith("f32[2], f32[2], f32[2], 3 more, f32[2], f32[2], f32[2], mode='aaa")
    longer = text.replace("f32[2], mode", "f32[3], mode")
    assert list(function.report.reports) == [text, longer, f"{text} (2)", f"{longer} (2)"]


def test_what_jax_does_not_keep_is_left_alone(jitted, tmp_path):
    _store_for(tmp_path, times_zero, X)
    function = jitted(times_zero)
    with jax.disable_jit():
        assert not _is_planned(function(jnp.array(X)))
    assert str(function.report) == "times_zero: not called yet"
    assert _is_planned(function(X))


def test_errors_of_a_call_are_those_of_jax(jitted):
    function = jitted(times_zero)
    with pytest.raises(TypeError, match="positional argument"):
        function()
    with pytest.raises(TypeError, match="Error interpreting argument"):
        function("text")
    np.testing.assert_array_equal(function(np.ones(2)), [1, 1])


def test_arguments_are_not_copied_without_a_search(jitted):
    function = jitted(times_zero)
    function(X)
    large = jax.numpy.ones(1 << 21)
    tracemalloc.start()
    function(large)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "f32[2097152]" in function.report.reports
    assert peak < large.nbytes / 2


def test_no_error_of_a_search_reaches_a_call(jitted, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_JIT_SECONDS", "many")
    function = hlograph.jit(times_zero)
    with pytest.warns(UserWarning, match="expected a number of seconds in HLOGRAPH_JIT_SECONDS"):
        assert not _is_planned(function(X))


def test_given_plans_are_used_for_their_program(jitted):
    function = jitted(times_zero, plans=[_fast_plan(times_zero, X)])
    assert _is_planned(function(X))
    assert not _is_planned(function(LONGER))


def test_it_can_be_turned_off(jitted, tmp_path, monkeypatch):
    _store_for(tmp_path, times_zero, X)
    monkeypatch.setenv("HLOGRAPH_JIT", "off")
    function = jitted(times_zero)
    assert not _is_planned(function(X))
    assert str(function.report) == "times_zero: not called yet"


def test_searches_of_a_process_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_JIT_SECONDS", str(_ALLOWANCE._taken + 1))
    function = hlograph.jit(times_zero, budget=2, store=tmp_path)
    function(X)
    assert "HLOGRAPH_JIT_SECONDS" in str(function.report)


def test_a_method(jitted, tmp_path):
    class Layer:
        def __init__(self, weight):
            self.weight = weight

        @functools.partial(jitted, static_argnums=0)
        def __call__(self, x):
            return x * self.weight

    layer = Layer(2.0)
    np.testing.assert_array_equal(layer(X), X * 2)
    np.testing.assert_array_equal(Layer(3.0)(X), X * 3)
    assert len(vars(Layer)["__call__"].report.reports) == 2


def test_it_is_a_function(jitted):
    function = jitted(times_zero)
    assert (function.__name__, function.__wrapped__) == ("times_zero", times_zero)
    assert copy.deepcopy(function) is function
    assert copy.copy(function) is function
    assert function.lower(X).as_text() == jax.jit(times_zero).lower(X).as_text()
    with pytest.raises(AttributeError):
        _ = function.no_attribute


def test_a_pickle_is_a_name_or_has_the_plans(jitted, tmp_path):
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    _store_for(tmp_path, times_zero, X)
    function = jitted(times_zero)
    function(X)
    data = pickle.dumps(function)
    for file in tmp_path.iterdir():
        file.unlink()
    assert _is_planned(pickle.loads(data)(X))


@pytest.mark.parametrize("other", [hlograph.jit, jax.vmap, jax.pmap])
def test_functions_of_other_decorators(jitted, other):
    function = jitted(other(times_zero), donate_argnums=0)
    np.testing.assert_array_equal(function(X[None]), jax.jit(times_zero)(X[None]))
    assert function.lower(X[None])


def test_an_object_that_jits_its_own_method_is_collected(jitted):
    class Model:
        def __init__(self):
            self.step = jitted(self.add)

        def add(self, x):
            return x + 1

    model = Model()
    model.step(X)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_options_of_jax_jit_are_given_once(jitted):
    assert jitted(jax.jit(times_zero)).lower(X)
    with pytest.raises(HloError, match="donate_argnums"):
        jitted(jax.jit(times_zero), donate_argnums=0)
    with pytest.raises(HloError, match="expected a function"):
        jitted(3)


@pytest.mark.parametrize("layout", ["argument:0", "result:0"])
def test_plans_with_layouts_of_the_signature_are_refused(jitted, layout):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    program = Program.of(jax.jit(jnp.sin).lower(x))
    plan = Plan(program.name, program.fingerprint, layouts={layout: "{0,1}"})
    function = jitted(jnp.sin, plans=[plan])
    with pytest.warns(UserWarning, match="without layouts of arguments or results"):
        result = function(x)
    for _ in range(3):  # results that are arguments again are no further signatures
        result = function(result)
    np.testing.assert_array_equal(result, jnp.sin(jnp.sin(jnp.sin(jnp.sin(x)))))
    assert list(function.report.refused) == ["f32[2,3]"]
    assert not function.report.reports


def test_a_search_takes_over(tmp_path):
    def depthwise(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1,), [(3, 0)], feature_group_count=64, dimension_numbers=("NHC", "HIO", "NHC")
        )

    x, w = np.ones((2, 128, 64), np.float32), np.ones((4, 1, 64), np.float32)
    function = hlograph.jit(depthwise, budget=2, methods="forms", store=tmp_path)
    before = function(x, w)
    assert function.wait(600)
    steps = [step for plan in function.plans for step in plan.steps]
    assert any("convolution" in step or "products" in step for step in steps)
    np.testing.assert_allclose(function(x, w), before, rtol=1e-5)
    again = hlograph.jit(depthwise, budget=2, methods="forms", store=tmp_path)
    again(x, w)
    assert "from the store" in str(again.report)
