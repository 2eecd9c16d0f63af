"""Reproducers are HLO files that run again and detect damage."""

from dataclasses import replace

import pytest

from hlograph import Module, rules
from hlograph.errors import DamagedFileError
from hlograph.isolation import PassCall, Quarantine, Reproducer, repro
from hlograph.isolation.pass_call import RUN, listing
from tests.slow_module import SLOW_FOLDING
from tests.tiny_module import TINY

CALL = PassCall("transpose-folding:dot", "0" * 32, "my files/a,b\nc.hlo", ("dce", "cse"))

MERGEABLE = """HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  left = f32[4] exponential(x)
  right = f32[4] exponential(x)
  ROOT sum = f32[4] add(left, right)
}
"""


@pytest.fixture
def reproducer():
    return Reproducer(CALL, "crashed", "ended by SIGABRT", "Check failed\n// x", 0.25, TINY)


def test_notes_of_calls():
    for call in (CALL, replace(CALL, applied=())):
        assert PassCall.from_note(call.to_note()) == call
    places = ("merge(constant.3, constant.1)", "algebraic(add.1)")
    call = PassCall(places[1], "0" * 32, "x", places)
    assert PassCall.from_note(call.to_note()) == call
    with pytest.raises(ValueError, match="unpack"):
        PassCall.from_note(b"something else")


def test_passes_are_left_out_on_a_state_and_rewrites_on_a_benchmark():
    state, benchmark = CALL.fingerprint, CALL.benchmark
    assert (CALL.pair, CALL.rules) == ((state, CALL.name), None)
    assert replace(CALL, name=RUN).pair == (state, RUN)
    assert replace(CALL, name="merge(b, a)").pair == (benchmark, "merge(b, a)")
    listed = replace(CALL, name=listing(["merge", "batch-dot-simplification"]))
    assert listed.pair == (benchmark, listed.name)
    assert listed.rules == ["merge", "batch-dot-simplification"]


def test_quarantine():
    empty = Quarantine()
    some = empty.with_pairs([("b", "cse"), ("a", "dce"), ("b", "dce"), ("b", "cse")])
    assert list(some) == [("a", "dce"), ("b", "cse"), ("b", "dce")]
    assert len(some) == 3
    assert some.passes_at("b") == {"cse", "dce"}
    assert some.passes_at("c") == frozenset()
    assert len(empty) == 0


def test_a_reproducer_comes_back(reproducer, tmp_path):
    path = reproducer.save(tmp_path / "quarantine")
    assert Reproducer.load(path) == reproducer
    assert Module.load(path).op_count == Module.from_text(TINY).op_count


def test_files_have_names_that_any_system_takes(reproducer, tmp_path):
    names = ["merge(b, a)", listing(rules.names), listing(rules.names[:-1])]
    paths = [replace(reproducer, call=replace(CALL, name=n)).save(tmp_path) for n in names]
    assert paths[0].name == f"{'0' * 32}-merge.b.a..hlo"
    assert len(set(paths)) == 3
    assert all(len(path.name) < 200 for path in paths)
    assert [Reproducer.load(path).call.name for path in paths] == names


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-1], "checksum"),
        (lambda data: data.replace(b"add", b"sub", 1), "checksum"),
        (lambda data: data[:150], "damaged header"),
        (lambda data: b"\0" + data, "no reproducer"),
        (lambda data: b"", "no reproducer"),
    ],
)
def test_damage_is_noticed(reproducer, tmp_path, damage, message):
    path = reproducer.save(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DamagedFileError, match=message):
        Reproducer.load(path)


def test_a_pass_that_runs_is_not_reproduced(reproducer, tmp_path, capsys):
    path = replace(reproducer, call=replace(CALL, name="dce")).save(tmp_path)
    assert repro.main([str(path)]) == 0
    said = capsys.readouterr().out
    assert "not reproduced: the pass finished, 8 to 7 instructions" in said
    assert repro.main([str(path), "--in-process"]) == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("merge(right, left)", "4 to 3 instructions"),
        ("merge(left, right)", "merge(left, right) does not apply"),
        (listing(["merge"]), "the listing finished: 1 rewrites"),
        (RUN, "the module compiles and runs"),
    ],
)
def test_rewrites_and_runs_have_reproducers_too(reproducer, tmp_path, capsys, name, said):
    path = replace(reproducer, call=replace(CALL, name=name), module=MERGEABLE).save(tmp_path)
    assert repro.main([str(path), "--in-process"]) == 0
    assert said in capsys.readouterr().out


def test_a_pass_that_takes_too_long_is_reproduced(reproducer, tmp_path, capsys):
    call = replace(CALL, name="constant_folding")
    path = replace(reproducer, call=call, module=SLOW_FOLDING).save(tmp_path)
    assert repro.main([str(path), "--seconds", "0.5"]) == repro.REPRODUCED
    assert "reproduced: timed_out: an operation took longer" in capsys.readouterr().out


def test_a_file_that_is_no_reproducer_is_refused(tmp_path, capsys):
    path = tmp_path / "x.hlo"
    path.write_text(TINY)
    with pytest.raises(SystemExit) as ended:
        repro.main([str(path)])
    assert ended.value.code == 2
    assert "no reproducer" in capsys.readouterr().err
