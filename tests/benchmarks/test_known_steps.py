"""Tests of the measurement of known steps."""

from benchmarks.known_steps import main
from benchmarks.repeated_play import RepeatedPlay
from benchmarks.subjects import names_near
from envs import KnownSteps
from experiments.policies.checkpoint import load_policy
from experiments.policies.shipped import checkpoint_location


def test_an_iteration_that_is_repeated_is_known():
    kind, policy = load_policy(checkpoint_location("op-counts"))
    names = names_near(100, 1)
    play = RepeatedPlay(kind, policy, names, KnownSteps())
    first, again = play.iterate(0), play.iterate(0)
    assert 0 < first.changes == again.changes == again.known
    assert first.known < first.changes
    plain = RepeatedPlay(kind, policy, names, None).iterate(0)
    assert (plain.changes, plain.known) == (first.changes, 0)


def test_a_policy_that_is_not_there_is_named(capsys):
    assert main(["--policy", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
