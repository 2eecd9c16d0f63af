"""Claims: what files of results say, and files that say nothing."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from hlograph import HloError, Plan, corpus
from hlograph.board.claims import ClaimedSteps, Claims, claims_of
from hlograph.decisions.trajectory import Trajectory
from hlograph.storage.checked_file import write_checked_json


def outcome(benchmark: str, passes: list[str], **others: object) -> dict[str, Any]:
    """Returns an outcome as a study has it."""
    return {"benchmark": benchmark, "start": 9, "op_count": 5, "passes": passes, **others}


def study(folder: Path, *trials: dict[str, Any]) -> str:
    """Writes a study with trials, and returns the folder."""
    made = {"commit": "0123456", "command": "python -m experiments.evaluate gnn"}
    content = {"name": "x", "trials": list(trials), "made": made}
    write_checked_json(folder / "study.json", "study", 1, content)
    return str(folder)


def trial(method: str, seed: int, *outcomes: dict[str, Any], **others: object) -> dict[str, Any]:
    """Returns a trial as a study has it."""
    return {"method": method, "seed": seed, "outcomes": outcomes, "checks": [], **others}


def test_a_study_claims_the_outcomes_of_one_method_and_seed(tmp_path: Path):
    folder = study(
        tmp_path,
        trial("GNN", 0, outcome("a", ["cse", "dce"])),
        trial("GNN", 0, outcome("b", [])),
        trial("GNN", 1, outcome("a", ["dce"])),
        trial("random", 0, outcome("a", ["algsimp"])),
    )
    steps = (ClaimedSteps.to(5, "a", ["cse", "dce"]), ClaimedSteps.to(5, "b", []))
    expected = Claims(steps, (), "0123456", "python -m experiments.evaluate gnn")
    assert claims_of(folder, (), "GNN", 0) == expected
    assert steps[0].op_counts == (None, None, 5)
    for choice in ((None, None), ("GNN", None), (None, 0), ("GNN", 2)):
        with pytest.raises(HloError, match=r"--method and --seed .* 'GNN' with seed 0; 'GNN' with"):
            claims_of(folder, (), *choice)


def test_an_outcome_that_failed_its_check_counts_as_no_steps(tmp_path: Path):
    checks = [{"problem": "it differs", "verdict": "different"}]
    folder = study(tmp_path, trial("GNN", 0, outcome("a", ["cse"]), checks=checks))
    assert claims_of(folder, (), None, None).steps == (ClaimedSteps.to(9, "a", []),)


def test_a_result_without_steps_to_it_is_refused(tmp_path: Path):
    folder = study(tmp_path, trial("saturation", 0, outcome("a", [], packed="eJw=")))
    with pytest.raises(HloError, match="no steps lead to the result on a"):
        claims_of(folder, (), None, None)


def test_lines_are_trajectories(tmp_path: Path):
    first = Trajectory("a", "f0", 9, ("cse", "dce"), (8, 7), "f1")
    both = [first, replace(first, benchmark="b")]
    path = tmp_path / "episodes.jsonl"
    path.write_text("\n\n".join(trajectory.to_json() for trajectory in both) + "\n")
    claims = claims_of(str(path), (), None, None)
    assert claims == Claims(tuple(map(ClaimedSteps.of, both)))
    assert claims.steps[0].op_counts == (9, 8, 7)
    assert claims.only(["b", "c"]) == Claims((ClaimedSteps.of(both[1]),))


def test_rows_of_best_known_counts_are_claims(tmp_path: Path):
    path = tmp_path / "best.csv"
    path.write_text("benchmark,fingerprint,op_count,passes\na,f0,5,cse dce\n")
    expected = replace(ClaimedSteps.to(5, "a", ["cse", "dce"]), start_fingerprint="f0")
    assert claims_of(str(path), (), None, None).steps == (expected,)


def test_a_pipeline_is_one_step_on_each_module():
    claims = claims_of("xla-simplify", ["a", "b"], None, None)
    assert claims.steps == tuple(ClaimedSteps.to(None, name, ["xla-simplify"]) for name in "ab")


def test_a_plan_is_of_the_program_with_its_fingerprint(tmp_path: Path):
    program = corpus.load("speed", split="train")[0]
    plan = Plan("step", program.fingerprint)
    plan.save(tmp_path / "step.plan.json")
    claims = claims_of(str(tmp_path / "step.plan.json"), (), None, None)
    assert claims.plans == ((program.name, plan),)
    replace(plan, fingerprint="0" * 32).save(tmp_path / "step.plan.json")
    with pytest.raises(HloError, match="expected a plan for a program of the corpus"):
        claims_of(str(tmp_path / "step.plan.json"), (), None, None)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("text.txt", b"no JSON", "expected a run's folder"),
        ("bytes.json", b"\xff\xfe", "expected a run's folder"),
        ("number.json", b"3", "expected the JSON of a trajectory"),
        ("deep.json", b"[" * 100_000, "expected a run's folder"),
        ("study.json", b"{}", "is no study"),
        ("study.json", b"[" * 100_000, "expected a run's folder"),
        ("best.csv", b"a,b\n1,2\n", "expected a run's folder"),
        ("own.json", b'{"kind": "hlograph submission"}', "is a submission already"),
        ("plan.json", b'{"kind": "hlograph plan"}', "expected a 'hlograph plan' of version 1"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, told: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HloError, match=told):
        claims_of(str(tmp_path / name), (), None, None)


def test_what_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(HloError, match=r"expected a run's folder .*, got 'nothing'"):
        claims_of("nothing", (), None, None)
    with pytest.raises(HloError, match=r"expected study\.json or study\.json\.gz in"):
        claims_of(str(tmp_path), (), None, None)


def test_steps_before_their_replay_lead_nowhere():
    before = ClaimedSteps.to(5, "a", ["cse"]).unreplayed()
    assert asdict(before)["trajectory"]["op_counts"] == (1,)
    assert (before.benchmark, before.outputs) == ("a", "not comparable")
