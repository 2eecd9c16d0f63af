"""hlograph board."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hlograph import corpus
from hlograph.board.submission import Submission
from tests.hlograph.commands.conftest import Called

Call = Callable[..., Called]
NAMED = ("--name", "mine", "--authors", "Ada Lovelace", "--workers", "1")


@pytest.fixture
def rows(user_folder: Path) -> Path:
    """Writes a CSV about two small benchmarks, whose passes lead to known counts."""
    benchmarks = sorted(corpus.load(split="train"), key=lambda b: (b.op_count, b.name))[:2]
    lines = ["benchmark,fingerprint,op_count,passes"]
    for benchmark in benchmarks:
        module = benchmark.load()
        module.run("call-inliner")
        module.run("algsimp")
        passes = "call-inliner algsimp"
        lines.append(f"{benchmark.name},{benchmark.fingerprint},{module.op_count},{passes}")
    path = user_folder / "best.csv"
    path.write_text("\n".join(lines))
    return path


def test_what_is_submitted_holds(call: Call, rows: Path, user_folder: Path):
    status, out, _ = call("board", "submit", "best.csv", *NAMED, "--category", "search")
    assert (status, out.startswith("mine: 2 results, ")) == (0, True)
    submission = Submission.load(user_folder / "mine.json")
    assert (submission.name, submission.category, submission.authors) == (
        *("mine", "search"),
        "Ada Lovelace",
    )
    assert submission.versions["jaxlib"]
    status, out, _ = call("board", "verify", "mine.json", "--workers", "1")
    assert (status, out.startswith("mine.json: mine: 2 results, ")) == (0, True)


def test_a_wrong_count_is_refused(call: Call, rows: Path, user_folder: Path):
    lines = rows.read_text().splitlines()
    name, fingerprint, count, passes = lines[1].split(",")
    rows.write_text("\n".join([lines[0], f"{name},{fingerprint},{int(count) - 1},{passes}"]))
    status, out, error = call("board", "submit", "best.csv", *NAMED, "--samples", "0")
    assert (status, out) == (1, "")
    assert error.startswith(f"error: refused: 1 of 1 module differ: {name}: at the step 2 (algsimp")
    assert not (user_folder / "mine.json").exists()


def test_differences_are_listed(call: Call, rows: Path, user_folder: Path):
    assert call("board", "submit", "best.csv", *NAMED, "--samples", "0")[0] == 0
    content = json.loads((user_folder / "mine.json").read_text())
    content["trajectories"][1]["passes"][0] = "no-such-pass"
    (user_folder / "mine.json").write_text(json.dumps(content))
    (user_folder / "cut.json").write_text('{"kind": ')
    files = ("mine.json", "cut.json", "none.json")
    status, out, _ = call("board", "verify", *files, "--samples", "0", "--workers", "1")
    lines = out.splitlines()
    assert status == 1
    assert lines[0] == "mine.json: 1 of 2 results differ"
    assert "at the step 1 (no-such-pass): no pass or pipeline is called" in lines[1]
    assert (lines[2], lines[4]) == ("cut.json: not verified", "none.json: not verified")
    assert "expected the JSON of a submission" in lines[3]
    status, out, _ = call("board", "verify", "cut.json", "--json")
    assert (status, [entry["file"] for entry in json.loads(out)]) == (1, ["cut.json"])


def test_modules_are_those_of_another_submission(call: Call, rows: Path, user_folder: Path):
    assert call("board", "submit", "best.csv", *NAMED, "--samples", "0")[0] == 0
    arguments = ("--name", "order", "--authors", "x", "--samples", "0", "--workers", "1")
    like = ("--like", "mine.json", "--category", "reference order")
    assert call("board", "submit", "xla-simplify", *arguments, *like)[0] == 0
    names = [row.split(",")[0] for row in rows.read_text().splitlines()[1:]]
    order = Submission.load(user_folder / "order.json")
    assert [each.benchmark for each in order.trajectories] == names
    assert [each.op_count for each in order.trajectories] == [
        corpus.benchmark(name).op_count_xla_simplify for name in names
    ]
    status, _, error = call("board", "submit", "best.csv", *NAMED, "--split", "validation")
    assert (status, "expected a source with results on the modules" in error) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("submit", *NAMED), "error: expected a source"),
        (("submit", "best.csv", *NAMED, "--samples", "-1"), "error: --samples: expected 0 or more"),
        (
            ("submit", "best.csv", "--name", "A b", "--authors", "x"),
            "error: expected a name of low",
        ),
        (("verify",), "error: expected at least one file"),
        (("verify", "mine.json", "--workers", "0"), "error: --workers: expected 1 or more, got 0"),
    ],
)
def test_what_is_wrong_is_said_before_any_replay(call: Call, rows: Path, arguments, told):
    status, _, error = call("board", *arguments)
    assert (status, error.startswith(told)) == (1, True)
