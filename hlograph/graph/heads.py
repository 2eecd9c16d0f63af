"""The heads of an actor-critic on the CPU, in one call: log-probabilities and values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph._native import graphs

Floats = NDArray[np.float32]


class HeadWeights(NamedTuple):
    """Two fully connected layers, with a tanh between them; F inputs, H hidden values, O outputs.

    Attributes:
        hidden: float32 ``[H, F]``.
        hidden_bias: float32 ``[H]``.
        output: float32 ``[O, H]``.
        output_bias: float32 ``[O]``.
    """

    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats


class Head:
    """A head alone.

    Args:
        weights: Its weights, copied.

    Raises:
        ValueError: Their shapes do not match, or a width is not supported.
    """

    def __init__(self, weights: HeadWeights) -> None:
        self._head, self._outputs = graphs().Head(*weights), len(weights.output_bias)

    def apply(self, rows: Floats) -> Floats:
        """Returns its outputs, float32 ``[B, O]``; those of a row do not depend on the others.

        Args:
            rows: float32 ``[B, at least F]``.

        Raises:
            ValueError: The rows are narrower than the weights.
        """
        out = np.empty((len(rows), self._outputs), np.float32)
        self._head.apply(rows, out)
        return out


class Heads:
    """Policy and value heads, which see the first columns of the same rows.

    Args:
        policy: Weights of the policy head, copied; its outputs are logits of actions.
        value: Weights of the value head, copied; it has one output.
        masked: Logit of an action that cannot be taken.

    Raises:
        ValueError: The shapes of the weights do not match, or a width is not supported.
    """

    def __init__(self, policy: HeadWeights, value: HeadWeights, masked: float) -> None:
        self._policy, self._value = graphs().Head(*policy), graphs().Head(*value)
        self._masked = masked

    def evaluate(self, rows: Floats, mask: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Evaluates states. The results of a row do not depend on the others, bit for bit.

        Args:
            rows: float32 ``[B, F]``, as wide as the head that sees more.
            mask: bool ``[B, A]``; False for actions that cannot be taken. Each row has a True.

        Returns:
            Log-probabilities of the actions, float32 ``[B, A]``, and values, float32 ``[B]``.

        Raises:
            ValueError: The shapes do not match those of the weights.
        """
        log_probs = np.empty(mask.shape, np.float32)
        values = np.empty((len(rows), 1), np.float32)
        graphs().evaluate_heads(
            self._policy, self._value, rows, mask, self._masked, log_probs, values
        )
        return log_probs, values[:, 0]
