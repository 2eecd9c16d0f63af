"""Tests of the machine's peak speeds: they are measured once. No test depends on how fast it is."""

import json

import pytest

from hlograph.profiling import Peaks, measured_peaks, peaks
from hlograph.storage.machine import machine


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Measures small dots and sums, and returns the folder of the results."""
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path))
    monkeypatch.setattr(peaks, "_DOT_SIZES", (64, 128))
    monkeypatch.setattr(peaks, "_MOST_BYTES", 2**20)
    return tmp_path / "peaks"


def _count_measurements(monkeypatch):
    calls = []
    measure = peaks.measure_bytes
    monkeypatch.setattr(peaks, "measure_bytes", lambda: calls.append(1) or measure())
    return calls


def test_peaks_are_measured_once(folder, monkeypatch):
    calls = _count_measurements(monkeypatch)
    first = measured_peaks()
    assert first.flops > 0
    assert first.bytes > 0
    assert measured_peaks() == first
    assert len(calls) == 1
    (file,) = folder.iterdir()
    assert file.name == f"{machine().key}.json"


def test_measuring_again_keeps_the_faster(folder, monkeypatch):
    calls = _count_measurements(monkeypatch)
    first = measured_peaks()
    second = measured_peaks(again=True)
    assert len(calls) == 2
    assert second.flops >= first.flops
    assert second.bytes >= first.bytes
    assert measured_peaks() == second


def test_other_flags_are_another_machine(folder, monkeypatch):
    measured_peaks()
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    calls = _count_measurements(monkeypatch)
    measured_peaks()
    assert len(calls) == 1
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("content", ["", "{}", "[]", "no json"])
def test_damaged_file_is_measured_again(folder, content):
    measured_peaks()
    (file,) = folder.iterdir()
    file.write_text(content)
    assert measured_peaks().flops > 0
    assert json.loads(file.read_text())["machine"] == machine().to_json()


def test_folder_that_cannot_be_written_does_not_matter(folder):
    folder.write_text("a file in its place")
    assert measured_peaks().bytes > 0


def test_peaks_are_json():
    assert Peaks(2.0, 1.0).to_json() == {"flops": 2.0, "bytes": 1.0}
