"""Draws of kernels."""

import pytest

from experiments.kernel_bank.drawing import LONGEST, SHORTEST, draw, predicted_seconds
from experiments.kernel_bank.sources import Change
from hlograph.errors import HloError
from tests.experiments.cost_model.data import kernel

BRIEF, USUAL = kernel("tanh", 2), kernel("tanh", 1000)


def test_the_first_draw_is_the_kernel_as_it_is():
    drawn = draw(USUAL, 0, 0)
    assert drawn.change == Change()
    assert "f32[1000,64]" in drawn.module.to_text()
    with pytest.raises(HloError, match="too briefly"):
        draw(BRIEF, 0, 0)


def test_other_draws_run_about_as_long_as_they_are_to():
    for number in range(1, 12):
        drawn = draw(USUAL, number, 0)
        assert drawn.change.to_json()
        assert SHORTEST / 3 < predicted_seconds(drawn.module) < 3 * LONGEST


def test_draws_are_repeated_by_their_seed():
    changes = [draw(USUAL, number, 0).change for number in range(1, 6)]
    assert changes == [draw(USUAL, number, 0).change for number in range(1, 6)]
    assert changes != [draw(USUAL, number, 1).change for number in range(1, 6)]
