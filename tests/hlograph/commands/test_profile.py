"""hlograph calibrate, with two programs."""

import json
from itertools import islice

import pytest

from hlograph.execution.rates import current_rates
from hlograph.storage.machine import machine

pytest.importorskip("jax")


def test_calibrate(call, monkeypatch, tmp_path):
    from hlograph.profiling import calibration_programs

    programs = list(islice(calibration_programs.small_programs(), 2))
    monkeypatch.setattr(calibration_programs, "small_programs", lambda: programs)
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path))
    status, out, _ = call("calibrate")
    assert status == 0
    assert "elementwise" in out
    assert current_rates().machine == machine()
    content = json.loads(call("calibrate", "--json")[1])
    assert content["file"].startswith(str(tmp_path))
    assert content["errors"].keys() == {"elementwise"}
    current_rates.cache_clear()
