"""Networks of minima and maxima sort all rows, and wrong ones do not."""

import pytest

from tests.proofs.floats.networks import exchanges_of, of_length, unsorted_row


@pytest.mark.parametrize("length", [2, 3, 7, 16, 31, 32])
def test_a_network_sorts_all_rows(length):
    count, exchanges = exchanges_of(of_length(length))
    assert count == length
    assert unsorted_row(count, exchanges) is None


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_network_without_one_exchange_leaves_a_row_unsorted(number):
    count, exchanges = exchanges_of(of_length(8))
    del exchanges[number]
    row = unsorted_row(count, exchanges)
    assert row is not None
    assert list(row) != sorted(row)


def test_an_exchange_the_other_way_round_leaves_a_row_unsorted():
    count, exchanges = exchanges_of(of_length(8))
    low, high = exchanges[-1]
    exchanges[-1] = high, low
    assert unsorted_row(count, exchanges) is not None
