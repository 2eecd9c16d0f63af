"""Tests of TuningEnv."""

import math

import numpy as np
import pytest

from envs import TuningEnv
from hlograph import Module, UnknownNameError, corpus
from hlograph.decisions.plan_states import action_kinds
from hlograph.decisions.plans import PLAN_FEATURES, chosen
from hlograph.decisions.predicted_gains import log_ratios
from hlograph.isolation import Quarantine
from hlograph.measuring.compiled import FinalModule
from hlograph.plans import Plan, Program, compile_program
from hlograph.profiling.kernel_modules import kernel_modules
from hlograph.profiling.kernel_seconds import PredictedTime, RatedKernels
from hlograph.profiling.kernel_trees import shipped_trees
from hlograph.profiling.optimized_module import OptimizedModule
from tests.envs.conftest import NETWORK

SORTED = "selection/last-sorted/b16-n8192"


@pytest.fixture
def env() -> TuningEnv:
    return TuningEnv(Module.from_text(NETWORK))


def action(env: TuningEnv, name: str) -> int:
    return [offer.name for offer in env.offers].index(name)


def of_kind(env: TuningEnv, kind: str) -> int:
    return next(number for number, offer in enumerate(env.offers) if offer.kind == kind)


@pytest.mark.parametrize("predict", [None, RatedKernels()], ids=["trees", "rates"])
def test_an_episode_by_hand(predict):
    env = TuningEnv(SORTED, horizon=5, predict=predict)
    _, info = env.reset(seed=0)
    program = Program.of(corpus.benchmark(SORTED).load())

    def predicted(plan: Plan) -> int:
        compiled = OptimizedModule.of(compile_program(program, plan))
        kernels = kernel_modules(compiled)
        return round(1e9 * (predict or shipped_trees())(kernels, plan.flags).seconds)

    assert info["size"] == info["start_size"] == predicted(Plan())
    assert info["num_offers"] == len(env.offers) == info["action_mask"][:-1].sum()
    assert env.plan.is_empty
    assert info["point"] == "{}"
    # The end of a sorted array is found without sorting.
    before = info["size"]
    _, reward, terminated, truncated, info = env.step(action(env, "rule predicted"))
    assert (info["step_name"], info["changed"], info["error"]) == ("rule predicted", True, None)
    assert reward == pytest.approx(100 * math.log(before / info["size"]) - 0.02)
    assert before / info["size"] > 5
    assert not terminated
    assert not truncated
    assert info["size"] == predicted(env.plan)
    assert len(env.plan.steps) > 1
    _, reward, terminated, _, info = env.step(env.action_space.n - 1)  # pyright: ignore[reportAttributeAccessIssue]
    assert (reward, terminated, info["step_name"]) == (0, True, "stop")


def test_observations_link_offers_to_the_nodes_that_they_are_about(env):
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    names = env.module.graph().names()
    library = of_kind(env, "library none")
    links = observation["candidate_links"]
    touched = {names[node] for number, node, _ in links if number == library}
    assert touched == set(env.offers[library].touched)
    assert len(touched) == 2  # equal dots are decided together
    row = dict(zip(PLAN_FEATURES, observation["candidates"][library], strict=True))
    assert action_kinds()[int(row["kind"])] == "library none"
    assert row["log_places"] == pytest.approx(np.log2(3) / 4)
    assert 0 < row["share"] <= 1
    assert row["saved"] == 0
    state = env.unwrapped._current.player.state.at
    gains = log_ratios(state, shipped_trees(), env.offers)
    column = observation["candidates"][: len(env.offers), PLAN_FEATURES.index("gain")]
    np.testing.assert_allclose(column, gains, rtol=1e-6)
    assert gains.any()
    assert not observation["candidates"][len(env.offers) :].any()


