"""Submissions: their files, and what is refused in those that others have written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hlograph import HloError, Plan
from hlograph.board import submission as submissions
from hlograph.board.submission import Submission, SubmissionError, SubmittedPlan
from hlograph.plans import Measured
from hlograph.storage.machine import machine

SPEED = Measured(2e-3, 1e-3, 2.0, 1.9, 2.1, 1.0, 60)


@pytest.fixture
def plan() -> Plan:
    return Plan("step", "0" * 32, flags={"xla_cpu_enable_fast_min_max": True}, numerics="fast")


def changed(submission: Submission, **values: object) -> str:
    """Returns the JSON of a submission with other values of its first trajectory."""
    content = json.loads(submission.to_json())
    content["trajectories"][0] |= values
    return json.dumps(content)


def test_a_file_gives_back_what_was_saved(submission, plan, tmp_path: Path):
    measured = replace(plan, machine=machine(), measured=SPEED)
    both = replace(submission, plans=(SubmittedPlan("gpt2/a/b", measured, "close"),))
    for saved in (submission, both):
        saved.save(tmp_path / "board" / "saved.json")
        assert Submission.load(tmp_path / "board" / "saved.json") == saved
    assert [path.name for path in (tmp_path / "board").iterdir()] == ["saved.json"]


def test_each_trajectory_has_a_line(submission):
    other = replace(submission.trajectories[0].trajectory, benchmark="another/model/variant")
    two = (*submission.trajectories, replace(submission.trajectories[0], trajectory=other))
    lines = replace(submission, trajectories=two).to_json().splitlines()
    begin = lines.index('"trajectories": [')
    names = [json.loads(line.rstrip(","))["benchmark"] for line in lines[begin + 1 : begin + 3]]
    assert names == [each.benchmark for each in two]


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "3", '"text"', "[1, 2]", "NaN", "{}", '{"kind": "hlograph submission"}'),
        '{"kind": "hlograph submission", "version": 2}',
        '{"kind": "hlograph submission", "version": 1}',
        '{"kind": "hlograph plan", "version": 1}',
        "[" * 100_000,
        '{"kind": ' * 100_000,
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_submission_is_refused(text: str | bytes):
    with pytest.raises(SubmissionError, match=r"expected|damaged"):
        Submission.from_json(text)


def test_a_file_that_is_cut_off_is_refused(submission, tmp_path: Path):
    text = submission.to_json()
    path = tmp_path / "cut.json"
    for length in range(0, len(text) - 2, 97):
        path.write_text(text[:length])
        with pytest.raises(SubmissionError, match=r"cut\.json: expected the JSON of a submission"):
            Submission.load(path)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"passes": ["algsimp"]}, "expected an op count for each of 1 passes, got 4"),
        ({"passes": None}, "number 1 of its trajectories: expected the JSON of a trajectory"),
        ({"op_counts": [float("inf")] * 4}, "expected the JSON of a trajectory: OverflowError"),
        ({"op_counts": ["many"] * 4}, "expected the JSON of a trajectory: ValueError"),
        ({"op_counts": [5, 5, 5, 0]}, "expected op counts above 0 on .*, got 0"),
        ({"benchmark": "a\x1b[2Jb"}, "printable characters, got 'a.x1b"),
        ({"passes": ["\ud800"] * 4}, "printable characters"),
        ({"outputs": "different"}, "expected outputs of equal, close, not comparable, got"),
        ({"outputs": ["equal"]}, "expected outputs of"),
    ],
)
def test_a_wrong_trajectory_is_refused(submission, values, told):
    with pytest.raises(SubmissionError, match=told):
        Submission.from_json(changed(submission, **values))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"name": "../../etc"}, "expected a name of lower-case letters"),
        ({"name": "A"}, "expected a name of lower-case letters"),
        ({"category": "guess"}, "expected a category of policy, search, reference order"),
        ({"category": []}, "expected a category"),
        ({"authors": " "}, "expected the names of the authors"),
        ({"about": "two\nlines"}, "expected one line"),
        ({"about": "x" * 1_001}, "expected one line"),
        ({"commit": "main"}, "expected a commit"),
        ({"versions": [1]}, "damaged: AttributeError"),
        ({"trajectories": []}, "expected at least one trajectory or plan"),
        ({"trajectories": 3}, "damaged: TypeError"),
        ({"plans": [{}]}, "damaged: KeyError"),
        ({"plans": [{"benchmark": "b", "plan": {}, "outputs": "close"}]}, "expected a .*plan"),
    ],
)
def test_a_wrong_submission_is_refused(submission, values, told):
    with pytest.raises(SubmissionError, match=told):
        Submission.from_json(json.dumps(json.loads(submission.to_json()) | values))


def test_a_benchmark_is_in_a_submission_once(submission):
    with pytest.raises(SubmissionError, match="expected each program once, got"):
        replace(submission, trajectories=submission.trajectories * 2)


def test_a_plan_says_how_fast_it_is(plan):
    with pytest.raises(SubmissionError, match="got one without a speed"):
        SubmittedPlan("gpt2/a/b", plan, "close")
    endless = replace(plan, machine=machine(), measured=replace(SPEED, ratio=float("inf")))
    with pytest.raises(SubmissionError, match="expected ratios above 0 in the plan of gpt2/a/b"):
        SubmittedPlan("gpt2/a/b", endless, "close")


def test_a_huge_file_is_not_read(submission, tmp_path: Path, monkeypatch):
    submission.save(tmp_path / "huge.json")
    monkeypatch.setattr(submissions, "MAX_BYTES", 100)
    with pytest.raises(SubmissionError, match=r"expected at most 100 bytes in .*huge\.json"):
        Submission.load(tmp_path / "huge.json")


def test_too_many_steps_are_refused(submission, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_STEPS", 3)
    with pytest.raises(HloError, match=r"expected at most 3 steps on .*, got 4"):
        Submission.from_json(submission.to_json())
