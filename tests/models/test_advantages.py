"""Tests generalised advantages against values computed by hand."""

import pytest
import torch

from models.ppo import generalized_advantages

GAMMA, LAMBDA = 0.5, 0.8
NOT_DONE = [False, False, False]


def _advantages(terminated: list[bool], truncated: list[bool]) -> list[float]:
    """Three steps with rewards 1, 2, 3, values 4, 5, 6, and next values 5, 6, 10."""

    def column(row: list) -> torch.Tensor:
        return torch.tensor(row).unsqueeze(1)

    advantage = generalized_advantages(
        reward=column([1.0, 2.0, 3.0]),
        value=column([4.0, 5.0, 6.0]),
        next_value=column([5.0, 6.0, 10.0]),
        terminated=column(terminated),
        truncated=column(truncated),
        gamma=GAMMA,
        gae_lambda=LAMBDA,
    )
    return advantage.squeeze(1).tolist()


def test_running_episode():
    # delta: 1 + 2.5 - 4 = -0.5, 2 + 3 - 5 = 0, 3 + 5 - 6 = 2; each carries 0.4 of the next.
    assert _advantages(NOT_DONE, NOT_DONE) == pytest.approx([-0.18, 0.8, 2.0])


def test_termination_has_no_future():
    # delta of the second step: 2 - 5 = -3, and nothing of the third.
    result = _advantages([False, True, False], NOT_DONE)
    assert result == pytest.approx([-0.5 + 0.4 * -3.0, -3.0, 2.0])


def test_truncation_keeps_the_value_of_the_state_it_was_left_in():
    # delta of the second step stays 0, but nothing of the third belongs to it.
    assert _advantages(NOT_DONE, [False, True, False]) == pytest.approx([-0.5, 0.0, 2.0])


def test_last_step_of_the_rollout():
    assert _advantages([False, False, True], NOT_DONE)[2] == pytest.approx(3.0 - 6.0)
    assert _advantages(NOT_DONE, [False, False, True])[2] == pytest.approx(2.0)


def test_environments_do_not_mix():
    generator = torch.Generator().manual_seed(0)
    reward, value, next_value = torch.randn(3, 6, 4, generator=generator)
    ended = torch.rand(2, 6, 4, generator=generator) < 0.2
    terminated, truncated = ended[0], ended[1] & ~ended[0]
    together = generalized_advantages(
        reward, value, next_value, terminated, truncated, GAMMA, LAMBDA
    )
    for n in range(4):
        column = slice(n, n + 1)
        alone = generalized_advantages(
            reward[:, column],
            value[:, column],
            next_value[:, column],
            terminated[:, column],
            truncated[:, column],
            GAMMA,
            LAMBDA,
        )
        torch.testing.assert_close(alone, together[:, column])
