"""The data set of plan times: the shipped one, and files that are none."""

import numpy as np
import pytest
import zstandard

import hlograph
from hlograph import HloError, corpus
from hlograph.corpus import plan_times
from hlograph.corpus.json_lines import dump
from hlograph.corpus.plan_times import PlanTime, RunKernel
from hlograph.errors import DamagedFileError

PLAN = PlanTime(
    program="a/b",
    decisions={"flags wide": "on"},
    flags={"wide": True},
    ratios=(1.0, 3.0, 2.0),
    seconds=0.5,
    default_seconds=1.0,
    compile_seconds=0.1,
    memory=7,
    accounted=0.9,
    outside_seconds=0.01,
    kernels=(RunKernel(0, 2.0, 0.25), RunKernel(1, 1.0, None)),
)


@pytest.fixture(scope="module")
def by_split():
    return {split: plan_times.load(split) for split in plan_times.SPLITS}


@pytest.fixture(scope="module")
def shipped(by_split):
    kernels = by_split["small"].kernels
    return plan_times.PlanTimes(kernels, [p for times in by_split.values() for p in times.plans])


def test_splits_are_those_of_the_speed_set(by_split):
    splits = {b.name: b.split for b in corpus.load("speed")}
    for split in ("train", "validation", "test"):
        names = {plan.program for plan in by_split[split].plans}
        assert names
        assert {splits[name] for name in names} == {split}
    held_out = {b.family for b in corpus.load("speed", ["validation", "test"])}
    small = {plan.program for plan in by_split["small"].plans}
    assert small
    assert not {corpus.benchmark(name).family for name in small} & held_out


def test_each_kernel_is_a_module_or_a_loop(shipped):
    for text in shipped.kernels[::97]:
        assert text in {"while", "conditional", "call"} or hlograph.parse(text).num_nodes > 0


def test_times_of_kernels_add_up_to_a_run(shipped):
    shares = []
    for plan in shipped.plans[::41]:
        total = sum(kernel.seconds or 0.0 for kernel in plan.kernels) + plan.outside_seconds
        shares.append(total / plan.seconds)
        assert min(plan.ratios) <= plan.ratio <= max(plan.ratios)
        assert all(0 <= kernel.number < len(shipped.kernels) for kernel in plan.kernels)
    assert abs(np.median(np.log(shares))) < 0.2


def test_what_is_written_is_read(tmp_path):
    (tmp_path / "kernels.jsonl.zst").write_bytes(dump(["while", "call"]))
    (tmp_path / "test.jsonl.zst").write_bytes(dump([PLAN.to_json()]))
    found = plan_times.load("test", folder=tmp_path)
    assert found.kernels == ["while", "call"]
    assert found.plans == [PLAN]
    assert found.by_program() == {"a/b": [PLAN]}
    assert PLAN.ratio == 2.0


def test_other_files_are_refused(tmp_path):
    with pytest.raises(HloError, match="no data set of plan times"):
        plan_times.load(folder=tmp_path)
    (tmp_path / "kernels.jsonl.zst").write_bytes(b"something else")
    with pytest.raises(DamagedFileError, match="kernels"):
        plan_times.load(folder=tmp_path)
    (tmp_path / "kernels.jsonl.zst").write_bytes(zstandard.compress(b"[1,\n"))
    with pytest.raises(DamagedFileError, match="kernels"):
        plan_times.load(folder=tmp_path)
    whole = dump(["while", "call"])
    for cut in (b"", whole[:-1], whole[: len(whole) // 2]):
        (tmp_path / "kernels.jsonl.zst").write_bytes(cut)
        with pytest.raises(DamagedFileError, match="kernels"):
            plan_times.load(folder=tmp_path)
