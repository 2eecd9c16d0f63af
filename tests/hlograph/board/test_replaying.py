"""Replays: what holds, what differs, and a worker that ends."""

import os
from dataclasses import replace

import pytest

from hlograph import HloError, Module, Plan, corpus
from hlograph.board import replaying
from hlograph.board.claims import ClaimedSteps
from hlograph.board.replaying import check_plan, compare_outputs, differences, replays
from hlograph.board.submission import Submission, SubmissionError, SubmittedTrajectory
from hlograph.isolation import FlightRecorder
from hlograph.plans import Measured
from hlograph.storage.machine import machine
from tests.hlograph.board.conftest import PASSES
from tests.tiny_module import TINY


class Ending:
    """Ends its process at each claim."""

    def __init__(self, samples: int, recorder: FlightRecorder) -> None:
        self._recorder = recorder

    def __call__(self, claim: ClaimedSteps) -> SubmittedTrajectory:
        with self._recorder.noted(b"step 1 (cse)"):
            os.abort()


def told(submission: Submission, **values: object) -> str:
    """Returns what the replay says of a submission with other values of its trajectory."""
    (submitted,) = submission.trajectories
    changed = replace(submitted, trajectory=replace(submitted.trajectory, **values))  # pyright: ignore[reportArgumentType]
    (line,) = differences(replace(submission, trajectories=(changed,)), samples=0, workers=0)
    return line


def test_a_replay_is_what_the_passes_do(replayed, small):
    module = small.load()
    counts = [module.op_count for name in PASSES if module.run(name) or True]
    assert replayed.trajectory.op_counts == tuple(counts)
    assert replayed.op_count == module.op_count < small.op_count
    assert replayed.trajectory.fingerprint == module.fingerprint()
    assert replayed.trajectory.start_fingerprint == small.fingerprint
    assert replayed.outputs in ("equal", "close")


def test_what_was_replayed_holds(submission):
    assert list(differences(submission, samples=1, workers=0)) == []


def test_a_wrong_count_is_told_with_its_step(submission, small):
    counts = submission.trajectories[0].trajectory.op_counts
    wrong = (*counts[:2], counts[2] - 1, counts[3])
    assert told(submission, op_counts=wrong).startswith(
        f"{small.name}: at the step 3 (cse) the trajectory has {counts[2] - 1}, the replay "
        f"{counts[2]}"
    )
    assert f"at the start the trajectory has 1, the replay {small.op_count}" in told(
        submission, start_op_count=1
    )


def test_wrong_names_and_fingerprints_are_told(submission, small):
    other = "0" * 32
    assert f"at the start, its fingerprint the trajectory has {other}, the replay " in told(
        submission, start_fingerprint=other
    )
    assert "at the end, its fingerprint the trajectory has" in told(submission, fingerprint=other)
    assert "at the step 2 (algsimpl): no pass or pipeline is called 'algsimpl'; did you" in told(
        submission, passes=("call-inliner", "algsimpl", "cse", "dce")
    )
    assert told(submission, benchmark="no/such/one").startswith("no/such/one: no benchmark")
    assert told(submission, benchmark="/etc/passwd").startswith("/etc/passwd: no benchmark")


def test_outputs_that_differ_are_refused():
    tiny = Module.from_text(TINY)
    other = Module.from_text(TINY.replace("add(a, b)", "multiply(a, b)"))
    assert compare_outputs(tiny, tiny.clone(), 1, "equal") == "equal"
    with pytest.raises(SubmissionError, match="its outputs are not those of the original"):
        compare_outputs(tiny, other, 1, None)


def test_outputs_that_cannot_be_compared_are_not_said_to_be_equal():
    text = TINY.replace("exponential(p)", "rng(p, p), distribution=rng_uniform").replace(
        "p = f32[4] parameter(0)", "q = f32[4] parameter(0)\n  p = f32[] constant(0)"
    )
    drawn = Module.from_text(text.replace("multiply(p, p)", "multiply(q, q)"))
    other = drawn.clone()
    other.run("dce")
    assert compare_outputs(drawn, other, 1, None) == "not comparable"
    with pytest.raises(SubmissionError, match="outputs are equal, and they cannot be compared"):
        compare_outputs(drawn, other, 1, "equal")


def test_a_process_that_ends_costs_its_module_alone(monkeypatch, small):
    monkeypatch.setattr(replaying, "Replayer", Ending)
    claims = [ClaimedSteps.to(None, small.name, PASSES)] * 2
    answers = replays(claims, samples=0, workers=1)
    assert [isinstance(answer, SubmissionError) for answer in answers] == [True, True]
    assert str(answers[0]).startswith(f"{small.name}: at step 1 (cse): the worker ended by SIGABRT")


@pytest.fixture(scope="module")
def measured() -> tuple[corpus.Benchmark, Plan]:
    """Returns a small program of the set speed, and a plan for it."""
    programs = corpus.load("speed", split="train")
    program = min(programs, key=lambda each: (each.op_count, each.name))
    flags = {"xla_cpu_enable_fast_min_max": True}
    speed = Measured(2e-3, 1e-3, 2.0, 1.9, 2.1, 1.0, 60)
    plan = Plan("x", program.fingerprint, flags=flags, numerics="fast", machine=machine())
    return program, replace(plan, measured=speed)


def test_a_plan_is_carried_out(measured):
    program, plan = measured
    submitted = check_plan(program.name, plan)
    assert (submitted.benchmark, submitted.plan, submitted.ratio) == (program.name, plan, 2.0)
    assert submitted.outputs in ("equal", "close")


def test_a_plan_for_another_program_is_told(measured, submission):
    program, plan = measured
    other = replace(plan, fingerprint="0" * 32)
    with pytest.raises(HloError, match="this plan is for a program with fingerprint 000"):
        check_plan(program.name, other)
