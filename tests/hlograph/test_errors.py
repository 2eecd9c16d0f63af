"""Errors: messages, attributes and pickling."""

import pickle

import pytest

from hlograph.errors import HloParseError, UnknownNameError, WorkerTimedOutError


def test_an_unknown_name_suggests_similar_names():
    error = UnknownNameError.of("pass", "algsim", ["dce", "algsimp", "cse"])
    assert str(error) == "no pass is called 'algsim'; did you mean 'algsimp'?"


@pytest.mark.parametrize(
    ("count", "listed"),
    [(2, "0, 1"), (20, ", ".join(map(str, range(20)))), (23, ", 18, 19 and 3 more")],
)
def test_an_unknown_name_lists_names_if_none_is_similar(count, listed):
    message = str(UnknownNameError.of("split", "trian", [str(i) for i in range(count)]))
    assert message.startswith("no split is called 'trian'; known: 0, 1")
    assert message.endswith(listed)


def test_errors_are_pickled_whole():
    lost = WorkerTimedOutError("too slow", note=b"dce", to_blame=True, seconds=3.0, output="end")
    parse = HloParseError("was parsing 3:7: error: no")
    name = UnknownNameError.of("pass", "dec", ["dce"])
    for error in (lost, parse, name):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert (parse.line, parse.column) == (3, 7)
