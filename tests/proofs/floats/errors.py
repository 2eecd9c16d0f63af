"""Bounds on rounding errors, by running error analysis of a module.

Each array is a value in float64, which stands for the exact one, and a bound on how far the
module's own array may be from it. Both follow instruction by instruction (N. J. Higham, Accuracy
and Stability of Numerical Algorithms, 2nd edition, sections 3.1 to 3.3): an operation adds ``u``
times its result, a sum or contraction of ``n`` terms ``gamma(n) = n u / (1 - n u)`` times the sum
of the absolute values of its terms, in any order of summation; and it passes on the bounds of its
operands. So two modules that are equal over the reals differ by at most the sum of their bounds.

Every instruction runs as a module of its own in XLA's reference evaluator, so windows, dimension
numbers and indices are XLA's. A comparison, an integer or an index that depends on a rounded number
has no bound, unless no error within the bound would change it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import hlograph
from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import FLOATS, Array
from tests.proofs.floats.bounded import Bounded, Value, evaluated
from tests.proofs.floats.operations import COMPARISONS, RULES, several_reductions
from tests.proofs.instructions import Computation, Instruction, Program


def error_bounds(module: hlograph.Module, inputs: list[Array]) -> list[Bounded]:
    """Returns the outputs of a module with bounds on their errors.

    Args:
        module: The module, all of whose parameters are arrays.
        inputs: One array for each parameter, which are taken to be exact.

    Raises:
        NoBoundError: An output is not continuous in a rounded number.
        HloError: An operation is none of those that have a bound.
    """
    analysis = _Analysis(Program.of(module))
    parameters = analysis.program.main.parameters
    given: list[Value] = [
        Bounded.given(array, parameter.type)
        for array, parameter in zip(inputs, parameters, strict=True)
    ]
    # Large numbers become infinite, and bounds that are no numbers hold for nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        result = analysis.run(analysis.program.main, given)
    return _leaves(result)


def _leaves(value: Value) -> list[Bounded]:
    if isinstance(value, Bounded):
        return [value]
    return [leaf for part in value for leaf in _leaves(part)]


@dataclass
class _Analysis:
    """The analysis of one program."""

    program: Program

    def run(self, computation: Computation, given: list[Value]) -> Value:
        """Returns the result of a computation."""
        values: dict[str, Value] = {}
        for name in _needed(computation):
            instruction = computation.instructions[name]
            if instruction.opcode == "parameter":
                values[name] = given[int(instruction.operands[0])]
            elif instruction.opcode == "constant":
                (array,) = evaluated(instruction, [])
                values[name] = Bounded.given(array, instruction.type)
            else:
                operands = [values[operand] for operand in instruction.operands]
                values[name] = self.apply(instruction, operands)
        return values[computation.root]

    def apply(self, instruction: Instruction, operands: list[Value]) -> Value:
        """Returns the result of an instruction."""
        opcode = instruction.opcode
        if opcode == "tuple":
            return tuple(operands)
        if opcode == "get-tuple-element":
            (index,) = instruction.numbers("index")
            parts = operands[0]
            assert isinstance(parts, tuple)
            return parts[index]
        if opcode == "while":
            return self._loop(instruction, operands[0])
        if opcode == "conditional":
            return self._branch(instruction, operands)
        if opcode == "call":
            return self.run(self.program.computations[instruction.called("to_apply")], operands)
        arrays = [operand for operand in operands if isinstance(operand, Bounded)]
        assert len(arrays) == len(operands), instruction
        if instruction.shape.startswith("("):
            return several_reductions(self, instruction, arrays)
        if all(array.exact for array in arrays) and instruction.type not in FLOATS:
            return Bounded(self.evaluated(instruction, [array.value for array in arrays]))
        if opcode in ("compare", "convert", "is-finite"):
            return COMPARISONS[opcode](instruction, arrays)
        rule = RULES.get(opcode)
        if rule is None:
            raise HloError(f"expected an operation that has a bound, got {instruction}")
        return rule(self, instruction, arrays)

    def evaluated(self, instruction: Instruction, arrays: list[Array]) -> Array:
        """Returns what an instruction computes in float64."""
        (result,) = self.all_evaluated(instruction, arrays)
        return result

    def all_evaluated(self, instruction: Instruction, arrays: list[Array]) -> list[Array]:
        """Returns the parts of the tuple that an instruction computes, or an array alone."""
        return evaluated(instruction, arrays, self._called(instruction))

    def combines_by(self, instruction: Instruction, attribute: str = "to_apply") -> list[str]:
        """Returns the opcodes by which a reduction or scatter combines elements, one a result."""
        computation = self.program.computations[instruction.called(attribute)]
        root = computation.instructions[computation.root]
        parts = root.operands if root.opcode == "tuple" else (root.name,)
        return [computation.instructions[part].opcode for part in parts]

    def _called(self, instruction: Instruction) -> str:
        names = instruction.all_called("to_apply", "select", "scatter")
        return "\n\n".join(str(self.program.computations[name]) for name in names)

    def _loop(self, instruction: Instruction, state: Value) -> Value:
        condition, body = (
            self.program.computations[instruction.called(name)] for name in ("condition", "body")
        )
        while True:
            going = self.run(condition, [state])
            assert isinstance(going, Bounded)
            if not going.value.item():
                return state
            state = self.run(body, [state])

    def _branch(self, instruction: Instruction, operands: list[Value]) -> Value:
        which = operands[0]
        assert isinstance(which, Bounded)
        names = instruction.all_called(
            "true_computation", "false_computation", "branch_computations"
        )
        number = which.value.item()
        chosen = (0 if number else 1) if isinstance(number, bool) else int(number)
        return self.run(self.program.computations[names[chosen]], [operands[1 + chosen]])


def _needed(computation: Computation) -> list[str]:
    """Returns the names of what the root depends on, operands first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        instruction = computation.instructions[name]
        if name in order:
            return
        if instruction.opcode not in ("parameter", "constant"):
            for operand in instruction.operands:
                visit(operand)
        order[name] = None

    visit(computation.root)
    return list(order)
