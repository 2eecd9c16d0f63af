"""hlograph predict: its table, its JSON, and its options."""

import json
import re
from dataclasses import replace

import pytest

from hlograph.execution.rates import current_rates, default_rates, store_rates
from hlograph.storage.machine import machine

pytest.importorskip("jax")
STEP = ("own_functions:step", "--shapes", "f32[512,512]", "f32[512,512]")
SORTS = """
import jax.numpy as jnp

def smallest(x):
    return jnp.sort(x)[:, :4]
"""


@pytest.fixture(autouse=True)
def own_rates(user_folder):
    current_rates.cache_clear()
    yield
    current_rates.cache_clear()


def test_a_function(call):
    status, out, err = call("predict", *STEP)
    assert (status, err) == (0, "imported\n")
    assert re.match(r"jit_step: \S+ [mµ]s a run of jaxlib's default, predicted; nine of ten", out)
    assert "without a run" in out
    assert "rates: those that come with hlograph" in out
    assert re.search(r"share +time +calls +kind +opcode +kernel +bound by", out)
    assert re.search(r"1 +dot +\S+ +\S+ +arithmetic", out)
    assert "hlograph optimize own_functions:step --shapes 'f32[512,512]' 'f32[512,512]'" in out


def test_json(call):
    content = json.loads(call("predict", *STEP, "--json")[1])
    assert content.keys() == {
        *("name", "seconds", "interval", "errors", "unknown_loops", "machine", "rates"),
        *("kernels", "decisions"),
    }
    assert content["kernels"][0].keys() == {
        *("name", "opcode", "kind", "calls", "seconds", "share", "bound_by", "shape", "library"),
        "op_name",
    }
    low, high = content["interval"]
    assert low < content["seconds"] < high
    assert sum(each["seconds"] for each in content["kernels"]) == pytest.approx(content["seconds"])
    assert content["errors"].keys() >= {"low", "median", "high", "programs"}


def test_decisions_that_are_worth_trying(call, user_folder):
    (user_folder / "own_sorts.py").write_text(SORTS)
    words = ("predict", "own_sorts:smallest", "--shapes", "f32[64,4096]")
    out = call(*words, "--top", "1")[1]
    assert re.search(r"saves +times as fast +places +results +decision +about\n", out)
    assert re.search(r"\d more\n", out)  # kernels
    assert re.search(r"not shown: \d; measured, and joined, by: hlograph optimize own_sorts:", out)
    decisions = json.loads(call(*words, "--json")[1])["decisions"]
    assert len(decisions) > 1
    assert decisions[0].keys() == {"name", "places", "instructions", "ratio", "saved", "exact"}
    assert decisions[0]["name"] in out


def test_rates_of_a_machine(call, user_folder):
    rates = default_rates()
    slow = replace(rates, seconds=tuple(5 * second for second in rates.seconds))
    slow.save(user_folder / "slow.json")

    def seconds(*options):
        content = json.loads(call("predict", *STEP, "--json", *options)[1])
        return content["seconds"], content["rates"]

    usual, _ = seconds()
    by_file, said = seconds("--machine", "slow.json")
    assert by_file == pytest.approx(5 * usual, rel=0.05)
    assert "--machine slow.json" in said
    store_rates(replace(slow, machine=machine()))
    calibrated, said = seconds()
    assert calibrated == by_file
    assert "by hlograph calibrate" in said
    assert seconds("--machine", machine().key)[0] == by_file
    elsewhere = replace(slow, machine=replace(machine(), cpu="another"))
    elsewhere.save(user_folder / "elsewhere.json")
    out = call("predict", "tiny.hlo", "--machine", "elsewhere.json")[1]
    assert "they ran on another machine" in out
    assert "rates: of another" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("own_functions:nothing",), "has no attribute 'nothing'"),
        (("own_functions:callback", "--shapes", "f32[2]"), "without callbacks"),
        (("nowhere.hlo",), "no file 'nowhere.hlo'"),
        (("tiny.hlo", "--machine", "nowhere.json"), "expected a file that hlograph calibrate"),
        (("tiny.hlo", "--machine", "tiny.hlo"), "is no rates of hlograph"),
        (("tiny.hlo", "--top", "-1"), "--top of at least 0"),
    ],
)
def test_refusals(call, words, told):
    status, out, err = call("predict", *words)
    assert (status, out) == (1, "")
    assert told in err.splitlines()[-1]


def test_no_table_is_shown_without_rows(call):
    out = call("predict", "tiny.hlo", "--top", "0")[1]
    assert "share" not in out
    assert "no decision is predicted to save" in out
