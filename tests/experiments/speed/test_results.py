"""Tests of results on the speed set: files, means, tables."""

import math
from dataclasses import replace

import pytest

from experiments.speed.programs import chosen_programs, names_per_family
from experiments.speed.results import SpeedResult, file_of, summary, table, to_csv
from hlograph import corpus
from hlograph.errors import DamagedFileError, HloError
from hlograph.storage.machine import machine
from tests.experiments.speed.known_results import FAST

KEPT = replace(
    FAST, program="ode/a/b", method="", decisions=(), outputs="", ratio=1.0, low=1.0, high=1.0
)


def test_result_round_trip(tmp_path):
    FAST.save(tmp_path)
    assert SpeedResult.load(tmp_path, FAST.program) == FAST
    assert SpeedResult.load(tmp_path, "ode/a/b") is None
    measured_here = replace(FAST, machine=machine(), node="one")
    measured_here.save(tmp_path)
    assert SpeedResult.load(tmp_path, FAST.program) == measured_here
    assert to_csv([measured_here]).splitlines()[1].endswith(f',"{machine()}",one')


def test_a_damaged_result_is_an_error(tmp_path):
    FAST.save(tmp_path)
    file = file_of(tmp_path, FAST.program)
    file.write_text(file.read_text()[:-9])
    with pytest.raises(DamagedFileError, match="no result of this version"):
        SpeedResult.load(tmp_path, FAST.program)


def test_summary_counts_programs_that_keep_the_default():
    text = " ".join(summary([FAST, KEPT]))
    assert f"2 programs: {math.sqrt(2):.3f} times as fast" in text
    assert "1 above 1.1, 1 at 2 or more; the largest is 2.00 (n-body/forces/n512)" in text
    assert "1 keep jaxlib's default" in text
    assert "0 are below 0.98" in text


def test_summary_names_programs_that_failed():
    failed = replace(KEPT, error="XLA does not compile it")
    assert summary([failed]) == ["No program was measured."]
    assert summary([FAST, failed])[-1] == "1 were not measured: ode/a/b."


def test_table_is_sorted_by_ratio():
    rows = table([KEPT, FAST]).splitlines()[2:]
    assert rows[0] == (
        "| n-body/forces/n512 | 3.2 | 2.000 | 1.900 to 2.100 | close | flags: no library |"
    )
    assert rows[1] == "| ode/a/b | 3.2 | 1.000 |  |  | default |"


def test_csv_has_a_row_for_each_program():
    lines = to_csv([FAST, KEPT]).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("program,family,method,decisions")


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
