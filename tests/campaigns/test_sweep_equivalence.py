"""The sweep over passes and modules."""

from dataclasses import replace
from pathlib import Path

import pytest

from hlograph import UnknownNameError
from tests.campaigns.framework.sweep import Line
from tests.campaigns.sweep_equivalence import EquivalenceConfig, make_sweep, write_report

# The smallest module of the corpus with convolutions, and one whose softmax algsimp rounds
# differently.
BENCHMARKS = ("signal-transform/dct/one", "loss/ranking-softmax/grad")
PASSES = ("algsimp", "dce", "cse", "cse:ignore-control", "pipeline:xla-cpu")


@pytest.fixture
def config(tmp_path: Path) -> EquivalenceConfig:
    return EquivalenceConfig(
        out=tmp_path / "sweep", benchmarks=BENCHMARKS, passes=PASSES, compile_ops=60, workers=0
    )


def sweep(config: EquivalenceConfig) -> list[Line]:
    made = make_sweep(config)
    assert made.run(lambda lines: write_report(lines, config)) == 0
    return made.lines()


def test_every_pass_on_every_module(config):
    dct, softmax = sweep(config)
    assert (dct["benchmark"], softmax["benchmark"]) == BENCHMARKS  # smallest first
    by_pass = {result["name"]: result for result in softmax["results"]}
    assert tuple(by_pass) == PASSES
    assert by_pass["algsimp"]["verdict"] == "close"
    assert by_pass["algsimp"]["ulp"] > 0
    assert not by_pass["dce"]["changed"]
    assert by_pass["cse"]["verdict"] == "equal"
    # Another pass made the same module, which is not compared again.
    assert by_pass["cse"]["fingerprint"] == by_pass["cse:ignore-control"]["fingerprint"]
    assert by_pass["cse:ignore-control"]["seconds"] < 0.01
    # Only the smaller one is compiled.
    compiled = [result.get("compiled") for result in dct["results"]]
    assert [c and c["verdict"] for c in compiled] == [None, None, None, None, "equal"]
    assert not any("compiled" in result for result in softmax["results"])
    assert "| `algsimp` |" in (config.out / "report.md").read_text()


def test_no_module_is_begun_after_the_time_limit(config):
    assert sweep(replace(config, time_limit=0.0)) == []
    assert (config.out / "report.md").is_file()


def test_names_are_checked_before_anything_runs(config):
    with pytest.raises(UnknownNameError, match="algsimp"):
        make_sweep(replace(config, passes=("algsmp",)))
    with pytest.raises(UnknownNameError, match="xla-cpu"):
        make_sweep(replace(config, passes=("pipeline:xla-cp",)))


def line(name: str, **result: object) -> Line:
    base = {"name": "cse", "changed": True, "verdict": "equal", "reason": "", "fingerprint": name}
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
    assert "but bits changed: `cse`" in report
    assert "| `cse` | `c` | output 0: wrong |" in report
    assert "| collectives, for several devices | 1 | 1 | `d` |" in report
    assert "`cse` crashed: SIGABRT" in report
    clean = write_report([line("a")], config)
    assert "No pass of class exact changed a bit." in clean
    assert "None: no pass changed a result" in clean
