"""Defines what a program's version in PyTorch is: a function and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., Any]
"""Function of tensors, and of lists of them."""

Compiler = Callable[[Function], Function]
"""Either `torch.compile`, or the function that returns its argument, for eager mode."""


def whole(function: Function) -> Callable[[Compiler], Function]:
    """Returns what makes a function that is compiled as one."""

    def build(compiler: Compiler) -> Function:
        return compiler(function)

    return build


def repeated(
    step: Function, count: int, start: Function = lambda *arguments: arguments
) -> Callable[[Compiler], Function]:
    """Returns what makes a loop whose step is compiled.

    `torch.compile` unrolls loops of Python, so that people compile the step.

    Args:
        step: Function of state and constants that returns the next state.
        count: Number of steps.
        start: Function of the arguments that returns the first state, and constants after it.
    """

    def build(compiler: Compiler) -> Function:
        compiled = compiler(step)

        def loop(*arguments: Tensor) -> tuple[Tensor, ...]:
            values = tuple(start(*arguments))
            for _ in range(count):
                state = compiled(*values)
                values = (*state, *values[len(state) :])
            return values

        return loop

    return build


@dataclass(frozen=True)
class Model:
    """Version in PyTorch of one program of the set `speed`."""

    name: str
    """Name of the program in the corpus."""
    build: Callable[[Compiler], Function]
    """Makes the function that is timed; `torch.compile` or nothing is applied to its parts."""
    prepare: Function = lambda *inputs: inputs
    """Makes the function's arguments from the program's inputs, outside of the timed part.

    It brings weights and images into PyTorch's order of dimensions, and computes what a model
    keeps in buffers.
    """
    finish: Function = lambda outputs: [outputs] if isinstance(outputs, Tensor) else list(outputs)
    """Makes the program's outputs, in their order and shapes, from the function's."""
    gradient: bool = False
    """True if the function differentiates; others run in inference mode."""

    def call(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Calls a function that `build` made, in the right mode."""
        with torch.inference_mode(not self.gradient):
            return function(*arguments)


def image(tensor: Tensor) -> Tensor:
    """Returns images NHWC as NCHW, in PyTorch's default memory format."""
    return tensor.permute(0, 3, 1, 2).contiguous()


def image_back(tensor: Tensor) -> list[Tensor]:
    """Returns images NCHW as NHWC, the only output of a program."""
    return [tensor.permute(0, 2, 3, 1)]


def kernel(tensor: Tensor) -> Tensor:
    """Returns kernels HWIO as OIHW."""
    return tensor.permute(3, 2, 0, 1).contiguous()


def series(tensor: Tensor) -> Tensor:
    """Returns series, batch by time by channels, as batch by channels by time."""
    return tensor.transpose(1, 2).contiguous()


def series_kernel(tensor: Tensor) -> Tensor:
    """Returns kernels HIO as OIH."""
    return tensor.permute(2, 1, 0).contiguous()


def dense(tensor: Tensor) -> Tensor:
    """Returns weights, inputs by outputs, as `torch.nn.functional.linear` takes them."""
    return tensor.T.contiguous()
