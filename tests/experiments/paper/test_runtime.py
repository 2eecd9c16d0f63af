"""Run times before and after: what is measured, what is left out, and what it says together."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hlograph
from experiments.evaluate.benchmarks import load
from experiments.evaluate.best_known import BestKnown
from experiments.evaluate.evaluation import Outcome
from experiments.evaluate.study import STUDY, Study
from experiments.paper import runtime_worker
from experiments.paper.paired_timing import CONTROL, Side, TimedPair, summaries, summary, table
from experiments.paper.runtime import run
from experiments.paper.runtime_worker import (
    MethodTiming,
    MethodToTime,
    TimeBenchmark,
    make_worker,
    measure,
)
from experiments.paper.settings import BEST_KNOWN, RUNTIME
from experiments.policies.checkpoint import Checkpoint
from experiments.policies.config import PolicyName, to_json
from experiments.policies.kind import policy_kind
from hlograph.execution.equivalence import Limits
from hlograph.execution.executable import Executable
from hlograph.isolation import FlightRecorder, InProcessPool
from models.ppo import PPO
from tests.experiments.tiny_run import tiny_config

BENCHMARK = "hypernetwork/d1/forward"
TINY = replace(
    RUNTIME["quick"],
    op_limit=100,
    compilations=1,
    repetitions=4,
    sample_seconds=0.0,
    samples=0,
    num_workers=1,
)
"""Two benchmarks of less than a hundred instructions."""


def _pair(method="GNN", low=0.9, high=1.1, median=1.0, kernels=(4, 4), seconds=(1.0, 1.0)):
    sides = [Side(10, s, k, 1e-3) for s, k in zip(seconds, kernels, strict=True)]
    return TimedPair("b", method, [median] * 3, median, low, high, *sides)


def _task(*candidates: MethodToTime, benchmark: str = BENCHMARK, **changes) -> TimeBenchmark:
    task = TimeBenchmark(benchmark, candidates, (0, 1), 2, 6, 1, 0.0, 5.0, 60.0, Limits())
    return replace(task, **changes)


def _measured(task: TimeBenchmark) -> dict[str, MethodTiming]:
    ((name, results),) = measure(InProcessPool(make_worker), [task])
    assert name == task.benchmark
    return {result.method: result for result in results}


def test_known_answers():
    found = summary(
        [
            _pair(median=2.0, low=1.5, high=2.5, kernels=(4, 2), seconds=(3.0, 1.0)),
            _pair(median=0.5, low=0.4, high=0.6, kernels=(0, 1), seconds=(3.0, 1.0)),
            _pair(median=1.0, low=1.0, high=1.2, kernels=(2, 4), seconds=(1.0, 9.0)),
        ]
    )
    assert (found.benchmarks, found.faster, found.slower) == (3, 1, 1)
    assert (found.min, found.max) == (0.5, 2.0)
    assert found.geometric_mean == pytest.approx(1.0)
    assert found.mean == pytest.approx(3.5 / 3)
    assert found.sd == pytest.approx(math.sqrt(7 / 12))
    assert 0.5 <= found.low < 1 < found.high <= 2
    assert found.kernels == pytest.approx(1.0)
    assert found.compile == pytest.approx(1.0)
    assert summary([_pair()]).sd is None


def test_the_control_is_shown_first():
    by_method = summaries([_pair("b"), _pair(CONTROL), _pair("a")])
    assert list(by_method) == [CONTROL, "b", "a"]
    assert [line.split()[0] for line in table(by_method).splitlines()[1:]] == [CONTROL, "b", "a"]


def test_a_pipeline_s_result_is_checked_and_timed():
    found = _measured(_task(MethodToTime("xla-simplify", None)))
    assert list(found) == [CONTROL, "xla-simplify"]
    after = found["xla-simplify"]
    assert after.outcome is not None
    assert after.check is not None
    assert after.pair is not None
    assert after.outcome.op_count < after.outcome.start
    assert after.check.problem is None
    assert after.check.verdict in ("equal", "close")
    # Three pairs on the inputs of each of the two seeds.
    assert len(after.pair.ratios) == 6
    assert after.pair.low <= after.pair.median <= after.pair.high
    assert after.pair.after.op_count == after.outcome.op_count
    control = found[CONTROL].pair
    assert control is not None
    assert control.before.kernels == control.after.kernels == after.pair.before.kernels > 0
    assert control.after.compile_seconds > 0 < control.after.median_seconds


def test_both_sides_are_compiled_in_turn(monkeypatch):
    module = load(BENCHMARK)
    assert module.run("algsimp")
    seconds = iter([9.0, 1.0, 2.0, 5.0, 3.0, 4.0, 8.0, *[1.0] * 99])
    compiled = []

    class Timed(Executable):
        def __init__(self, module, limits=None):
            super().__init__(module, limits)
            self.compile_seconds = next(seconds)
            compiled.append(module.op_count)

    monkeypatch.setattr("experiments.paper.runtime_worker.Executable", Timed)
    outcome = Outcome(BENCHMARK, 77, module.op_count, ("algsimp",), 1)
    task = _task(MethodToTime("algsimp", outcome), compilations=3)
    # Not by way of a pool: the worker's warm-up compiles, too.
    found = {r.method: r for r in runtime_worker.results_of(task, FlightRecorder())}
    before = found[CONTROL].pair.before.op_count
    after = module.op_count
    turns = [after, before, before, after, after, before]
    assert compiled == [before, *[before] * 6, *turns]
    control = found[CONTROL].pair
    # Of 2, 5 and 8 before, and of 1, 3 and 4 after: the first, 9, is out of turn.
    expected = (5.0, 3.0)
    assert (control.before.compile_seconds, control.after.compile_seconds) == expected


def test_an_outcome_that_fails_its_check_is_not_timed():
    wrong = Outcome(BENCHMARK, 77, 1, ("cse",), 1)
    unknown = Outcome(BENCHMARK, 77, 1, ("no-such-pass",), 1)
    found = _measured(_task(MethodToTime("wrong", wrong), MethodToTime("unknown", unknown)))
    assert found[CONTROL].pair is not None
    assert found["wrong"].pair is None
    assert "instructions" in (found["wrong"].problem or "")
    assert found["unknown"].pair is None
    assert "no-such-pass" in (found["unknown"].problem or "")


@pytest.mark.parametrize(
    ("benchmark", "limits", "why"),
    [("gp-tinygp/linear/predict", Limits(), "lapack"), (BENCHMARK, Limits(flops=1), "flops")],
)
def test_what_cannot_be_executed_is_named(benchmark, limits, why):
    task = _task(MethodToTime("xla-cpu", None), benchmark=benchmark, limits=limits)
    found = _measured(task)
    assert list(found) == [CONTROL]
    assert why in (found[CONTROL].problem or "")


class _Aborting(FlightRecorder):
    """Ends the process when a method begins."""

    def begin(self, note: bytes, seconds: float | None = None) -> None:
        super().begin(note, seconds)
        if note == b"xla-cpu":
            os.abort()


def make_aborting_worker(recorder: FlightRecorder) -> Callable[[TimeBenchmark], list[MethodTiming]]:
    """Makes a worker that does not survive XLA:CPU's order."""
    aborting = _Aborting()
    aborting.__setstate__(recorder.__getstate__())
    return make_worker(aborting)


