"""Reads what the HLO text says of each instruction that a typed graph does not hold.

These are shapes of tuples, layouts with tiles and memory spaces, attributes as XLA prints them,
names in the source (``op_name``) and source lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = re.compile(r"(?:ENTRY )?%?([\w.\-]+) (?:\(.*)?\{$")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?(\S+) = ")
_OPCODE = re.compile(r" ([\w\-]+)\(")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_SOURCE = re.compile(r'source_file="((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r"source_line=(\d+)")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_TABLE_ROW = re.compile(r'(\d+) (?:"((?:[^"\\]|\\.)*)"|\{(.*)\})$')
_FIELD = re.compile(r"(\w+)=(\d+)")
_METADATA = ", metadata={"
_SHOWN = 120
"""Characters of a constant that are kept."""


@dataclass(frozen=True, slots=True)
class InstructionText:
    """Holds what the text says of an instruction.

    Attributes:
        shape: Its shape with layout, such as ``f32[16,8]{1,0}``.
        attributes: Its attributes, or the beginning of its literal, as XLA prints them.
        op_name: Name of the operation in the source, such as ``jit(f)/dot_general``; may be empty.
        source: Source file and line, such as ``model.py:12``; may be empty.
    """

    shape: str
    attributes: str
    op_name: str
    source: str


def instruction_texts(text: str) -> dict[tuple[str, str], InstructionText]:
    """Returns what the text of ``Module.to_text(metadata=True)`` says, by computation and name."""
    lines = text.splitlines()
    frames = _frames(lines)
    found: dict[tuple[str, str], InstructionText] = {}
    computation = ""
    for line in lines:
        if line[:1].isspace():
            if begin := _INSTRUCTION.match(line):
                key = computation, begin.group(1)
                found[key] = _instruction(line[begin.end() :], frames)
        elif line.endswith("{") and (header := _HEADER.match(line)):
            computation = header.group(1)
    return found


def _instruction(text: str, frames: dict[str, str]) -> InstructionText:
    """Returns what the text of an instruction says, from its shape on."""
    cut = text.rfind(_METADATA)
    text, metadata = (text[:cut], text[cut:]) if cut >= 0 else (text, "")
    end = closing(text, 0) if text.startswith("(") else text.index(" ")
    shape = text[:end]
    opcode = _OPCODE.match(text, end)
    attributes = "" if opcode is None else _attributes(text, opcode, shape)
    name = _OP_NAME.search(metadata)
    return InstructionText(
        shape=shape,
        attributes=attributes,
        op_name=_unescaped(name.group(1)) if name else "",
        source=_source(metadata, frames),
    )


def _attributes(text: str, opcode: re.Match[str], shape: str) -> str:
    # Complex numbers and tuples in literals have brackets of their own.
    nested = opcode.group(1) == "constant" and shape.startswith(("c", "("))
    end = closing(text, opcode.end() - 1) if nested else text.find(")", opcode.end()) + 1
    rest = text[end:].removeprefix(", ")
    if opcode.group(1) == "parameter":
        return f"parameter({text[opcode.end() : end - 1]})" + (f", {rest}" if rest else "")
    if opcode.group(1) == "constant":
        literal = text[opcode.end() : min(end - 1, opcode.end() + _SHOWN)]
        more = "..." if end - 1 > opcode.end() + _SHOWN else ""
        return literal + more + (f", {rest}" if rest else "")
    return rest


def _source(metadata: str, frames: dict[str, str]) -> str:
    if file := _SOURCE.search(metadata):
        line = _LINE.search(metadata)
        return _unescaped(file.group(1)) + (f":{line.group(1)}" if line else "")
    frame = _FRAME.search(metadata)
    return frames.get(frame.group(1), "") if frame else ""


def _frames(lines: list[str]) -> dict[str, str]:
    """Returns file, line and function of each stack frame that a module's header lists."""
    tables: dict[str, dict[str, str]] = {}
    rows: dict[str, str] = {}
    for line in lines:
        if line.endswith("{"):
            break
        if row := _TABLE_ROW.match(line):
            rows[row.group(1)] = row.group(2) if row.group(2) is not None else row.group(3)
        elif line and line[0].isalpha() and " " not in line:
            rows = tables.setdefault(line, {})
    return {number: _place(frame, tables) for number, frame in _frame_rows(tables)}


def _frame_rows(tables: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    locations = tables.get("FileLocations", {})
    for number, row in tables.get("StackFrames", {}).items():
        yield number, locations.get(dict(_FIELD.findall(row)).get("file_location_id", ""), "")


def _place(location: str, tables: dict[str, dict[str, str]]) -> str:
    fields = dict(_FIELD.findall(location))
    file = tables.get("FileNames", {}).get(fields.get("file_name_id", ""), "")
    function = tables.get("FunctionNames", {}).get(fields.get("function_name_id", ""), "")
    if not file:
        return ""
    return f"{_unescaped(file)}:{fields.get('line', '')}" + (f" ({function})" if function else "")


def closing(text: str, start: int) -> int:
    """Returns the position after the bracket that closes the one at ``start``."""
    depth = 0
    for position in range(start, len(text)):
        if text[position] in "([{":
            depth += 1
        elif text[position] in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
    return len(text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
