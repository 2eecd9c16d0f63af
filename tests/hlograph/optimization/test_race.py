"""Searches with small budgets: what is kept of them, whatever is faster on this machine."""

import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.measuring.implementations import plain_plan
from hlograph.measuring.trial import SCREEN, PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization import race
from hlograph.optimization.cache import CacheKey
from hlograph.optimization.leading import CONFIRMATIONS
from hlograph.optimization.measurements import Measurements
from hlograph.optimization.methods import Listed, Proposers, methods, names
from hlograph.optimization.methods.known_plans import FlagSets, GreedyMerge
from hlograph.optimization.race import Race, plan_of
from hlograph.optimization.report import changes_text
from hlograph.optimization.search_settings import SearchSettings
from hlograph.plans import Numerics, Placement, Plan, PlanError
from tests.hlograph.optimization import proposals
from tests.hlograph.optimization.outcomes import asked, made_outcome
from tests.hlograph.optimization.small_job import HERE, X, small_function, small_job


@pytest.fixture(autouse=True, scope="module")
def single_workers():
    """Takes the place of the fixture of that name: here two workers measure side by side."""


def test_a_search_and_what_the_store_has_of_it(cache):
    fast = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"])
    np.testing.assert_allclose(fast(X), jax.jit(small_function)(X), rtol=1e-5)
    report = fast.report
    assert not report.from_store
    assert 1 <= len({outcome.plan.digest for outcome in _proposed(report)}) <= 3
    assert all(outcome.measured for outcome in report.outcomes)
    assert json.loads(report.to_json())["conclusion"] == report.conclusion
    assert "tried" in str(report)
    # Found with the engine and without.
    assert len(list((cache / "plans").iterdir())) == 2
    (kept,) = (cache / "measurements").iterdir()
    assert kept.name == f"{CacheKey.of(small_job())}.jsonl"
    again = hlograph.optimize(small_function, X, budget=1000)
    assert again.report.from_store
    assert again.plan.digest == fast.plan.digest


def test_a_search_goes_on_with_what_was_measured(cache):
    job = small_job()
    known = made_outcome(proposals.WIDTHS[0], ratio=0.9, low=0.8, thorough=False)
    lost = PlanMeasurement(proposals.WIDTHS[1], error="worker lost", accident=True)
    measurements = Measurements(CacheKey.of(job))
    measurements.add(known)
    measurements.add(lost)
    report = hlograph.optimize(small_function, X, budget=1, methods=[f"{HERE}:widths"]).report
    assert report.outcomes[0] == known
    assert report.before == 1
    assert "beside 1 measured earlier" in str(report)
    plans = [outcome.plan.digest for outcome in report.outcomes if not outcome.thorough]
    assert len(plans) == len(set(plans)) >= 2
    assert measurements.read() == [known, lost, *report.outcomes[1:]]


def test_more_methods_measure_new_plans_alone(cache):
    hlograph.optimize(small_function, X, budget=60, methods=[f"{HERE}:widths"])
    before = Measurements(CacheKey.of(small_job())).known()
    methods = [f"{HERE}:widths", f"{HERE}:sizes"]
    report = hlograph.optimize(
        small_function, X, budget=60, methods=methods, search_further=True
    ).report
    assert list(report.outcomes[: report.before]) == before
    new = [o.plan.digest for o in _proposed(report) if not o.thorough]
    assert sorted(new) == sorted(plan.digest for plan in proposals.SIZES)  # in any order


def test_measure_again_measures_again(cache):
    job = small_job()
    for plan in proposals.WIDTHS:
        Measurements(CacheKey.of(job)).add(made_outcome(plan, ratio=100.0, thorough=False))
    report = hlograph.optimize(
        small_function, X, budget=60, methods=[f"{HERE}:widths"], measure_again=True
    ).report
    assert report.before == 0
    assert all(outcome.ratio != 100 for outcome in report.outcomes)
    # The new outcomes count from now on.
    known = [o for o in Measurements(CacheKey.of(job)).known() if not o.thorough]
    assert len(known) == len(proposals.WIDTHS) + 1  # and the plain reference
    assert known == [o for o in report.outcomes if not o.thorough]


def _proposed(report):
    """Returns the new outcomes of a report, without that of the plain reference."""
    plain = plain_plan(small_job().program).digest
    new = report.outcomes[report.before :]
    return [outcome for outcome in new if outcome.plan.digest != plain]


_PLAN = proposals.WIDTHS[0]
_LOSES = made_outcome(_PLAN, ratio=1.0, low=0.9)


