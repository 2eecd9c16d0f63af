"""The parser campaign: its inputs are reproducible, and every kind of outcome is reported."""

import os
import signal
import time
from functools import partial
from random import Random

import pytest

from hlograph import HloParseError, Module
from hlograph.isolation import WorkerLimits, WorkerPool
from tests.campaigns import fuzz_parser
from tests.campaigns.framework.tasks import INTERRUPTED
from tests.campaigns.parsing.inputs import KINDS, Input, Inputs
from tests.campaigns.parsing.proto_mutations import decode, encode
from tests.campaigns.parsing.text_mutations import TEXT_MUTATIONS
from tests.campaigns.parsing.trials import Outcome, make_worker, outcomes_of
from tests.hlograph import samples

WHILE = samples.WHILE.encode()


def behave(data: bytes) -> None:
    """Parses as the data says."""
    match data:
        case b"error":
            raise HloParseError("no")
        case b"other":
            raise KeyError("key")
        case b"crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case b"hang":
            time.sleep(60)


def die(data: bytes) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return Inputs(seed=3)


def test_every_kind_of_outcome_is_seen():
    order = [b"graph", b"error", b"crash", b"graph", b"other", b"hang", b"error"]
    made = [Input("text", data) for data in order]
    worker = partial(make_worker, made, behave, 1 << 36)
    with WorkerPool(worker, 2, WorkerLimits(seconds=1.0)) as pool:
        outcomes = sorted(outcomes_of(range(len(made)), made, pool))
    assert [outcome.verdict for outcome in outcomes] == [
        "graph",
        "HloParseError",
        "died",
        "graph",
        "other error",
        "timed out",
        "HloParseError",
    ]
    assert "SIGKILL" in outcomes[2].detail
    assert "after 2 others" in outcomes[2].detail
    assert "KeyError" in outcomes[4].detail


def test_a_failure_is_saved_and_ends_in_status_1(tmp_path, capsys):
    config = fuzz_parser.ParserFuzzConfig(inputs=1, seed=3, first=5, out=tmp_path)
    assert fuzz_parser.main(config, die) == 1
    (saved,) = tmp_path.iterdir()
    assert saved.read_bytes() == Inputs(3)[5].data
    printed = capsys.readouterr().out
    assert "SIGKILL" in printed
    assert "in a fresh process" in printed


def test_ctrl_c_still_reports(monkeypatch, tmp_path, capsys):
    def outcomes_of(numbers, inputs, pool):
        yield Outcome(numbers[0], "text", "graph")
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz_parser, "outcomes_of", outcomes_of)
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