def test_the_plan_does_what_was_decided(env):
    env.reset()
    env.step(of_kind(env, "library none"))
    env.step(action(env, "flags xla_cpu_prefer_vector_width = 512"))
    plan = env.plan
    assert plan.flags == {"xla_cpu_prefer_vector_width": 512}
    assert [one.value for one in plan.placements] == ["none", "none"]
    program = Program.of(Module.from_text(NETWORK))
    codes = {FinalModule.of(compile_program(program, one)).digest for one in (Plan(), plan)}
    assert len(codes) == 2
    # What is decided is not offered again, and another value is.
    kinds = {offer.kind for offer in env.offers}
    assert "flags xla_cpu_prefer_vector_width 512" not in kinds
    assert "flags xla_cpu_prefer_vector_width 128" in kinds


def test_the_prediction_can_be_chosen():
    asked = []

    def predict(kernels, flags):
        asked.append((len(kernels), dict(flags)))
        return PredictedTime(1e-3 / len(asked), tuple(1e-4 for _ in kernels))

    env = TuningEnv(Module.from_text(NETWORK), predict=predict)
    _, info = env.reset()
    assert info["size"] == 1_000_000
    _, reward, *_, info = env.step(action(env, "flags xla_cpu_prefer_vector_width = 512"))
    assert info["size"] == 500_000
    assert reward == pytest.approx(100 * math.log(2) - 0.02)
    assert asked[1][1] == {"xla_cpu_prefer_vector_width": 512}
    # A state is predicted once.
    env.reset()
    env.step(action(env, "flags xla_cpu_prefer_vector_width = 512"))
    assert len(asked) == 2


def test_rules_and_flags_stay_where_more_is_offered_than_there_are_actions():
    every = TuningEnv(SORTED)
    every.reset()
    few = chosen(every.offers, 8)
    assert [offer for offer in every.offers if offer in few] == few
    assert len(few) == 8
    whole = [offer for offer in every.offers if not offer.knob or offer.knob.startswith("flags")]
    assert set(few) <= set(whole) or set(whole) <= set(few)
    limited = TuningEnv(SORTED, max_offers=8)
    _, info = limited.reset()
    assert list(limited.offers) == few
    assert info["num_offers"] == len(every.offers)


def test_only_the_kinds_that_are_asked_for_are_offered():
    every = TuningEnv(SORTED)
    every.reset()
    kinds = ("partitions 2", "rule predicted", "rule gather-after-dot")
    assert set(kinds) < set(action_kinds())
    some = TuningEnv(SORTED, kinds=kinds)
    observation, info = some.reset()
    assert [offer.name for offer in some.offers] == [
        offer.name for offer in every.offers if offer.kind in kinds
    ]
    numbers = observation["candidates"][: len(some.offers), PLAN_FEATURES.index("kind")]
    assert [kinds[int(number)] for number in numbers] == [offer.kind for offer in some.offers]
    assert 0 < info["num_offers"] == len(some.offers) < len(every.offers)
    with pytest.raises(UnknownNameError, match="kind of action"):
        TuningEnv(SORTED, kinds=("rule of-another-version",))


def test_exact_results_have_exact_rules_only():
    close, exact = (TuningEnv(SORTED, numerics=numerics) for numerics in ("close", "exact"))
    kinds = []
    for env in (close, exact):
        env.reset()
        kinds.append({offer.kind for offer in env.offers})
    assert kinds[1] <= kinds[0]
    exact.step(of_kind(exact, "rule predicted"))
    assert exact.plan.numerics == "exact"


def test_what_ended_a_process_is_not_tried_again(env):
    _, info = env.reset()
    name = env.offers[0].name
    wary = TuningEnv(
        Module.from_text(NETWORK), quarantine=Quarantine([(info["fingerprint"], name)])
    )
    wary.reset()
    *_, info = wary.step(action(wary, name))
    assert "ended a process" in info["error"]
    assert info["action_mask"][action(wary, name)] == 0
    assert not info["changed"]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="at least 1 action"):
        TuningEnv(SORTED, max_offers=0)
    with pytest.raises(ValueError, match="without measured times"):
        TuningEnv(SORTED, reward="final-run-time")
    env = TuningEnv(SORTED)
    env.reset()
    with pytest.raises(UnknownNameError, match="no action is called"):
        env._action_of("rule prediction")
