"""Rates: predictions, files, and the rates of this machine."""

import json
from dataclasses import replace

import pytest

import hlograph
from hlograph.errors import DamagedFileError, HloError
from hlograph.execution.rates import (
    Rates,
    current_rates,
    default_rates,
    features,
    rates_file,
    rates_named,
    store_rates,
)
from hlograph.storage.machine import machine


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HLOGRAPH_CACHE", str(tmp_path))
    current_rates.cache_clear()
    yield
    current_rates.cache_clear()


def some_rates():
    return Rates(machine(), tuple(float(number) for number in range(len(features()))))


def test_prediction_is_a_sum():
    assert some_rates().predict([(3, 2.0), (5, -1.0)]) == 1.0
    assert some_rates().predict([]) == 0.0


def test_files(tmp_path):
    path = tmp_path / "rates.json"
    some_rates().save(path)
    assert Rates.load(path) == some_rates()


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "rates.json"
    some_rates().save(path)
    path.write_text(path.read_text().replace("3.0", "4.0"))
    with pytest.raises(DamagedFileError):
        Rates.load(path)


@pytest.mark.parametrize("wrong", [{}, {"seconds": {}}, {"seconds": {"dots": 1.0}}])
def test_other_content_is_refused(wrong):
    with pytest.raises(DamagedFileError):
        Rates.from_json({"machine": machine().to_json()} | wrong)


def test_negative_rates_are_refused():
    content = some_rates().to_json()
    content["seconds"]["dots"] = -1.0
    with pytest.raises(DamagedFileError):
        Rates.from_json(content)


def test_the_default_is_complete():
    content = default_rates().to_json()
    assert list(content["seconds"]) == list(features())
    assert json.loads(json.dumps(content)) == content


def test_rates_of_this_machine():
    assert current_rates() == default_rates()
    path = store_rates(some_rates())
    assert path == rates_file(machine())
    assert current_rates() == some_rates()


def test_rates_of_another_machine_are_not_used():
    elsewhere = replace(machine(), cpu="another")
    replace(some_rates(), machine=elsewhere).save(rates_file(machine()))
    assert current_rates() == default_rates()


def test_rates_of_a_file_and_of_a_machine(tmp_path):
    elsewhere = replace(some_rates(), machine=replace(machine(), cpu="another"))
    elsewhere.save(tmp_path / "elsewhere.json")
    assert rates_named(str(tmp_path / "elsewhere.json")) == elsewhere
    with pytest.raises(HloError, match="none are stored"):
        rates_named(machine().key)
    store_rates(some_rates())
    assert rates_named(machine().key) == some_rates()
    with pytest.raises(HloError, match=f"of {machine().key}"):
        rates_named("0123456789abcdef")


def test_a_damaged_file_is_not_used():
    store_rates(some_rates()).write_text("{")
    current_rates.cache_clear()
    assert current_rates() == default_rates()


def test_modules_and_rewrites_have_seconds():
    module = hlograph.Module.from_text(
        "HloModule m\nENTRY e {\n a = f32[4096] parameter(0)\n z = f32[4096] exponential(a)\n"
        " ROOT r = f32[4096] log(z)\n}\n"
    )
    before = module.seconds()
    assert before > 0
    rewrites = module.rewrites(hlograph.rules)
    assert rewrites
    for rewrite in rewrites:
        after = module.clone()
        after.apply(rewrite)
        assert after.seconds() - before == pytest.approx(rewrite.seconds, abs=1e-15)
