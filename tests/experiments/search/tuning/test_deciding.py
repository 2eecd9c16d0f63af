"""The method that plays a policy's episodes."""

from threading import Event

import pytest

from experiments.policies import shipped
from experiments.policies.checkpoint import Checkpoint, CheckpointFiles
from experiments.policies.kind import policy_kind
from experiments.search.tuning import deciding
from experiments.search.tuning.deciding import OP_COUNTS, POLICY, DecidingMethod, Decisions
from experiments.search.tuning.episodes import Decided, PlayedPolicy
from experiments.tune.races import TuningRace
from hlograph import HloError, Module, corpus
from hlograph.decisions.plan_states import PlanStates
from hlograph.errors import WorkerLostError
from hlograph.isolation import Quarantine
from hlograph.measuring.trial import PlanMeasurement
from hlograph.plans import Plan, Program
from hlograph.plans.knobs import Point
from models.ppo import PPO
from tests.envs.conftest import NETWORK
from tests.experiments.tiny_run import tiny_rewrite_config
from tests.experiments.train.test_train_tuning import tiny_tuning_config
from tests.hlograph.optimization.outcomes import asked


def untrained(name, config, folder):
    """Writes the checkpoint of a policy with random parameters, and returns its path."""
    kind = policy_kind(name, config)
    ppo = PPO(kind.new_policy(), kind.ppo, 1)
    files = CheckpointFiles(folder)
    files.save(Checkpoint.take(kind, ppo, 0, 0, None, Quarantine(), None))
    return folder / "checkpoint.pt"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return untrained("tuning", tiny_tuning_config(), tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def program():
    return Program.of(corpus.benchmark("selection/last-sorted/b16-n8192").load())


def test_a_policy_proposes_its_greedy_plan_and_then_others(program, checkpoint):
    method = DecidingMethod("policy", Decisions(program, "close", checkpoint))
    try:
        plans = [plan for _ in range(4) if (plan := asked(method)) is not None]
    finally:
        method.close()
    assert len({plan.digest for plan in plans}) == len(plans) > 0
    assert Plan().digest not in {plan.digest for plan in plans}
    assert {plan.method for plan in plans} == {"policy"}
    for plan in plans:
        plan.check(program, here=False)


@pytest.mark.parametrize(("name", "kind"), [("policy", POLICY), ("policy-op-counts", OP_COUNTS)])
def test_the_seed_of_a_method_is_that_of_its_policy(name, kind, program, monkeypatch, tmp_path):
    played = []
    monkeypatch.setattr(deciding, "Decisions", lambda *about: played.append(about[-1]))
    monkeypatch.setattr(deciding, "DecidingMethod", lambda name, decisions: name)
    for seed in (0, 2):
        race = TuningRace(program, tmp_path, 1.0, competitor=name, seed=seed)
        (make,) = race.settings().makers().values()
        assert make(program, "close") == name
    assert played == [shipped.FOLDER / shipped.file_name(kind, seed) for seed in (0, 2)]
    assert played[0].exists()


def test_decisions_in_a_process_are_those_of_the_same_episodes(program, checkpoint):
    decisions = Decisions(program, "close", checkpoint, seconds=None)
    try:
        points = [one.point for _ in range(2) if (one := decisions.following()) is not None]
    finally:
        decisions.close()
    process = PlanStates(program)
    played = PlayedPolicy(program, "close", checkpoint)
    digests = {played.decided(number).plan.digest for number in range(16)}
    assert points
    assert {process.plan(point).digest for point in points} <= digests


def test_an_episode_depends_on_its_number_alone(program, checkpoint):
    one, other = (PlayedPolicy(program, "close", checkpoint) for _ in range(2))
    digests = [one.decided(number).plan.digest for number in range(4)]
    assert [other.decided(number).plan.digest for number in (3, 1, 0, 2)] == [
        digests[number] for number in (3, 1, 0, 2)
    ]
    assert len(set(digests)) > 1


def test_a_policy_of_another_kind_is_refused(program, tmp_path):
    path = untrained("rewrites", tiny_rewrite_config(), tmp_path)
    with pytest.raises(HloError, match=r"a policy over plans in .* got rewrites"):
        PlayedPolicy(program, "close", path)


def _wide(number):
    return Plan(flags={"xla_cpu_prefer_vector_width": (64, 128, 256, 512)[number]})


class _Slow:
    """Decisions that are taken when ``may`` is set."""

    def __init__(self):
        self.may, self.begun = Event(), 0

    def following(self):
        self.begun += 1
        self.may.wait()
        return Decided(Point(), _wide(self.begun)) if self.begun < 3 else None

    def close(self):
        self.may.set()


def test_decisions_are_taken_while_others_are_measured():
    decisions = _Slow()
    method = DecidingMethod("policy", decisions)
    assert not method.ready
    decisions.may.set()
    first = asked(method)
    assert first.digest == _wide(1).digest
    assert not method.ready
    method.tell([PlanMeasurement(_wide(3))])
    method.tell([PlanMeasurement(first, thorough=True)])
    assert decisions.begun == 1
    method.tell([PlanMeasurement(first)])
    assert asked(method).digest == _wide(2).digest
    assert asked(method) is None
    assert method.ready
    assert asked(method) is None
    assert decisions.begun == 3
    method.close()


def test_a_method_that_decides_can_be_closed(program, checkpoint):
    decisions = Decisions(program, "close", checkpoint)
    method = DecidingMethod("policy", decisions)
    method.close()
    assert method.ready
    assert asked(method) is None


def test_an_episode_that_lost_its_worker_is_played_again_once(program, checkpoint):
    decisions = Decisions(program, "close", checkpoint)
    answers = [WorkerLostError("killed"), "first", WorkerLostError("killed")]
    asked = []

    class Losing:
        def call(self, method, episode):
            asked.append(episode)
            answer = answers.pop(0)
            if answer != "first":
                raise answer
            return Decided(Point(), Plan(method=answer))

    decisions.close()
    decisions._worker = Losing()
    decisions._known.clear()
    assert decisions.following() is not None
    assert decisions.following() is None
    assert asked == [0, 0, 1]


def test_where_nothing_is_predicted_to_save_time_nothing_is_proposed(tmp_path):
    checkpoint = untrained("tuning", tiny_tuning_config(times="rates"), tmp_path)
    program = Program.of(Module.from_text(NETWORK))
    method = DecidingMethod("policy", Decisions(program, "close", checkpoint))
    try:
        assert asked(method) is None
    finally:
        method.close()