def no_worker(recorder: FlightRecorder) -> Callable[[TimeBenchmark], list[MethodTiming]]:
    """Fails, as no worker is needed."""
    raise AssertionError("everything was measured before")


def test_a_method_that_ends_its_worker_costs_that_method_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("experiments.evaluate.best_known.current", dict)
    monkeypatch.setattr("experiments.paper.checkpoints.one_of_each", lambda kinds: {})
    config = replace(TINY, count=1)
    study = run(config, tmp_path, make_aborting_worker)
    assert [p["method"] for p in study.measurements["pairs"]] == [CONTROL, "xla-simplify"]
    ((benchmark, problems),) = study.measurements["left_out"].items()
    assert list(problems) == ["xla-cpu"]
    assert "crashed" in problems["xla-cpu"]
    assert any(benchmark in note and "xla-cpu" in note for note in study.notes)
    assert any(note.startswith(f"{BEST_KNOWN} is not shown") for note in study.notes)
    # The same command again goes on where it was given up, which is at the end.
    assert run(config, tmp_path, no_worker).measurements == study.measurements


def _untrained(name: PolicyName, path: Path) -> str:
    config = tiny_config()
    kind = policy_kind(name, config)
    ppo = PPO(kind.new_policy(), kind.ppo)
    Checkpoint(
        kind=name,
        config=to_json(config),
        actions=hlograph.passes.names,
        policy=ppo.policy.state_dict(),
        optimizer=ppo.optimizer.state_dict(),
        iteration=0,
        steps=0,
        imitated=3,
        quarantine=(),
    ).save(path)
    return str(path)


def test_a_study_of_all_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    module = load(BENCHMARK)
    assert module.run("algsimp")
    known = BestKnown(BENCHMARK, "", module.op_count, "search", ("algsimp",))
    monkeypatch.setattr("experiments.evaluate.best_known.current", lambda: {BENCHMARK: known})
    checkpoint = _untrained("gnn", tmp_path / "gnn.checkpoint")
    references = ("xla-simplify",)
    study = run(replace(TINY, checkpoints=(checkpoint,), references=references), tmp_path)
    study.save(tmp_path)
    assert Study.load(tmp_path / STUDY).measurements == study.measurements
    methods = [CONTROL, "GNN", BEST_KNOWN, *references]
    assert list(study.measurements["summaries"]) == methods
    assert study.measurements["summaries"][BEST_KNOWN]["benchmarks"] == 1
    assert len(study.references) == 2
    for name, reference in study.references.items():
        pairs = study.measurements["pairs"]
        mine = {p["method"]: p for p in pairs if p["benchmark"] == name}
        assert list(mine) == [m for m in methods if m != BEST_KNOWN or name == BENCHMARK]
        assert mine["xla-simplify"]["after"]["op_count"] == reference.after["xla-simplify"]
        assert all(len(p["ratios"]) == 4 for p in mine.values())
    assert study.groups() == ["all test-unseen"]
    assert study.methods("all test-unseen") == methods[1:]
    assert any(note.startswith("GNN: GNN, seed 0: trained on 0 pass calls") for note in study.notes)
    horizon = tiny_config().horizon
    assert all(o.calls <= horizon for t in study.trials[:1] for o in t.outcomes)
    assert all(c.problem is None for t in study.trials for c in t.checks)
