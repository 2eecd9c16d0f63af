"""The page of the board: rows of known values, and the submissions that the project has."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.board import (
    FOLDER,
    PAGE,
    ROOT,
    cell,
    load,
    main,
    plans_part,
    standings,
    trajectories_part,
)
from experiments.evaluate.evaluation import count_ratios
from experiments.evaluate.study import Study
from hlograph import HloError, Plan, corpus
from hlograph.board.replaying import differences
from hlograph.board.submission import Submission, SubmittedPlan, SubmittedTrajectory
from hlograph.corpus import Benchmark
from hlograph.decisions.trajectory import Trajectory
from hlograph.plans import Measured
from hlograph.storage.machine import Machine

COMMITTED = sorted(FOLDER.glob("*.json"))
METHODS = {"gnn": "GNN", "op-counts": "op counts"}


@pytest.fixture(scope="module")
def two() -> list[Benchmark]:
    """Returns two benchmarks of one set and split."""
    return list(corpus.load("gpt2-train", split="validation")[:2])


def submission(
    name: str, counts: dict[Benchmark, int], outputs: str = "equal", **fields: str
) -> Submission:
    """Returns a submission that leaves so many instructions in each benchmark, after two steps."""
    trajectories = [
        Trajectory(b.name, b.fingerprint, b.op_count, ("cse", "dce"), (b.op_count, count), "f")
        for b, count in counts.items()
    ]
    results = tuple(SubmittedTrajectory(each, outputs) for each in trajectories)  # pyright: ignore[reportArgumentType]
    values = {"category": "search", "authors": "Ada", "commit": "0123456789abc+changes"} | fields
    return Submission(name=name, trajectories=results, **values)  # pyright: ignore[reportArgumentType]


def table(part: str) -> list[list[str]]:
    """Returns the cells of the rows of a table in Markdown, without its heads."""
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def simplified(benchmark: Benchmark) -> int:
    count = benchmark.op_count_xla_simplify
    assert count is not None
    return count


def test_rows_have_known_values(two):
    first, second = two
    after = {benchmark: simplified(benchmark) for benchmark in two}
    best = submission("best", after | {second: after[second] // 2}, about="half of the second")
    equal = [submission(name, after) for name in ("b", "a")]
    nothing = submission("nothing", {b: b.op_count for b in two}, "not comparable", commit="")
    part = trajectories_part([nothing, *equal, best])
    assert part.startswith("### gpt2-train validation: 2 modules\n")
    rows = table(part)
    assert [row[:2] for row in rows] == [
        ["1", "best: half of the second"],
        ["2=", "a"],
        ["2=", "b"],
        ["4", "nothing"],
    ]
    ratio = after[second] / (after[second] // 2)
    starts, left = first.op_count + second.op_count, after[first] + after[second]
    over_start = math.sqrt(first.op_count * second.op_count / (after[first] * after[second]))
    assert rows[0][3:5] == [f"{math.sqrt(ratio):.4f}", f"1.000 {cell(first.name)}"]
    assert rows[1][3:] == [
        *("1.0000", f"1.000 {cell(min(first.name, second.name))}", f"{over_start:.4f}"),
        *(f"{starts:,} → {left:,}", f"{100 * (left - starts) / starts:+.1f} %", "+0.0 %"),
        *("2.0", "2 of 2", "Ada", "`0123456789+changes`"),
    ]
    assert rows[3][3] == f"{1 / over_start:.4f}"
    assert rows[3][5:8] == ["1.0000", f"{starts:,} → {starts:,}", "+0.0 %"]
    assert rows[3][10] == "0 of 2"


def test_other_modules_stand_in_another_table(two):
    one = submission("one", {two[0]: 5})
    both = submission("both", dict.fromkeys(two, 5))
    other = submission("other", {corpus.load("diverse", split="validation")[0]: 5})
    heads = [line for line in trajectories_part([both, one, other]).splitlines() if "###" in line]
    assert heads == [
        "### diverse validation: 1 module",
        "### gpt2-train validation: 1 module",
        "### gpt2-train validation: 2 modules",
    ]


def test_a_submission_about_another_module_is_refused(two):
    wrong = submission("old", {replace(two[0], fingerprint="0" * 32): 5})
    with pytest.raises(HloError, match=f"old is about another {two[0].name}: expected the fing"):
        trajectories_part([wrong])


def test_plans_have_a_row_for_each_submission(two):
    machine = Machine("Some CPU", "1.2.3", "01234567", 2, "0.10.2")
    programs = corpus.load("speed", split="train")[:2]
    plans = [
        SubmittedPlan(
            benchmark.name,
            Plan("p", machine=machine, measured=Measured(2.0, 1.0, ratio, 0.9, 9.0, 1.0, 60)),
            "close",
        )
        for benchmark, ratio in zip(programs, (2.0, 8.0), strict=True)
    ]
    fast = replace(submission("fast", {two[0]: 5}), trajectories=(), plans=tuple(plans))
    faster = replace(
        plans[0], plan=replace(plans[0].plan, measured=Measured(3.0, 1.0, 3.0, 0.9, 9.0, 1.0, 60))
    )
    slow = replace(fast, name="slow", plans=(faster, plans[1]))
    fewer = replace(fast, name="fewer", plans=(plans[1],))
    # Plans of other programs are not compared.
    _, of_one, of_both = plans_part([fewer, fast, slow]).split("### ")
    assert of_one.startswith("speed train: 1 program\n")
    assert [row[:2] for row in table(of_one)] == [["1", "fewer"]]
    assert of_both.startswith("speed train: 2 programs\n")
    rows = table(of_both)
    assert [row[:5] for row in rows] == [
        ["1", "slow", "search", "4.899", f"3.000 {cell(plans[0].benchmark)}"],
        ["2", "fast", "search", "4.000", f"2.000 {cell(plans[0].benchmark)}"],
    ]
    assert rows[0][5:7] == ["2 of 2", cell(str(machine))]
    assert plans_part([]) == trajectories_part([]) == "There is none yet."


def test_texts_of_a_submission_stay_in_their_cell(two):
    mine = submission("mine", {two[0]: 5}, about="<b>a|b</b> [x](http://y) `z`", authors="*A_B*")
    (row,) = table(trajectories_part([mine]).replace("\\|", "PIPE"))
    assert row[1] == r"mine: \<b\>aPIPEb\</b\> \[x\]\(http://y\) \`z\`"
    assert row[11] == r"\*A\_B\*"


def test_the_file_is_called_by_the_name(two, tmp_path: Path, capsys):
    submission("mine", {two[0]: 5}).save(tmp_path / "other.json")
    assert main(["--folder", str(tmp_path), "--page", "None"]) == 2
    assert "expected mine.json, got other.json" in capsys.readouterr().err
    assert main(["--folder", str(tmp_path / "none"), "--page", "None"]) == 2
    assert "expected submissions in" in capsys.readouterr().err


def test_the_page_is_that_of_the_submissions(tmp_path: Path):
    """Mended by ``python -m benchmarks.board``."""
    page = tmp_path / "board.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["--page", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_submission_replays_on_its_smallest_module(path: Path):
    whole = Submission.load(path)
    smallest = sorted(whole.trajectories, key=lambda each: each.trajectory.start_op_count)[:1]
    assert list(differences(replace(whole, trajectories=tuple(smallest)), 0, 0)) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_submission_replays(path: Path):
    assert list(differences(Submission.load(path), 1, None)) == []


def test_committed_rows_agree_with_the_published_study():
    (path,) = (ROOT / "docs" / "results" / "studies" / "win").glob("study.json*")
    study = Study.load(path)
    compared = 0
    for standing in standings(load(FOLDER)):
        name = re.fullmatch(r"(gnn|op-counts)-seed(\d)(-best-of-16)?", standing.submission.name)
        if name is None:
            continue
        method = METHODS[name[1]] + (", best of 16" if name[3] else "")
        (trial,) = [t for t in study.of(method, standing.part) if t.seed == int(name[2])]
        published = count_ratios(trial.counted(), study.references)["xla-simplify"]
        assert standing.score == round(published, 4)
        assert standing.left == [outcome.op_count for outcome in trial.counted()]
        compared += 1
    assert compared >= 10
