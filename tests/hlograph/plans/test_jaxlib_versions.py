"""Tests of the table of versions beside the installed jaxlib, and of plans for another one."""

from importlib.metadata import version

import jax
import jax.numpy as jnp
import pytest

from hlograph import rules
from hlograph.decisions.plan_states import PlanStates
from hlograph.errors import PlanRefusedError
from hlograph.plans import Plan, Program, compile_lowered, compile_program, jaxlib_versions
from hlograph.plans.compiling import optimized_module
from hlograph.plans.flag_effects import FLAG_VALUES, flags_without_effect
from hlograph.plans.flags import FLAGS
from hlograph.plans.jaxlib_versions import TESTED, JaxlibSupport, jaxlib_support, rules_for_time
from hlograph.plans.knobs import Point

GONE = "xla_cpu_disable_tiled_emitter"
HALVES = "major-reduction-by-halves"


@pytest.fixture
def untested(monkeypatch):
    """The installed jaxlib as one that the table does not have."""
    monkeypatch.setattr(jaxlib_versions, "TESTED", {"0.0.1": JaxlibSupport()})
    jaxlib_versions._warn_of_untested.cache_clear()
    yield
    jaxlib_versions._warn_of_untested.cache_clear()


def test_the_table_is_about_flags_that_plans_may_set():
    for support in TESTED.values():
        assert support.without_effect <= FLAGS.keys()
        assert not support.unknown & support.idle


def _names() -> tuple[str, ...]:
    kernels = tuple(rule.name for rule in rules.of_kernels)
    return rules.names_for_time(exact=False) + kernels


def test_the_table_is_about_rules_for_time():
    for support in TESTED.values():
        assert support.slow_rules <= set(rules.names_for_time(exact=False))


@pytest.mark.parametrize("slow", [frozenset(), frozenset({HALVES})])
def test_searches_leave_slow_rules_of_a_version_out(monkeypatch, slow):
    here = {version("jaxlib"): JaxlibSupport(slow_rules=slow)}
    monkeypatch.setattr(jaxlib_versions, "TESTED", here)
    names = _names()
    assert rules_for_time(exact=False) == tuple(name for name in names if name not in slow)
    largest = jax.jit(lambda x: x.max(0)).lower(jnp.ones((64, 4096)))
    state = PlanStates(Program.of(largest)).state(Point())
    assert (f"rule {HALVES}" in state.by_name) == (HALVES not in slow)


def test_an_untested_jaxlib_has_no_slow_rules(untested):
    assert rules_for_time(exact=False) == _names()


def test_what_the_installed_jaxlib_compiles_is_as_the_table_says(untested):
    with pytest.warns(UserWarning, match="hlograph is tested with"):
        found = flags_without_effect()
    assert found == TESTED[version("jaxlib")].without_effect & FLAG_VALUES.keys()


def test_an_untested_jaxlib_is_named_once(untested):
    lowered = jax.jit(jnp.tanh).lower(jnp.ones(3))
    with pytest.warns(UserWarning, match=rf"tested with jaxlib 0.0.1, and {version('jaxlib')}"):
        program = Program.of(lowered)
    assert Program.of(lowered) == program
    assert compile_program(program, Plan(flags={GONE: True})) is not None


def test_a_plan_with_a_flag_that_jaxlib_lacks_is_refused(monkeypatch):
    lowered = jax.jit(jnp.tanh).lower(jnp.ones(3))
    program, plan = Program.of(lowered), Plan(flags={GONE: True})
    compile_lowered(lowered, plan)
    here = {version("jaxlib"): JaxlibSupport(unknown=frozenset({GONE}))}
    monkeypatch.setattr(jaxlib_versions, "TESTED", here)
    for carried_out in (compile_program, optimized_module):
        with pytest.raises(PlanRefusedError, match=f"flags that jaxlib .* has, got {GONE}"):
            carried_out(program, plan)
    with pytest.raises(PlanRefusedError, match=GONE):
        compile_lowered(lowered, plan)


def test_each_flag_that_jaxlib_lacks_is_refused():
    support = jaxlib_support()
    assert support is not None
    program = Program.of(jax.jit(jnp.tanh).lower(jnp.ones(3)))
    for name in support.unknown:
        with pytest.raises(PlanRefusedError, match=name):
            compile_program(program, Plan(flags={name: True}))