def test_a_plan_that_has_lost_twice_is_not_in_the_final_again(cache):
    measurements = Measurements(CacheKey.of(small_job()))
    for outcome in (made_outcome(_PLAN, thorough=False), _LOSES, _LOSES):
        measurements.add(outcome)
    report = hlograph.optimize(small_function, X, budget=60, methods=[]).report
    assert report.before == 3
    assert not _proposed(report)


@pytest.mark.parametrize(
    ("low", "budget", "measured_again"),
    [(1.1, 60, 2), (1.1, 1e-4, 2), (0.99, 60, 2), (0.99, 1e-4, 0)],
)
def test_a_doubtful_lead_is_measured_again_only_if_there_is_time(
    low, budget, measured_again, cache
):
    measurements = Measurements(CacheKey.of(small_job()))
    measurements.add(made_outcome(_PLAN, low=low, thorough=False, seconds=0.1))
    # Known to be slower, or noise may put it in the final.
    plain = plain_plan(small_job().program)
    measurements.add(made_outcome(plain, ratio=0.9, low=0.8, thorough=False, seconds=0.1))
    report = hlograph.optimize(small_function, X, budget=budget, methods=[]).report
    assert sum(outcome.thorough for outcome in _proposed(report)) == measured_again


def test_a_final_of_long_runs_is_left_to_a_larger_budget(cache):
    measurements = Measurements(CacheKey.of(small_job()))
    plain = plain_plan(small_job().program)
    for plan, ratio, low in ((_PLAN, 1.5, 1.4), (plain, 1.0, 0.9)):
        measurements.add(made_outcome(plan, ratio, low, thorough=False, seconds=60 / ratio))
    report = hlograph.optimize(small_function, X, budget=60, methods=[]).report
    assert not any(outcome.thorough for outcome in report.outcomes)
    assert "no plan kept a lead" in report.conclusion
    assert "a run takes 60.0 s: a budget of" in report.conclusion
    assert "what was 1.50 times as fast" in report.conclusion


def test_a_final_that_a_few_runs_repay_is_made_however_long_the_search_was(cache, monkeypatch):
    measurements = Measurements(CacheKey.of(small_job()))
    plain = plain_plan(small_job().program)
    for plan, ratio, low in ((_PLAN, 100.0, 90.0), (plain, 1.0, 0.9)):
        measurements.add(made_outcome(plan, ratio, low, thorough=False, seconds=60 / ratio))
    monkeypatch.setattr(Race, "_elapsed", lambda self: 1000.0)
    report = hlograph.optimize(small_function, X, budget=1, methods=[]).report
    assert sum(outcome.thorough for outcome in _proposed(report)) == CONFIRMATIONS
    assert not report.unconfirmed


@pytest.mark.parametrize(("sure", "times"), [(0.0, CONFIRMATIONS), (99.0, 2 * CONFIRMATIONS)])
def test_a_small_lead_has_to_hold_in_more_processes(cache, monkeypatch, sure, times):
    measurements = Measurements(CacheKey.of(small_job()))
    plain = plain_plan(small_job().program)
    for plan, ratio, low in ((_PLAN, 1.5, 1.4), (plain, 1.0, 0.9)):
        measurements.add(made_outcome(plan, ratio, low, thorough=False, seconds=1e-3 / ratio))
    monkeypatch.setattr(race, "leads", lambda outcome: True)
    monkeypatch.setattr(race, "_SURE", sure)
    report = hlograph.optimize(small_function, X, budget=60, methods=[]).report
    assert sum(outcome.thorough for outcome in _proposed(report)) == times


def test_a_search_goes_on_after_one_that_left_its_final_out(cache, monkeypatch):
    monkeypatch.setattr(race, "LONG_RUN", 0.0)
    monkeypatch.setattr(race, "final_seconds", lambda *_: 1e9)
    methods = [f"{HERE}:widths"]
    monkeypatch.setattr(race, "finalists", lambda before, now, doubtful=False: [*before, *now])
    report = hlograph.optimize(small_function, X, budget=5, methods=methods).report
    assert "is needed to confirm" in report.conclusion
    assert report.unconfirmed
    again = hlograph.optimize(small_function, X, budget=6, methods=methods).report
    assert not again.from_store
    assert again.before == len(report.outcomes)


