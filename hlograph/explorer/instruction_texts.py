"""What the HLO text says of each instruction that a typed graph does not hold.

These are shapes of tuples, layouts with tiles and memory spaces, attributes as XLA prints them,
names in the source (``op_name``) and source lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlograph.reading.hlo_text import InstructionText, read_module, unquoted

_SOURCE = re.compile(r'source_file=("(?:[^"\\]|\\.)*")')
_LINE = re.compile(r"source_line=(\d+)")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_TABLE_ROW = re.compile(r'(\d+) (?:("(?:[^"\\]|\\.)*")|\{(.*)\})$')
_FIELD = re.compile(r"(\w+)=(\d+)")
_SHOWN = 120
"""Characters of a constant that are kept."""


class ShownText(NamedTuple):
    """What the browser shows of an instruction's text.

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


def shown_texts(text: str) -> dict[tuple[str, str], ShownText]:
    """Returns what the text of ``Module.to_text(metadata=True)`` says, by computation and name."""
    header, computations = read_module(text)
    frames = _frames(header.split("\n"))
    return {
        (each.computation, each.name): ShownText(
            each.shape, _attributes(each), each.op_name, _source(each.metadata, frames)
        )
        for computation in computations
        for each in computation.instructions
    }


def _attributes(instruction: InstructionText) -> str:
    argument = instruction.argument
    if instruction.opcode == "parameter":
        argument = f"parameter({argument})"
    elif len(argument) > _SHOWN:
        argument = f"{argument[:_SHOWN]}..."
    return ", ".join(filter(None, (argument, instruction.attributes)))


def _source(metadata: str, frames: dict[str, str]) -> str:
    if file := _SOURCE.search(metadata):
        line = _LINE.search(metadata)
        return unquoted(file.group(1)) + (f":{line.group(1)}" if line else "")
    frame = _FRAME.search(metadata)
    return frames.get(frame.group(1), "") if frame else ""


def _frames(lines: list[str]) -> dict[str, str]:
    """Returns file, line and function of each stack frame that a module's header lists."""
    tables: dict[str, dict[str, str]] = {}
    rows: dict[str, str] = {}
    for line in lines:
        if row := _TABLE_ROW.match(line):
            rows[row.group(1)] = row.group(2) or row.group(3)
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
    return f"{unquoted(file)}:{fields.get('line', '')}" + (
        f" ({unquoted(function)})" if function else ""
    )
