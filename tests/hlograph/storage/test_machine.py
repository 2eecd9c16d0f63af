"""Tests of the identity of a machine."""

import dataclasses
import json
import os

import pytest

from hlograph.errors import DamagedFileError
from hlograph.storage.machine import Machine, instruction_set, machine, xla_threads

EXAMPLE = Machine("AMD EPYC", "25.17.1", "0123abcd", 2, "0.10.2")


def test_this_machine_is_equal_to_itself_and_survives_json():
    here = machine()
    assert here == machine()
    assert Machine.from_json(json.loads(json.dumps(here.to_json()))) == here
    assert here.cpu
    assert here.cores == xla_threads() >= 1
    assert here.jaxlib


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu", "Intel"),
        ("revision", "25.17.2"),
        ("features", "0123abce"),
        ("cores", 4),
        ("jaxlib", "0.10.3"),
        ("xla_flags", "--xla_cpu_enable_fast_math=true"),
    ],
)
def test_each_attribute_tells_machines_apart(field, value):
    other = dataclasses.replace(EXAMPLE, **{field: value})
    assert other != EXAMPLE
    assert other.key != EXAMPLE.key
    assert str(value) in str(other) or field == "features"


def test_key_is_stable():
    assert EXAMPLE.key == dataclasses.replace(EXAMPLE).key
    assert len(EXAMPLE.key) == 16


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    for name in ("PJRT_NPROC", "NPROC"):
        monkeypatch.delenv(name, raising=False)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert machine().cores == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_flags_that_only_write_dumps_do_not_count(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    plain = machine()
    monkeypatch.setenv("XLA_FLAGS", " --xla_dump_to=here  --xla_dump_hlo_as_text ")
    assert machine() == plain
    monkeypatch.setenv("XLA_FLAGS", "--xla_b=1   --xla_a=2 --xla_dump_to=here")
    assert machine().xla_flags == "--xla_b=1 --xla_a=2"


def test_flags_may_stand_in_a_file(monkeypatch, tmp_path):
    file = tmp_path / "flags"
    file.write_text("--xla_a=2\n--xla_b=1\n")
    monkeypatch.setenv("XLA_FLAGS", str(file))
    assert machine().xla_flags == "--xla_a=2 --xla_b=1"
    monkeypatch.setenv("XLA_FLAGS", str(tmp_path / "missing"))
    assert machine().xla_flags == str(tmp_path / "missing")


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        EXAMPLE.to_json() | {"cores": "2"},
        EXAMPLE.to_json() | {"more": 1},
        {key: value for key, value in EXAMPLE.to_json().items() if key != "cpu"},
    ],
)
def test_other_content_is_rejected(content):
    with pytest.raises(DamagedFileError, match="expected a machine with the keys cpu, revision"):
        Machine.from_json(content)


def test_instruction_set_is_the_widest_that_xla_may_use(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert instruction_set() in {"avx512", "avx2", "avx", "neon", ""}
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=AVX512 --xla_cpu_max_isa=AVX2")
    assert instruction_set() == "avx2"


def test_cores_are_the_threads_that_variables_give_to_xla(monkeypatch):
    monkeypatch.setenv("NPROC", "3")
    assert machine().cores == 3
    monkeypatch.setenv("PJRT_NPROC", "5")
    assert machine().cores == 5
    monkeypatch.setenv("PJRT_NPROC", "many")
    assert machine().cores == 3