def test_plans_far_behind_the_fastest_are_timed_briefly(cache):
    measurements = Measurements(CacheKey.of(small_job()))
    fastest = made_outcome(_PLAN, ratio=1000.0, low=999.0, thorough=False, seconds=1e-6)
    lost = made_outcome(_PLAN, ratio=1.0, low=0.9, seconds=1e-3)
    for outcome in (fastest, lost, lost):
        measurements.add(outcome)
    report = hlograph.optimize(small_function, X, budget=60, methods=[f"{HERE}:widths"]).report
    new = [o for o in _proposed(report) if not o.thorough]
    assert len(new) == 2
    assert {o.measured.pairs for o in new if o.measured} == {SCREEN.least}


def test_as_long_as_no_plan_leads_no_time_is_kept_for_a_final(cache, monkeypatch):
    # A final would take longer than the budget, and may have all of it.
    monkeypatch.setattr(race, "FINAL", replace(race.FINAL, max_seconds=1000.0))
    monkeypatch.setattr(race, "_MOST_FINAL", 1.0)
    report = hlograph.optimize(small_function, X, budget=60, methods=[f"{HERE}:undone"]).report
    assert [outcome.error for outcome in _proposed(report)] == [UNCHANGED] * 3


def test_greedy_merges_what_helped():
    loops = Plan(flags={"xla_cpu_small_while_loop_byte_threshold": 1})
    wide = Plan(flags={"xla_cpu_prefer_vector_width": 512})
    narrow = Plan(flags={"xla_cpu_prefer_vector_width": 128})
    greedy = GreedyMerge()
    assert asked(greedy) is None
    greedy.tell([made_outcome(loops, ratio=2.0)])
    assert asked(greedy) is None
    greedy.tell([made_outcome(wide, ratio=0.9)])
    assert asked(greedy) is None
    greedy.tell([made_outcome(narrow, ratio=1.1)])
    merged = asked(greedy)
    assert merged is not None
    assert merged.flags == {**loops.flags, **narrow.flags}
    assert asked(greedy) is None
    greedy.tell([made_outcome(loops, ratio=1.0)])  # its lead did not last
    assert asked(greedy) is None


def test_flag_sets_fit_the_program():
    def tried(function, numerics: Numerics = "close"):
        method = FlagSets(small_job(function).program, numerics)
        return {plan.method.partition(": ")[2] for plan in method.ask(1000)}

    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, c: c + x, x)

    assert "loops as one kernel" in tried(loop)
    assert "loops as one kernel" not in tried(jnp.sin)
    assert "convolutions without library" not in tried(small_function)
    assert "dots on one thread" in tried(small_function)
    assert "fast math" not in tried(jnp.sin)
    assert "fast math" in tried(jnp.sin, "fast")


def test_flag_sets_about_cold_instructions_come_last():
    def loop(x):
        return jax.lax.fori_loop(0, 3, lambda _, c: c @ c, x).sum(0)

    method = FlagSets(small_job(loop).program, "close")
    first = ["loops as one kernel", "loops as several kernels", "reductions without library"]
    assert [_name(asked(method)) for _ in range(3)] == first
    profiled = replace(made_outcome(Plan(flags={}), ratio=1.0), hot={"while": 0.01, "dot": 0.9})
    method.tell([profiled])
    rest = [_name(plan) for plan in method.ask(1000)]
    assert rest[0] == "no library"

    method = FlagSets(small_job(loop).program, "close")
    method.tell([profiled])
    names = [_name(plan) for plan in method.ask(1000)]
    assert names[0] == "no library"
    assert names[-3:] == first


def test_loops_that_draw_random_numbers_are_cold_until_a_profile_says_otherwise():
    def function(x):
        return x @ x + jax.random.normal(jax.random.key(0), x.shape)

    names = [_name(plan) for plan in FlagSets(small_job(function).program, "close").ask(1000)]
    assert names[0] == "no library"
    assert names[-2:] == ["loops as one kernel", "loops as several kernels"]

    method = FlagSets(small_job(function).program, "close")
    method.tell([replace(made_outcome(Plan(), ratio=1.0), hot={"while": 0.5, "dot": 0.5})])
    assert _name(asked(method)) == "loops as one kernel"


def _name(plan):
    return plan.method.partition(": ")[2]


def test_names_of_methods():
    pytest.importorskip("torch")
    assert names()[:5] == ["recipes", "forms", "flags", "passes", "greedy"]
    assert list(methods(["policy", "predicted"])) == ["policy", "predicted"]
    assert "policy" not in names()  # it imports torch
    assert list(methods([f"{HERE}:widths"]).values()) == [proposals.widths]
    with pytest.raises(hlograph.UnknownNameError, match="did you mean 'flags"):
        methods(["flgs"])
    for name in ("no.such:thing", f"{HERE}:nothing"):
        with pytest.raises(hlograph.HloError, match="cannot be imported"):
            methods([name])
    with pytest.raises(PlanError):
        Plan(flags={"xla_no_such_flag": True})


