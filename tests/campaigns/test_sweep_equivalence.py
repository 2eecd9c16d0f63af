"""The sweep over passes and modules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hlograph import UnknownNameError
from tests.campaigns.equivalence.report import write_report
from tests.campaigns.sweep_equivalence import Sweep, SweepConfig

# The smallest module of the corpus with convolutions, and one whose softmax algsimp rounds
# otherwise.
BENCHMARKS = ("signal-transform/dct/one", "loss/ranking-softmax/grad")
PASSES = ("algsimp", "dce", "cse", "cse:ignore-control", "pipeline:xla-cpu")


@pytest.fixture
def config(tmp_path: Path) -> SweepConfig:
    return SweepConfig(
        out=tmp_path / "sweep", benchmarks=BENCHMARKS, passes=PASSES, compile_ops=60, workers=0
    )


def test_every_pass_on_every_module(config):
    sweep = Sweep(config)
    sweep.run()
    dct, softmax = sweep.lines()
    assert (dct["benchmark"], softmax["benchmark"]) == BENCHMARKS  # smallest first
    by_pass = {result["pass"]: result for result in softmax["results"]}
    assert tuple(by_pass) == PASSES
    assert by_pass["algsimp"]["verdict"] == "close"
    assert by_pass["algsimp"]["ulp"] > 0
    assert not by_pass["dce"]["changed"]
    assert by_pass["cse"]["verdict"] == "equal"
    # The same module as another pass made: not compared again.
    assert by_pass["cse"]["fingerprint"] == by_pass["cse:ignore-control"]["fingerprint"]
    assert by_pass["cse:ignore-control"]["seconds"] < 0.01
    # Only the smaller one is compiled.
    compiled = [result.get("compiled") for result in dct["results"]]
    assert [c and c["verdict"] for c in compiled] == [None, None, None, None, "equal"]
    assert not any("compiled" in result for result in softmax["results"])


def test_a_sweep_goes_on_where_it_was_stopped(config):
    first = replace(config, benchmarks=BENCHMARKS[:1])
    Sweep(first).run()
    before = (config.out / "results.jsonl").read_text()
    with (config.out / "results.jsonl").open("a") as file:
        file.write('{"benchmark": "cut o')  # the process ended while it wrote
    sweep = Sweep(config)
    sweep.run()
    assert [line["benchmark"] for line in sweep.lines()] == list(BENCHMARKS)
    assert (config.out / "results.jsonl").read_text().startswith(before)


def test_no_module_is_begun_after_the_time_limit(config):
    sweep = Sweep(replace(config, time_limit=0.0))
    sweep.run()
    assert sweep.lines() == []
    assert (config.out / "report.md").is_file()


def test_names_are_checked_before_anything_runs(config):
    with pytest.raises(UnknownNameError, match="algsimp"):
        Sweep(replace(config, passes=("algsmp",)))
    with pytest.raises(UnknownNameError, match="xla-cpu"):
        Sweep(replace(config, passes=("pipeline:xla-cp",)))


def line(name: str, **result: object) -> dict[str, object]:
    base = {"pass": "cse", "changed": True, "verdict": "equal", "reason": "", "fingerprint": name}
    return {"benchmark": name, "op_count": 10, "results": [base | result]}


def test_the_report_counts_and_contradicts(config, tmp_path):
    lines = [
        line("a"),
        line("b", verdict="close", ulp=3.25, relative=4e-7, engine="evaluator"),
        line("c", verdict="different", reason="output 0: wrong"),
        line("d", verdict="not comparable", reason="all-reduce needs other devices"),
        line("e", verdict="crashed", reason="SIGABRT"),
        line("f", changed=False),
    ]
    report = write_report(lines, config)
    assert "--compile-ops 60" in report
    assert str(tmp_path) not in report
    assert "| `cse` | exact | 5 | 1 | 1 | 1 | 1 | 1 | 3.25 | `b` |" in report
    assert "not seen to be: `cse`" in report
    assert "| `cse` | `c` | output 0: wrong |" in report
    assert "| collectives, for several devices | 1 | 1 | `d` |" in report
    assert "`cse` crashed: SIGABRT" in report
    clean = write_report([line("a")], config)
    assert "No pass of class exact changed a bit." in clean
    assert "None: no pass changed a result" in clean


@pytest.mark.slow
def test_a_lost_worker_costs_one_pass(config, monkeypatch):
    """A limit that no comparison keeps: the worker is killed, the other passes are run."""
    sweep = Sweep(replace(config, workers=1, max_seconds=1e-6, benchmarks=BENCHMARKS[:1]))
    sweep.run()
    (only,) = sweep.lines()
    assert {result["verdict"] for result in only["results"]} >= {"timed_out"}
