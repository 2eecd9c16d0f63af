"""Recording of plans of a small program, from the command line to the data set."""

import json
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import pytest

from experiments.cost_model.__main__ import decided_by, main
from experiments.cost_model.plan_times.collecting import collect
from experiments.cost_model.plan_times.packing import pack
from experiments.cost_model.plan_times.recorder import Recorder
from experiments.cost_model.plan_times.recording import append, file_of, read
from experiments.cost_model.settings import RecordConfig
from experiments.evaluate.run_folder import REFUSED, save_provenance
from experiments.evaluate.speed_programs import all_recorded_programs, recorded_programs
from experiments.policies.shipped import checkpoint_location
from hlograph import corpus
from hlograph.corpus import plan_times
from hlograph.decisions.plan_states import PlanStates
from hlograph.decisions.predicted_gains import after_predicted_rules, descent
from hlograph.errors import HloError
from hlograph.isolation import FlightRecorder
from hlograph.plans import Program
from hlograph.plans.knobs import Point
from hlograph.profiling.kernel_trees import KernelTrees
from tests.hlograph.own_machine import own_lock

__all__ = ["own_lock"]

NAME = next(b.name for b in corpus.load("speed", "train"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    program = Program.of(jax.jit(lambda x: jnp.tanh(x @ x).sum(0)).lower(jnp.ones((64, 64))))
    counts = collect(NAME, program, 2, 0, folder)
    file = file_of(folder, NAME)
    with file.open("a") as opened:
        opened.write('{"point": {}, "fl')  # a run that was killed
    more = collect(NAME, program, 3, 0, folder)
    return folder, counts, more


def test_each_plan_is_recorded_once(recorded):
    folder, counts, more = recorded
    found = list(read(file_of(folder, NAME)))
    assert counts["recorded"] == 2
    assert more["recorded"] == 1
    assert len(found) == len({one.point for one in found}) == 3
    assert found[0].point == Point()
    assert found[0].flags == {}
    for one in found:
        assert one.ratio > 0
        assert one.kernels
        assert one.module.startswith("HloModule")
        assert "metadata=" not in one.module


def test_plans_of_a_policy_are_recorded(tmp_path):
    program = Program.of(corpus.benchmark("selection/last-sorted/b16-n8192").load())
    decided = partial(decided_by, checkpoint_location("tuning"))
    counts = collect(NAME, program, 2, 0, tmp_path, decided)
    default, decided = read(file_of(tmp_path, NAME))
    assert counts["recorded"] == 2
    assert default.point == Point()
    assert decided.point != Point()


def test_decisions_are_recorded_alone(tmp_path):
    program = Program.of(jax.jit(lambda x: jnp.sort(x)[:, -1]).lower(jnp.ones((16, 2048))))
    counts = collect(NAME, program, 3, 0, tmp_path, alone=True)
    default, first, second = read(file_of(tmp_path, NAME))
    assert counts["recorded"] == 3
    assert default.point == Point()
    assert len(first.point.items) == len(second.point.items) == 1
    # The rules come first.
    assert "sort" in first.point.values["steps program"]
    # Those about the program with rules, and those of the trees' descent, are between them.
    worker = Recorder(program, FlightRecorder())
    points = worker.single_decisions()
    states = PlanStates(program)
    rules = after_predicted_rules(states)
    path = list(descent(states, KernelTrees.load()))
    assert rules in points[:2]
    assert path
    assert path[0] in points[:3]
    assert rules is not None
    for base in (rules, path[-1]):
        assert any(set(base.items) < set(point.items) for point in points)
    assert not collect(NAME, program, 3, 0, tmp_path, alone=True)["recorded"]


def test_recordings_become_a_data_set(recorded, tmp_path):
    folder, _, _ = recorded
    out = tmp_path / "packed"
    flags = ["--programs", NAME, "--plans", "0", "--max-ms", "inf", "--max-compile-seconds", "inf"]
    assert main(["record", *flags, "--out", str(folder), "--pack", str(out)]) == 0
    found = plan_times.load(folder=out)
    assert len(found.plans) == 3
    page = (out / "README.md").read_text()
    assert f"{len(found.kernels)} distinct kernels" in page
    assert "| train | 1 | 1 | 3 |" in page
    assert (out / "made.json").is_file()
    assert {plan.program for plan in found.plans} == {NAME}
    assert any("dot(" in found.kernels[kernel.number] for kernel in found.plans[0].kernels)


def test_a_data_set_is_extended(recorded, tmp_path):
    folder, _, _ = recorded
    benchmarks = [corpus.benchmark(NAME)]
    save_provenance(RecordConfig(), folder)
    pack(folder, benchmarks, tmp_path / "one")
    # Another run, which had one of these plans and another one.
    other = tmp_path / "other"
    first, *_ = found = list(read(file_of(folder, NAME)))
    text = first.module.replace(" tanh(", " sine(")
    for one in (first, replace(first, module=text, point=Point.of({"flags x": "y"}))):
        append(file_of(other, NAME), one)
    save_provenance(RecordConfig(), other)
    facts = pack(other, benchmarks, tmp_path / "both", tmp_path / "one")
    before, both = (
        plan_times.load(folder=tmp_path / "one"),
        plan_times.load(folder=tmp_path / "both"),
    )
    assert facts.splits["train"].plans == len(both.plans) == len(found) + 1
    kept = [plan for plan in both.plans if plan.decisions in [p.decisions for p in before.plans]]
    for plan in before.plans:
        (same,) = [one for one in kept if one.decisions == plan.decisions]
        texts = [both.kernels[kernel.number] for kernel in same.kernels]
        assert texts == [before.kernels[kernel.number] for kernel in plan.kernels]
        assert same.ratios == plan.ratios
    made = json.loads((tmp_path / "both" / "made.json").read_text())
    assert made["extends"]["machine"] == made["machine"]
    page = (tmp_path / "both" / "README.md").read_text()
    assert page.startswith("# Plan times")
    assert "more than 12 ms" in page
    made["machine"]["cpu"] = "another"
    (tmp_path / "one" / "made.json").write_text(json.dumps(made))
    with pytest.raises(HloError, match="do not mix"):
        pack(other, benchmarks, tmp_path / "refused", tmp_path / "one")


def test_decisions_that_were_recorded_have_a_datasheet_of_their_own(recorded, tmp_path):
    folder, _, _ = recorded
    save_provenance(RecordConfig(alone=True, max_ms=40.0), folder)
    pack(folder, [corpus.benchmark(NAME)], tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert page.startswith("# Decision times")
    assert 'load("train", name=plan_times.DECISIONS)' in page
    assert "more than 40 ms" in page
    assert "Random search" not in page
    assert "| validation |" not in page


def test_families_take_turns():
    chosen = recorded_programs("speed", "train", ["*"], None)
    first = [benchmark.family for benchmark in chosen[:20]]
    assert len(set(first)) == len(first)
    sizes = [benchmark.op_count for benchmark in chosen[:20]]
    assert sizes == sorted(sizes)
    assert {benchmark.split for benchmark in chosen} == {"train"}


def test_programs_of_other_sets_are_of_no_held_out_family():
    others = recorded_programs("diverse", None, ["*"], 2)
    assert len(others) > 50
    assert {benchmark.set for benchmark in others} == {"diverse"}
    assert {benchmark.split for benchmark in others} == {"train"}
    held_out = corpus.load("speed", ["validation", "test"])
    assert not {b.family for b in others} & {b.family for b in held_out}
    assert {b.name for b in others} < {b.name for b in all_recorded_programs()}
    with pytest.raises(HloError, match="no program of the set diverse"):
        recorded_programs("diverse", "test", ["*"], None)


@pytest.mark.parametrize(
    ("limits", "refusal"),
    [({"max_seconds": 1e-9}, "runs longer"), ({"max_compile_seconds": 1e-9}, "compiles longer")],
)
def test_programs_that_take_long_are_left_out(limits, refusal, tmp_path):
    program = Program.of(jax.jit(jnp.sin).lower(jnp.ones(8)))
    with pytest.raises(HloError, match=refusal):
        collect(NAME, program, 2, 0, tmp_path, **limits)
    assert not any(tmp_path.iterdir())


def test_a_program_of_several_devices_is_left_out(tmp_path):
    program = Program.of(corpus.benchmark("collective-matmul/scatter-tp8/grad").load())
    with pytest.raises(HloError, match="does not run"):
        collect(NAME, program, 2, 0, tmp_path)


def test_an_unknown_program_is_refused(tmp_path, capsys):
    assert main(["record", "--programs", "no/program", "--out", str(tmp_path / "out")]) == REFUSED
    assert "no program" in capsys.readouterr().err