def test_methods_that_fail_repeat_or_ask_too_much():
    makers = methods(f"{HERE}:{name}" for name in ("broken", "repeated", "fast_math", "widths"))
    with pytest.warns(UserWarning, match="left out"):
        proposers = Proposers(small_job(), makers)
    assert [asked(proposers) for _ in range(4)] == [*proposals.WIDTHS, None]
    with pytest.warns(UserWarning, match="does not listen"):
        proposers.tell([made_outcome(proposals.WIDTHS[0])])
    many = Proposers(small_job(), methods([f"{HERE}:endless"]))
    for plan in proposals.WIDTHS:
        many.tell([made_outcome(plan)])
    assert asked(many) == proposals.LEVELS[0]
    fast = Proposers(small_job(numerics="fast"), methods([f"{HERE}:fast_math"]))
    assert asked(fast) is not None


def test_the_plan_of_a_winner_is_the_one_that_was_measured():
    fused = tuple(Placement("one", "fuse", user) for user in ("two", "three"))
    plan = Plan(placements=fused, placed="0" * 32, method="joint: fuse")
    found = plan_of(small_job(), made_outcome(plan))
    assert found.placements == fused
    assert found.digest == plan.digest
    assert found.fingerprint == small_job().program.fingerprint
    assert (plan | plan).digest == plan.digest


def test_methods_are_closed_after_the_search(cache, monkeypatch):
    job, closed = small_job(), []

    class Closing(Listed):
        def close(self):
            closed.append(self)

    monkeypatch.setattr(proposals, "closing", lambda *_: Closing(iter(())), raising=False)
    settings = SearchSettings(1.0, (f"{HERE}:closing",))
    Race(job, settings, Measurements(CacheKey.of(job))).run()
    assert len(closed) == 1


def test_a_race_that_has_enough_ends(cache):
    job = small_job()
    settings = SearchSettings(600.0, (f"{HERE}:endless",))
    race = Race(job, settings, Measurements(CacheKey.of(job)), enough=0.0)
    race.run()
    screened = [outcome for outcome in race.outcomes if not outcome.thorough]
    assert 1 <= len(screened) <= 2 * race.workers


def test_ctrl_c_while_an_outcome_is_written_does_not_lose_it(cache, monkeypatch):
    job = small_job()
    measurements = Measurements(CacheKey.of(job))
    pressed = [KeyboardInterrupt]

    def interrupt(file):
        if pressed:
            raise pressed.pop()

    monkeypatch.setattr("hlograph.optimization.measurements.os.fsync", interrupt)
    found = Race(job, SearchSettings(60.0, (f"{HERE}:endless",)), measurements)
    found.run()
    assert found.interrupted
    assert [one.plan.digest for one in found.outcomes] == [
        one.plan.digest for one in measurements.read()
    ]


def test_a_method_may_wait_for_outcomes_of_others():
    waiting, widths = f"{HERE}:waiting", f"{HERE}:widths"
    proposers = Proposers(small_job(), methods([waiting, widths]))
    plans = []
    for _ in range(4):
        plans.append(asked(proposers))
        proposers.tell([made_outcome(plans[-1], thorough=False)])
    assert plans[:2] == list(proposals.WIDTHS[:2])
    assert plans[2:] == [proposals.LEVELS[0], proposals.WIDTHS[2]]
    alone = Proposers(small_job(), methods([waiting]))
    assert asked(alone) == proposals.LEVELS[0]


def test_a_method_that_is_not_ready_is_asked_last():
    slow, widths = f"{HERE}:slow", f"{HERE}:widths"
    proposers = Proposers(small_job(), methods([slow, widths]))
    assert [asked(proposers) for _ in range(4)] == [*proposals.WIDTHS, proposals.LEVELS[0]]
    assert asked(proposers) == proposals.LEVELS[1]


def test_a_method_may_be_asked_before_others():
    first, widths = f"{HERE}:first", f"{HERE}:widths"
    proposers = Proposers(small_job(), methods([widths, first]))
    assert [asked(proposers) for _ in range(3)] == [*proposals.SIZES, *proposals.WIDTHS[:2]]


def test_changes_of_the_final_module_as_text():
    changes = {"add": (3, 7), "sort": (1, 0), "constant": (1, 9), "fusion": (8, 9)}
    assert changes_text(changes) == "sort 1 → 0, add 3 → 7, fusion 8 → 9"
