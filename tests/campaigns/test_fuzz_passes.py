"""The pass campaign: a short one, and a failure of each of its checks."""

import ctypes
import json
import os
import random
from dataclasses import replace

import pytest

import hlograph
from hlograph import Module, corpus
from hlograph.errors import PassError
from hlograph.isolation import FlightRecorder
from tests.campaigns.fuzz_passes import FINDINGS, Campaign, PassFuzzConfig, fuzz
from tests.campaigns.passes.checks import CheckedModule
from tests.campaigns.passes.heap import growth_per_visit, leak_per_call
from tests.campaigns.passes.records import (
    Finding,
    FindingError,
    Tally,
    Visit,
    VisitResult,
    WalkRecord,
    grouped,
)
from tests.campaigns.passes.walks import Plan, Visitor, longest_walk, replay_in_fresh_interpreter
from tests.tiny_module import TINY

BENCHMARK = "stencil/diffusion-x4-y2/forward"
SMALL = PassFuzzConfig(steps=2_500, workers=2, op_limit=250, fresh_replays=10)


class Tampered(Module):
    """Module that runs passes as XLA does, for subclasses that break one property."""

    def clone(self):
        return type(self)(self._native.clone())


class Silent(Tampered):
    def run(self, pass_or_pipeline):
        super().run(pass_or_pipeline)
        return False


class Invalid(Tampered):
    def run(self, pass_or_pipeline):
        text = "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] add(p, p)\n}\n"
        self._native = Module.from_text(text)._native
        return True


class HalfDone(Tampered):
    def run(self, pass_or_pipeline):
        changed = super().run(pass_or_pipeline)
        if pass_or_pipeline.name == "dce":
            raise PassError("gave up half-way")
        return changed


class Shared(Tampered):
    def clone(self):
        # A clone of a clone is the same module.
        fresh = Shared(self._native.clone())
        fresh.clone = lambda: Shared(fresh._native)
        return fresh


class Fickle(Tampered):
    """Module that also runs cse from the third pass of the process on."""

    calls = 0

    def run(self, pass_or_pipeline):
        changed = super().run(pass_or_pipeline)
        Fickle.calls += 1
        return (Fickle.calls >= 3 and super().run("cse")) or changed


class Unprintable(Tampered):
    def to_text(self, *, metadata=False):
        return super().to_text(metadata=metadata).replace("exponential", "tanh")


def checked(kind=Tampered) -> CheckedModule:
    start = kind(Module.from_text(TINY)._native)
    return CheckedModule("tiny", start, FlightRecorder(), random.Random(0), Tally())


def kind_found(action) -> str:
    with pytest.raises(FindingError) as caught:
        action()
    return caught.value.finding.kind


def test_an_honest_module_passes_every_check():
    module = checked()
    assert module.run("call-inliner")
    module.check_fork(["cse", "algsimp"])
    module.verify()
    module.check_round_trips()
    module.check_replay()
    assert module.passes == ["call-inliner", "cse", "algsimp"]
    assert module.changing == ["call-inliner", "cse"]
    assert module.op_counts == [5, 4, 4]
    # The walk's own, the clone's, and the repetition of what changed the module.
    assert module.tally.calls == 3 + 2 + 2


def test_a_change_that_is_not_reported():
    assert kind_found(lambda: checked(Silent).run("dce")) == "silent change"


def test_a_module_that_the_verifier_rejects():
    assert kind_found(lambda: checked(Invalid).run("dce")) == "verifier failure"


def test_an_error_that_changes_the_module():
    module = checked(HalfDone)
    module.run("cse")
    assert kind_found(lambda: module.run("dce")) == "error changed the module"
    assert sum(module.tally.errors.values()) == 1


def test_a_clone_that_shares_state():
    assert kind_found(lambda: checked(Shared).check_fork(["dce"])) == "clone shares state"


def test_a_fork_that_ends_differently():
    Fickle.calls = 0
    fork = ["call-inliner", "dce"]
    assert kind_found(lambda: checked(Fickle).check_fork(fork)) == "non-determinism"


def test_a_replay_that_ends_differently():
    Fickle.calls = 1
    module = checked(Fickle)
    module.run("call-inliner")
    assert kind_found(module.check_replay) == "non-determinism"


def test_a_text_that_is_not_the_module():
    assert kind_found(checked(Unprintable).check_round_trips) == "round trip differs"


def test_leaks_are_measured_to_the_byte():
    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    grown = leak_per_call(lambda: malloc(5_000), calls=8)
    assert 5_000 <= grown < 5_100
    module = Module.from_text(TINY)
    assert leak_per_call(lambda: module.clone().run("algsimp"), calls=8) < 100


def test_heap_growth_leaves_out_the_warm_up():
    heaps = [10_000 if visit < 20 else 10_000 + (visit - 19) * 7 for visit in range(40)]
    assert growth_per_visit(heaps) == 7
    assert growth_per_visit(heaps[:20]) == 0


@pytest.fixture(scope="module")
def visited() -> VisitResult:
    return Visitor(FlightRecorder())(Visit(BENCHMARK, "0/test", {}))


def test_a_visit_is_a_function_of_its_seed(visited):
    again = Visitor(FlightRecorder())(Visit(BENCHMARK, "0/test", {}))
    assert again.records == visited.records
    assert again.seen == visited.seen
    other = Visitor(FlightRecorder())(Visit(BENCHMARK, "1/test", {}))
    assert other.records != visited.records


