"""A program in XLA's evaluator, which runs the instructions as they are, one element at a time.

Of a large program it computes some outputs alone. It also says how far each element moves with
other roundings (``execution.equivalence.elements``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import Array, signature_of
from hlograph.execution.equivalence.elements import coarsest, distance, with_moved_roundings
from hlograph.execution.equivalence.engines import Limits, Runner, make_runner
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import perturbed
from hlograph.execution.equivalence.regions import Region, with_regions
from hlograph.execution.equivalence.rounding import rounding_count
from hlograph.execution.equivalence.text_flow import TextFlow
from hlograph.measuring.implementations import evaluator_obstacles
from hlograph.module import Module
from hlograph.plans import Program
from hlograph.plans.jaxlib_modules import text_of
from hlograph.reading.hlo_editing import ModuleText

# The evaluator takes microseconds for an element, and less for the terms of a product.
LIMITS = Limits(evaluated_flops=1e9, evaluator_seconds=20.0)
"""Limits of engines that are references."""

LONGEST = 30.0
"""Seconds that an engine may take, and all runs with other roundings."""

_EVALUATED = 4_000_000
_ROUNDINGS = 16  # in all of them a jump is missed once in 65,536

Places = list[list[Region]]
"""Regions of all outputs, one list for each place that is looked at."""


class EvaluatedProgram:
    """A program in XLA's evaluator.

    Args:
        program: The program.
        flow: Its data flow.
        places: Returns the regions of outputs to evaluate if there are too many elements; None
            refuses such a program.

    Raises:
        HloError: The evaluator does not compute it, or not in time.
    """

    def __init__(
        self, program: Program, flow: TextFlow, places: Callable[[], Places] | None
    ) -> None:
        if reasons := evaluator_obstacles(flow):
            raise HloError("; ".join(reasons))
        self._parameters = program.signature.parameters
        self._module, self._places = program.module(), None
        if _elements(flow) > _EVALUATED:
            if places is None:
                raise HloError("nothing else runs, of which it could check some outputs")
            self._module.run("call-inliner")
            self._places = places()
        self.run = self._runner(self._module)
        self._flow = flow

    def _runner(self, module: Module) -> Runner:
        """Returns what evaluates a module's outputs; of regions, flat arrays of all of them."""
        if self._places is None:
            return make_runner("evaluator", module, signature_of(module), LIMITS)
        text = ModuleText.parse(text_of(module.to_proto()))
        runners = []
        for regions in self._places:
            part = str(with_regions(text, regions))
            # With other roundings there are more instructions, on as many elements of each.
            if module is self._module and _elements(TextFlow(part)) > _EVALUATED:
                raise HloError(f"some of its outputs need {_EVALUATED:.0e} elements one by one")
            of_part = Module.from_text(part)
            runners.append(make_runner("evaluator", of_part, signature_of(of_part), LIMITS))

        def run(inputs: list[Array]) -> list[Array]:
            parts = [runner(inputs) for runner in runners]
            return [
                np.concatenate([array.ravel() for array in arrays])
                for arrays in zip(*parts, strict=True)
            ]

        return run

    @property
    def is_whole(self) -> bool:
        """True if all outputs are evaluated."""
        return self._places is None

    def in_place(self, evaluated: list[Array], outputs: list[Array]) -> list[Array]:
        """Returns outputs with what was evaluated of them, or of what they are.

        Args:
            evaluated: Arrays from ``run``.
            outputs: Arrays that have the other elements; they are not changed.
        """
        if self._places is None:
            return evaluated
        outputs = [array.copy() for array in outputs]
        for number, array in enumerate(outputs):
            at = 0
            for regions in self._places:
                place = tuple(slice(*bounds) for bounds in regions[number])
                shape = array[place].shape
                size = math.prod(shape)
                array[place] = evaluated[number][at : at + size].reshape(shape)
                at += size
        return outputs

    def allowances(self, inputs: list[Array]) -> list[Array]:
        """Returns by how much rounding may change each element that is evaluated.

        Args:
            inputs: The inputs.

        Returns:
            An array of the shape of each evaluated one; nothing if the module has no floats that
            can be moved, or if it takes long.

        Raises:
            HloError: The evaluator does not run it with other roundings.
        """
        text = ModuleText.parse(text_of(self._module.to_proto()))
        epsilon = coarsest(text)
        if not epsilon:
            return []
        begun, evaluated = time.monotonic(), self.run(inputs)
        changes = [np.zeros(array.shape) for array in evaluated]
        for seed in range(_ROUNDINGS):
            run = self._runner(Module.from_text(str(with_moved_roundings(text, seed))))
            outputs = run(perturbed(inputs, self._parameters, seed))
            rows = zip(changes, evaluated, outputs, strict=True)
            changes = [np.maximum(so_far, distance(*pair)) for so_far, *pair in rows]
            if seed == 0 and (time.monotonic() - begun) * _ROUNDINGS > LONGEST:
                return []
        # Changes stand for one rounding of each instruction, and a long sum has many.
        error = max(1.0, math.sqrt(rounding_count(self._flow).variance) / epsilon)
        return [error * largest for largest in changes]


def _elements(flow: Flow | TextFlow) -> int:
    """Returns how many elements a module computes."""
    pairs = zip(flow.opcodes, flow.elements, strict=True)
    return sum(int(elements) for opcode, elements in pairs if opcode != "parameter")
