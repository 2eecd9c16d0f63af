"""The entry computation of a cut.

Arrays come and go row-major, as jax passes them; a bitcast, which costs nothing, gives them the
layout that they have in the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlograph.errors import HloError
from hlograph.reading.hlo_editing import Computation, Instruction, ModuleText
from hlograph.reading.hlo_text import array_shape, split
from hlograph.tuning.cutting.writing import written_operands

_CONTROL = "control-predecessors"
# A scalar that is made of constants by these, such as a loop's counter, stays what it is.
_OF_CONSTANTS = frozenset(["copy", "bitcast", "broadcast", "reshape", "convert"])


class CutError(HloError):
    """Raised when instructions cannot be cut out of their program."""


class EntryMaker:
    """Makes the entry computation of a cut.

    Args:
        module: The module that is cut.
        home: The computation of the instructions.
        chosen: The instructions, operands first.
    """

    def __init__(
        self, module: ModuleText, home: Computation, chosen: Iterable[Instruction]
    ) -> None:
        self._module, self._home, self._outer = module, home, home.by_name
        self._chosen = {one.name: one for one in chosen}
        self._made: list[Instruction] = []
        self._parameters: list[Instruction] = []
        self._known: set[str] = set()
        # Leaves of tuples that are written in place, by name: the others are parameters still.
        self._written: dict[str, frozenset[int]] = {}

    def computation(self) -> Computation:
        """Returns the computation."""
        for one in self._chosen.values():
            self._add(one)
        results = [name for one in self._chosen.values() for name in self._results(one)]
        if not results:
            raise CutError(f"cannot cut out {', '.join(self._chosen)}: it has no result of its own")
        made = {one.name: one for one in self._made}
        if len(results) == 1:  # as jaxlib passes it
            made[results[0]].is_root = True
        else:
            shape = f"({', '.join(made[name].shape for name in results)})"
            self._make(self._fresh("results"), shape, "tuple", results)
            self._made[-1].is_root = True
        name = self._module.fresh("cut_entry")
        return Computation(name, True, [*self._parameters, *self._made])

    def _add(self, one: Instruction) -> None:
        copy = one.copy(one.name)
        copy.is_root = False
        kept = [f"%{name}" for name in one.predecessors if name in self._chosen]
        copy.attributes.pop(_CONTROL, None)
        if kept:
            copy.attributes[_CONTROL] = f"{{{', '.join(kept)}}}"
        written = written_operands(self._module, self._home, one)
        copy.operands = [
            self._operand(name, written.get(number, frozenset()))
            for number, name in enumerate(one.operands)
        ]
        if one.shape.startswith("("):
            self._written[one.name] = written.get(0, frozenset())
        self._known.add(one.name)
        self._made.append(copy)

    def _operand(self, name: str, written: frozenset[int]) -> str:
        """Returns the name of a value in the cut; a copy, where it is written in place."""
        if name in self._chosen:
            return name
        shape = self._outer[name].shape
        if not shape.startswith("("):
            value = self._value(name)
            return self._copy(value, shape) if written else value
        leaves = _leaves(shape)
        producer = self._outer[name]
        names = producer.operands if producer.opcode == "tuple" else [""] * len(leaves)
        elements = []
        for number, (leaf, operand) in enumerate(zip(leaves, names, strict=True)):
            value = self._value(operand) if operand else self._parameter(self._fresh(name), leaf)
            elements.append(self._copy(value, leaf) if number in written else value)
        return self._make(self._fresh(name), shape, "tuple", elements)

    def _value(self, name: str) -> str:
        """Returns the name of an array from outside, under which it is in the cut."""
        if name in self._known or name in self._chosen:
            return name
        one = self._outer[name]
        self._known.add(name)
        if one.opcode == "constant" or self._is_constant_scalar(one):
            for operand in one.operands:
                self._value(operand)
            copy = one.copy(name)
            copy.is_root = False
            copy.attributes.pop(_CONTROL, None)
            self._made.append(copy)
            return name
        return self._parameter(name, one.shape)

    def _is_constant_scalar(self, one: Instruction) -> bool:
        shape = array_shape(one.shape)
        if one.opcode == "constant":
            return True
        if shape is None or shape.elements != 1 or one.opcode not in _OF_CONSTANTS:
            return False
        return all(self._is_constant_scalar(self._outer[name]) for name in one.operands)

    def _parameter(self, name: str, text: str) -> str:
        shape = array_shape(text)
        if shape is None or shape.type == "token":
            raise CutError(f"cannot cut at {name}: expected arrays as its operands, got {text}")
        number = str(len(self._parameters))
        if shape.is_row_major:
            self._parameters.append(Instruction(name, text, "parameter", [], argument=number))
            return name
        given = Instruction(
            self._fresh(name), _in_memory_order(text), "parameter", [], argument=number
        )
        self._parameters.append(given)
        return self._make(name, text, "bitcast", [given.name])

    def _results(self, one: Instruction) -> Iterator[str]:
        """Yields the names of the results of an instruction that are not used within the cut only.

        What a loop does not change is none: it would share the buffer of a parameter.
        """
        users = [user.name for user in self._home.users(one.name)]
        if users and not one.is_root and all(name in self._chosen for name in users):
            return
        if not one.shape.startswith("("):
            yield self._row_major(one.name, one.shape)
            return
        changed = self._written[one.name] if one.opcode != "fusion" else None
        for number, leaf in enumerate(_leaves(one.shape)):
            if changed is not None and number not in changed:
                continue
            attributes = {"index": str(number)}
            name = self._fresh(one.name)
            self._make(name, leaf, "get-tuple-element", [one.name], attributes)
            yield self._row_major(name, leaf)

    def _row_major(self, name: str, text: str) -> str:
        shape = array_shape(text)
        if shape is None or shape.type == "token":
            raise CutError(f"cannot cut at {name}: expected arrays as its results, got {text}")
        if shape.is_row_major:
            return name
        return self._make(self._fresh(name), _in_memory_order(text), "bitcast", [name])

    def _copy(self, value: str, shape: str) -> str:
        return self._make(self._fresh(value), shape, "copy", [value])

    def _make(
        self,
        name: str,
        shape: str,
        opcode: str,
        operands: list[str],
        attributes: dict[str, str] | None = None,
    ) -> str:
        self._made.append(Instruction(name, shape, opcode, operands, attributes or {}))
        return name

    def _fresh(self, name: str) -> str:
        return self._module.fresh(f"{name}.cut")


def _leaves(shape: str) -> list[str]:
    leaves = [part.rpartition("*/")[2].strip() for part in split(shape[1:-1])]
    if any(leaf.startswith("(") for leaf in leaves):
        raise CutError(f"cannot cut at a tuple within a tuple: {shape[:200]}")
    return leaves


def _in_memory_order(text: str) -> str:
    """Returns the row-major shape that has the memory of another one."""
    shape = array_shape(text)
    assert shape is not None
    order = ",".join(str(number) for number in reversed(range(len(shape.dimensions))))
    return f"{shape.type}[{','.join(map(str, shape.outer_sizes))}]{{{order}}}"