def test_wide_walks_prefer_passes_that_did_not_meet_the_opcode_set():
    all_but_dce = (1 << len(hlograph.passes)) - 1 - (1 << hlograph.passes.index("dce"))
    opcodes = CheckedModule(
        BENCHMARK, corpus.benchmark(BENCHMARK).load(), FlightRecorder(), random.Random(0), Tally()
    ).opcodes
    first = [
        Visitor(FlightRecorder())(Visit(BENCHMARK, str(seed), {opcodes: all_but_dce})).records[0]
        for seed in range(6)
    ]
    assert sum(record.passes[0] == "dce" for record in first) >= 2


def test_walks_that_end_differently_in_a_fresh_interpreter(visited):
    record = max(visited.records, key=lambda r: len(r.passes))
    *op_counts, last = record.op_counts
    other_end = replace(record, fingerprint="0" * 32)
    other_size = replace(record, op_counts=(*op_counts, last + 1))
    failing = replace(record, passes=("no-such-pass",), op_counts=(1,))
    records = [record, other_end, record, other_size, failing, record]
    findings, done = replay_in_fresh_interpreter(records)
    assert done == 4
    assert [f.kind for f in findings] == ["non-determinism", "non-determinism", "crash"]
    assert [f.passes for f in findings] == [record.passes, record.passes, failing.passes]
    for finding, detail in zip(
        findings, ["fingerprint", "instructions", "no-such-pass"], strict=True
    ):
        assert detail in finding.detail


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (7,)


def test_an_interpreter_that_ends_is_a_finding(visited):
    record = replace(visited.records[0], fingerprint=Deadly())
    findings, done = replay_in_fresh_interpreter([record])
    assert done == 0
    assert findings[0].kind == "crash"
    assert "exit status 7" in findings[0].detail


def test_rounds_visit_all_and_know_what_was_seen(visited):
    benchmarks = list(corpus.load("gpt2-train"))
    plan, same = Plan(benchmarks, 3), Plan(benchmarks, 3)
    visits = [visit for number in range(4) for visit in plan.round(number)]
    assert {visit.benchmark for visit in visits} == {b.name for b in benchmarks}
    assert [list(same.round(n)) for n in range(2)] == [list(plan.round(n)) for n in range(2)]
    first = next(visit for visit in visits)
    record = WalkRecord(first.benchmark, ("dce",), (1,), "", os.getpid())
    result = VisitResult(seen={7: 2}, records=[record, record, record])
    assert plan.add_round([(first, result)]) == [record]
    assert plan.seen == {7: 2}
    due = [v for n in range(1, 5) for v in plan.round(n) if v.benchmark == first.benchmark]
    assert (due[0].seen, due[0].replays) == ({7: 2}, (record,))
    assert due[-1].replays == () or len(due) == 1


def test_large_modules_get_short_walks():
    assert longest_walk(100) == longest_walk(1_000) == 50
    assert longest_walk(6_000) == 10
    assert longest_walk(48_875) == 3


def test_findings_are_grouped():
    def finding(passes, kind="verifier failure", detail="x"):
        return Finding(kind, "b", passes, detail)

    groups = grouped([finding(("cse", "dce")), finding(("dce",)), finding(("cse",))])
    assert [[f.passes for f in group] for group in groups] == [
        [("dce",), ("cse", "dce")],
        [("cse",)],
    ]


def test_a_short_campaign_finds_nothing(tmp_path, capsys):
    assert fuzz(replace(SMALL, out=tmp_path)) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    tally = report["tally"]
    assert report["findings"] == []
    assert tally["steps"] >= SMALL.steps
    assert tally["replays"] >= tally["walks"] // 2
    assert tally["replays_elsewhere"] > 0
    assert min(tally[key] for key in ("forks", "round_trips", "verified")) > 0
    assert tally["leak_probes"]
    assert report["pairs_of_pass_and_opcode_set"] > len(hlograph.passes)
    assert "FINDINGS: 0" in (tmp_path / "report.txt").read_text()
    assert "FINDINGS: 0" in capsys.readouterr().out


class Aborting(Visitor):
    """Ends its process in the noted call of one benchmark."""

    def __call__(self, visit):
        if visit.benchmark == BENCHMARK:
            self._recorder.begin(f"{visit.benchmark}\npass\ncse dce".encode())
            os.abort()
        return super().__call__(visit)


def test_a_worker_that_dies_is_a_finding_and_the_campaign_goes_on(tmp_path):
    other = next(b.name for b in corpus.load(max_op_count=60) if b.name != BENCHMARK)
    config = replace(SMALL, steps=1_000, workers=1, benchmarks=(BENCHMARK, other))
    result = Campaign(config, tmp_path, Aborting).run()
    assert result.lost_workers > 0
    assert {(f.kind, f.benchmark, f.passes) for f in result.findings} == {
        ("crash", BENCHMARK, ("cse", "dce"))
    }
    assert set(result.visited) == {other}
    assert result.tally.steps >= config.steps
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["findings"][0]["examples"][0]["passes"] == ["cse", "dce"]


def test_findings_are_the_exit_status(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.campaigns.fuzz_passes.Visitor", Aborting)
    monkeypatch.setattr(Campaign.__init__, "__defaults__", (Aborting,))
    config = replace(SMALL, steps=1, workers=1, benchmarks=(BENCHMARK,), out=tmp_path)
    # The only module kills its worker: a round without a step ends the campaign.
    assert fuzz(config) == FINDINGS


def test_ctrl_c_still_reports(tmp_path):
    class Impatient(Campaign):
        def _add(self, visit, result):
            super()._add(visit, result)
            raise KeyboardInterrupt

    result = Impatient(replace(SMALL, steps=10**6), tmp_path).run()
    assert result.interrupted
    assert result.tally.steps > 0
    assert json.loads((tmp_path / "report.json").read_text())["interrupted"]


def test_no_such_benchmark(tmp_path):
    with pytest.raises(SystemExit, match="no module"):
        Campaign(replace(SMALL, benchmarks=("nothing/*",)), tmp_path)
