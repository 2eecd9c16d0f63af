"""The parser campaign: its inputs are reproducible, and every kind of outcome is reported."""

from __future__ import annotations

import os
import signal
import time
from random import Random

import pytest

from hlograph import HloParseError, Module
from tests.campaigns import fuzz_parser
from tests.campaigns.framework.tasks import INTERRUPTED
from tests.campaigns.parsing import trials as parser_trials
from tests.campaigns.parsing.inputs import KINDS, Input, Inputs
from tests.campaigns.parsing.protobuf_wire import decode, encode
from tests.campaigns.parsing.text_mutations import TEXT_MUTATIONS
from tests.campaigns.parsing.trials import InputLimits, Trials
from tests.hlograph import samples

WHILE = samples.WHILE.encode()
_BEHAVIOURS = {
    b"graph": lambda: None,
    b"error": lambda: _raise(HloParseError("no")),
    b"other": lambda: _raise(KeyError("what")),
    b"crash": lambda: _die(),
    b"hang": lambda: time.sleep(60),
}


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return Inputs(seed=3)


def test_every_kind_of_outcome_is_seen(monkeypatch):
    monkeypatch.setattr(parser_trials.hlograph, "parse", lambda data: _BEHAVIOURS[data]())
    order = [b"graph", b"error", b"crash", b"graph", b"other", b"hang", b"error"]
    made = [Input("text", data) for data in order]
    outcomes = sorted(Trials(made, InputLimits(1.0, 1 << 32), workers=2).run(range(len(made))))
    assert [outcome.what for outcome in outcomes] == [
        "graph",
        "HloParseError",
        "died",
        "graph",
        "other error",
        "timed out",
        "HloParseError",
    ]
    assert outcomes[2].detail == "SIGKILL, after 2 others"
    assert "KeyError" in outcomes[4].detail


def test_a_failure_is_saved_and_ends_in_status_1(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(parser_trials.hlograph, "parse", lambda data: _die())
    config = fuzz_parser.ParserFuzzConfig(inputs=1, seed=3, first=5, out=tmp_path)
    assert fuzz_parser.main(config) == 1
    (saved,) = tmp_path.iterdir()
    assert saved.read_bytes() == Inputs(3)[5].data
    assert "died: SIGKILL, in a fresh process" in capsys.readouterr().out


def test_ctrl_c_still_reports(monkeypatch, tmp_path, capsys):
    def run(self, numbers):
        yield parser_trials.Outcome(numbers[0], "text", "graph")
        raise KeyboardInterrupt

    monkeypatch.setattr(Trials, "run", run)
    config = fuzz_parser.ParserFuzzConfig(inputs=10, out=tmp_path)
    assert fuzz_parser.main(config) == INTERRUPTED
    assert "1 of 10 inputs" in capsys.readouterr().out


def test_inputs_depend_on_seed_and_number_alone(inputs):
    again = Inputs(seed=3)
    assert [inputs[number] for number in (9, 4)] == [again[9], again[4]]
    assert inputs[4] != Inputs(seed=4)[4]
    assert {inputs[number].kind for number in range(200)} == set(KINDS)


@pytest.mark.parametrize("mutation", TEXT_MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_mutations_change_text_and_are_reproducible(mutation):
    results = [mutation(WHILE, Random(seed), [WHILE]) for seed in range(20)]
    assert results == [mutation(WHILE, Random(seed), [WHILE]) for seed in range(20)]
    assert sum(result != WHILE for result in results) > 10


def test_wire_format_round_trip():
    proto = Module.from_text(samples.INDEXING).to_proto()
    fields = decode(proto)
    assert fields is not None
    assert encode(fields) == proto
    assert decode(proto[:-1]) is None
