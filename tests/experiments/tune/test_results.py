"""Tests of results: their files, the table of all, and the choice of programs."""

import json
from dataclasses import replace

import pytest

from experiments.evaluate.speed_programs import chosen_programs, names_per_family
from experiments.tune.results import RaceResult, plan_file, result_file, to_csv
from hlograph import corpus
from hlograph.errors import HloError
from hlograph.storage.machine import machine
from tests.experiments.tune.known_results import FAST, KEPT, RESULTS


def test_result_round_trip(tmp_path):
    FAST.save(tmp_path)
    assert RaceResult.load(tmp_path, FAST.program) == FAST
    assert RaceResult.load(tmp_path, KEPT.program) is None
    KEPT.save(tmp_path)
    assert RaceResult.load(tmp_path, KEPT.program) == KEPT
    measured_here = replace(FAST, machine=machine(), node="one", repeat=2)
    measured_here.save(tmp_path)
    assert RaceResult.load(tmp_path, FAST.program) == measured_here
    assert to_csv([measured_here]).splitlines()[1].endswith(f',"{machine()}",one,2')


def test_result_of_an_earlier_version_names_no_competitor(tmp_path):
    FAST.save(tmp_path)
    file = result_file(tmp_path, FAST.program)
    content = json.loads(file.read_text())
    assert (content.pop("competitor"), content.pop("seed")) == ("joint", 0)
    file.write_text(json.dumps(content))
    assert RaceResult.load(tmp_path, FAST.program) == replace(FAST, competitor="")


@pytest.mark.parametrize("file", [result_file, plan_file])
def test_a_damaged_result_is_an_error(file, tmp_path):
    FAST.save(tmp_path)
    damaged = file(tmp_path, FAST.program)
    damaged.write_text(damaged.read_text()[:-9])
    with pytest.raises(HloError, match=r"no result of this version|the JSON of a plan"):
        RaceResult.load(tmp_path, FAST.program)


def test_csv_has_a_row_for_each_result():
    lines = to_csv(RESULTS).splitlines()
    assert len(lines) == 1 + len(RESULTS)
    assert lines[0].startswith("competitor,seed,program,family,method,decisions")
    assert lines[-1].startswith('"flags,greedy",1,c,')


def test_programs_of_a_family_from_the_least_and_the_largest():
    programs = corpus.load("speed", "test")
    sizes = {b.name: b.op_count for b in programs}
    for number in (1, 2, 3):
        names = names_per_family(programs, number)
        of_ode = [sizes[name] for name in names if name.startswith("ode/")]
        ordered = sorted(size for name, size in sizes.items() if name.startswith("ode/"))
        assert of_ode == [ordered[0], ordered[-1], ordered[1]][:number]
    assert len(names_per_family(programs, 10**6)) == len(programs)


def test_programs_by_name():
    assert chosen_programs("test", ["n-body/*"], 1).names == ["n-body/forces/n512"]
    everywhere = chosen_programs(None, ["n-body/*"], None).names
    assert set(chosen_programs("test", ["n-body/*"], None).names) <= set(everywhere)
    with pytest.raises(HloError, match="no program of the speed set matches nothing"):
        chosen_programs(None, ["nothing"], None)
