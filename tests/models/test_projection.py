"""Layer normalisation and a linear layer in one pass give what torch gives in two."""

import pytest
import torch
from torch import nn

from models.projection import project

ROWS, OUTPUTS = 300, 37


@pytest.mark.parametrize("width", [24, 20])  # fused, and not
def test_values_and_gradients_are_those_of_torch(width):
    torch.manual_seed(0)
    norm, linear = nn.LayerNorm(width), nn.Linear(width, OUTPUTS)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    rows = torch.randn(ROWS, width, requires_grad=True)
    found = project(norm, linear.weight, linear.bias, rows)
    assert ("_Fused" in type(found.grad_fn).__name__) == (width == 24)
    expected = linear(norm(rows))
    torch.testing.assert_close(found, expected)
    inputs = (rows, *norm.parameters(), *linear.parameters())
    gradient = torch.randn_like(expected)
    pairs = zip(
        torch.autograd.grad(found, inputs, gradient),
        torch.autograd.grad(expected, inputs, gradient),
        strict=True,
    )
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max()))
    with torch.no_grad():
        assert torch.equal(project(norm, linear.weight, linear.bias, rows), found)
