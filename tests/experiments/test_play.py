"""A policy that comes with the project is played on a module of one's own."""

import pytest

import hlograph
from experiments.evaluate.evaluation import least_on_the_way
from experiments.play import play
from experiments.policies.checkpoint import load_policy
from experiments.policies.rewriting import RewritingKind
from experiments.policies.shipped import checkpoint_location
from hlograph import corpus


@pytest.fixture(scope="module")
def module() -> hlograph.Module:
    few = corpus.load("diverse", split="validation", max_op_count=200)
    return max(few, key=lambda b: (b.op_count - (b.op_count_xla_simplify or 0), b.name)).load()


@pytest.mark.parametrize("policy", ["gnn", "op-counts", "rewrites", "sweeps"])
def test_the_result_is_a_smaller_module_that_computes_the_same(policy, module):
    before = module.fingerprint()
    played = play(policy, module)
    assert played.start == module.op_count > played.op_count == played.module.op_count
    assert played.module.equivalent_to(module)
    assert len(played.passes) <= played.calls
    assert module.fingerprint() == before


def test_episodes_are_as_long_as_in_evaluations(module, monkeypatch):
    horizons = []
    make = RewritingKind.env_maker

    def noted(self, request):
        made = make(self, request)
        horizons.append(made().get_wrapper_attr("horizon"))
        return made

    monkeypatch.setattr(RewritingKind, "env_maker", noted)
    play("rewrites", module)
    kind, _ = load_policy(checkpoint_location("rewrites"))
    assert horizons == [kind.config.play_horizon]


def test_policies_go_on_from_each_other(module):
    first = play("gnn", module)
    both = play(["gnn", "sweeps"], module)
    second = play("sweeps", first.module)
    assert both.start == module.op_count
    assert both.op_count == both.module.op_count == second.op_count <= first.op_count
    assert both.passes == first.passes + second.passes
    assert both.calls == first.calls + second.calls
    assert both.module.equivalent_to(module)


def test_a_pipeline_goes_on_from_a_policy():
    module = corpus.benchmark("mixer/l6-h48-scan/forward-b2").load()
    first = play("gnn", module)
    both = play(["gnn", "xla-simplify"], module)
    assert both.passes[: len(first.passes)] == first.passes
    assert both.op_count == both.module.op_count <= first.op_count
    assert len(both.passes) - len(first.passes) <= both.calls - first.calls
    # All of its passes are called, whatever the policy foresees.
    least = least_on_the_way(first.module.clone(), "xla-simplify")
    assert both.passes[len(first.passes) :] == least.passes
    assert both.calls == first.calls + least.calls
    whole = play(["gnn", "xla-simplify"], module, skip_below=0.0)
    assert both.calls < whole.calls
    assert both.module.equivalent_to(module)


def test_more_episodes_are_never_worse(module):
    one, four = play("gnn", module), play("gnn", module, samples=4)
    assert four.op_count <= one.op_count
    assert four.calls > one.calls
    assert play("gnn", module, samples=4).passes == four.passes


def test_a_threshold_for_stopping_changes_the_calls(module):
    assert play("gnn", module, stop_above=0.01).calls <= play("gnn", module, stop_above=1.0).calls


def test_text_is_read_as_a_module(module):
    assert play("op-counts", module.to_text()).start == module.op_count


def test_a_policy_that_decides_about_times_is_refused(module):
    with pytest.raises(ValueError, match=r"hlograph\.optimize"):
        play("tuning", module)


def test_no_episode_is_refused(module):
    with pytest.raises(ValueError, match="samples=0"):
        play("gnn", module, samples=0)


def test_an_unknown_policy_is_refused(module):
    with pytest.raises(hlograph.HloError, match="op-counts"):
        play("best", module)
