"""Writes small HLO modules of one operation each."""

import re
from collections.abc import Iterator, Sequence
from itertools import count

Dims = tuple[int, ...]
_NAME = re.compile(r"\bi\d+\b")
_COMPUTATION = re.compile(r"^(\w+) \{.*?^\}\n", re.MULTILINE | re.DOTALL)

_COMPUTATIONS = """
add {
  add_x = f32[] parameter(0)
  add_y = f32[] parameter(1)
  ROOT add_r = f32[] add(add_x, add_y)
}

max {
  max_x = f32[] parameter(0)
  max_y = f32[] parameter(1)
  ROOT max_r = f32[] maximum(max_x, max_y)
}

ge {
  ge_x = f32[] parameter(0)
  ge_y = f32[] parameter(1)
  ROOT ge_r = pred[] compare(ge_x, ge_y), direction=GE
}

update {
  update_x = f32[] parameter(0)
  ROOT update_y = f32[] parameter(1)
}

negative {
  negative_x = f32[] parameter(0)
  ROOT negative_r = f32[] negate(negative_x)
}
"""


def shape(element_type: str, dims: Sequence[int]) -> str:
    """Returns a shape as HLO text has it, such as ``f32[2,3]``."""
    return f"{element_type}[{','.join(map(str, dims))}]"


def listed(values: Sequence[int]) -> str:
    """Returns integers as an attribute has them, such as ``{0,2}``."""
    return "{" + ",".join(map(str, values)) + "}"


def window(**fields: Sequence[int] | str) -> str:
    """Returns a window attribute; each field has one value for each dimension."""
    text = " ".join(
        f"{name}={value if isinstance(value, str) else 'x'.join(map(str, value))}"
        for name, value in fields.items()
        if value
    )
    return "window={" + text + "}"


def _numbered(body: str) -> str:
    """Returns instructions with their parameters numbered from 0."""
    numbers = count()
    return re.sub(r"\bparameter\(0\)", lambda _: f"parameter({next(numbers)})", body)


def _called(body: str, computations: str) -> str:
    """Returns the computations that instructions call, which call no others."""
    words = set(re.findall(r"\w+", body))
    texts = (m.group() for m in _COMPUTATION.finditer(computations) if m.group(1) in words)
    return "\n".join(texts)


class Writer:
    """Writes modules of the same operands, instruction by instruction.

    Args:
        constant: True to make operands constants, False to make them parameters.
    """

    def __init__(self, constant: bool) -> None:
        self._constant = constant
        self._lines: dict[str, str] = {}
        self._results: list[str] = []

    def operand(self, element_type: str, dims: Sequence[int], value: int = 1) -> str:
        """Adds an operand, and returns its name."""
        whole = shape(element_type, dims)
        if not self._constant:
            return self.add(whole, "parameter(0)")
        text = "true" if element_type == "pred" else str(value)
        if element_type.startswith("c"):
            text = f"({value}, 0)"
        scalar = self.add(shape(element_type, ()), f"constant({text})")
        return self.add(whole, f"broadcast({scalar}), dimensions={{}}") if dims else scalar

    def add(self, of_shape: str, instruction: str) -> str:
        """Adds an instruction, and returns its name."""
        name = f"i{len(self._lines)}"
        self._lines[name] = f"  {name} = {of_shape} {instruction}"
        return name

    def result(self, of_shape: str, instruction: str) -> str:
        """Adds an instruction that is among the results of the module, and returns its name."""
        self._results.append(self.add(of_shape, instruction))
        return self._results[-1]

    def texts(self, computations: str) -> Iterator[str]:
        """Yields a module for each result, with the instructions that it needs.

        Args:
            computations: Computations that instructions may call, as HLO text.
        """
        for result in self._results:
            needed = {result}
            for name, line in reversed(self._lines.items()):
                if name in needed:
                    needed.update(_NAME.findall(line))
            lines = [line for name, line in self._lines.items() if name in needed]
            lines[-1] = lines[-1].replace("  ", "  ROOT ", 1)
            body = _numbered("\n".join(lines))
            called = _called(body, _COMPUTATIONS + computations)
            yield f"HloModule m\n{called}\nENTRY e {{\n{body}\n}}\n"
