import json
from pathlib import Path

import pytest

from envs import PassDecisionsEnv, PassOrderingEnv, RewriteEnv, TuningEnv
from envs.decision_env import DecisionEnv
from hlograph import HloError, Module
from hlograph.explorer.step_pages import RecordedEpisode, replay
from tests.tiny_module import TINY


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.hlo"
    path.write_text(TINY)
    return path


def played(env: DecisionEnv, path: Path, steps: int = 3) -> RecordedEpisode:
    """Plays the first actions that are allowed, and returns the record from its file."""
    env.reset(seed=0)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(int(env.action_masks().argmax()))
        if terminated or truncated:
            break
    file = path.with_name("trajectory.json")
    file.write_text(env.trajectory.to_json())
    return RecordedEpisode.load(file)


@pytest.mark.parametrize("make", [PassOrderingEnv, RewriteEnv, PassDecisionsEnv])
def test_episodes_are_replayed(make: type, program: Path) -> None:
    env = make([str(program)], costs=False)
    episode = played(env, program)

    start, steps = replay(episode, episode.program())
    taken = list(steps)

    assert start.fingerprint() == episode.start_fingerprint
    assert [step.name for step in taken] == list(episode.steps)
    assert taken[-1].module.fingerprint() == env.module.fingerprint()


def test_rewrites_for_time_begin_after_inlining(program: Path) -> None:
    env = RewriteEnv([str(program)], rules="for-time", costs=False)
    episode = played(env, program, steps=1)

    start, steps = replay(episode, episode.program())

    assert start.op_count == 5
    assert len(list(steps)) == len(episode.steps)


@pytest.mark.slow
def test_decisions_of_tuning_are_replayed(program: Path) -> None:
    env = TuningEnv([str(program)], costs=False)
    episode = played(env, program)

    _, steps = replay(episode, episode.program())

    assert list(steps)[-1].module.fingerprint() == env.module.fingerprint()


def test_another_program_is_refused(program: Path) -> None:
    episode = played(PassOrderingEnv([str(program)], costs=False), program)

    with pytest.raises(HloError, match="another program"):
        replay(episode, Module.from_text(TINY.replace("exponential", "tanh")))


def test_an_unknown_benchmark_and_other_json_are_refused(program: Path) -> None:
    file = program.with_name("other.json")
    file.write_text(json.dumps({"benchmark": "x"}))
    with pytest.raises(HloError, match="trajectory"):
        RecordedEpisode.load(file)

    with pytest.raises(HloError, match="neither a file nor a name"):
        RecordedEpisode("no/such/thing", "", 0, (), ()).program()
