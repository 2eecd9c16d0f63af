"""Pages of graphs: a module as columns, also as jaxlib compiles it, with the times of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlograph.explorer.flops import flops
from hlograph.explorer.overview import overview
from hlograph.explorer.site import Page
from hlograph.graph.vocabulary import EDGE_TYPES, OPCODES
from hlograph.reading.hlo_text import InstructionText, read_module, unquoted

if TYPE_CHECKING:
    from hlograph.graph.hlo_graph import HloGraph
    from hlograph.measuring.trial import Job
    from hlograph.module import Module

_SOURCE = re.compile(r'source_file=("(?:[^"\\]|\\.)*")')
_LINE = re.compile(r"source_line=(\d+)")
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_TABLE_ROW = re.compile(r'(\d+) (?:("(?:[^"\\]|\\.)*")|\{(.*)\})$')
_FIELD = re.compile(r"(\w+)=(\d+)")
_SHOWN = 120
"""Characters of a constant that are kept."""


class ShownText(NamedTuple):
    """The parts of an instruction's text that the browser shows.

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


_NO_TEXT = ShownText("", "", "", "")
_PARTS = 4
"""Places in the overview are whole numbers of this part of a row."""


@dataclass(frozen=True)
class Numbers:
    """A number for each instruction, to colour a graph by.

    Attributes:
        name: Short name, such as ``flops``.
        title: Title for people.
        unit: Unit, such as ``B`` or ``s``; may be empty.
        values: A number for each instruction, in the graph's order; NaN where there is none.
    """

    name: str
    title: str
    unit: str
    values: NDArray[Any]


def module_data(module: Module, numbers: Sequence[Numbers] = ()) -> dict[str, Any]:
    """Returns a module as columns, in what JSON can hold.

    Instructions are numbered as in ``Module.graph``, so that a computation's are next to each
    other, operands before users. Texts are in tables, each once.

    Args:
        module: The module.
        numbers: Numbers to colour by, beside bytes and flops.

    Returns:
        By name: ``name`` of the module; ``names`` of the instructions, a line each; ``opcodes``,
        ``shapes``, ``attributes``, ``scopes`` and ``sources``, tables of texts; ``opcode``,
        ``shape``, ``attribute``, ``scope`` and ``source``, their numbers in these tables;
        ``operand_counts`` and ``operands``; ``control``, pairs of instructions; ``calls``, pairs of
        an instruction and a computation; ``computations``, their names, a line each; ``first``,
        the number of the first instruction of each and the number of all; ``roots``; ``entry``;
        ``numbers``, to colour by; ``overview``, the places of instructions.
    """
    graph = module.graph()
    count = graph.num_nodes - graph.num_computations
    first = np.searchsorted(graph.computation[:count], range(graph.num_computations + 1))
    names = graph.names()
    texts = _texts(module, graph, names)
    opcode, opcodes = _used(graph.opcode[:count])
    own = [
        Numbers("bytes", "Bytes", "B", graph.bytes[:count]),
        Numbers("flops", "Flops", "", flops(graph)[:count]),
    ]
    return {
        "name": module.name,
        "names": "\n".join(names[:count]),
        "opcodes": opcodes,
        "opcode": opcode,
        **_table("shapes", "shape", [text.shape for text in texts]),
        **_table("attributes", "attribute", [text.attributes for text in texts]),
        **_table("scopes", "scope", [text.op_name for text in texts]),
        **_table("sources", "source", [text.source for text in texts]),
        **_edges(graph, count),
        "computations": "\n".join(names[count:]),
        "first": first.tolist(),
        "entry": int(np.flatnonzero(graph.is_entry[count:])[0]),
        "numbers": [_number(each) for each in (*own, *numbers)],
        "overview": _overview(graph, count),
    }


def _texts(module: Module, graph: HloGraph, names: list[str]) -> list[ShownText]:
    """Returns the texts of the instructions in the order of the graph."""
    count = graph.num_nodes - graph.num_computations
    texts = shown_texts(module.to_text(metadata=True))
    computations = graph.computation[:count].tolist()
    return [
        texts.get((names[count + computation], names[node]), _NO_TEXT)
        for node, computation in enumerate(computations)
    ]


def _edges(graph: HloGraph, count: int) -> dict[str, Any]:
    data, control, call, member = (_of_type(graph, name) for name in EDGE_TYPES)
    roots = np.zeros(graph.num_computations, np.int64)
    # A member edge goes from a computation to its root.
    roots[member[0] - count] = member[1]
    return {
        "operand_counts": np.bincount(data[1], minlength=count).tolist(),
        "operands": data[0].tolist(),
        "control": control.T.tolist(),
        "calls": (call - [[0], [count]]).T.tolist(),
        "roots": roots.tolist(),
    }


def _of_type(graph: HloGraph, name: str) -> NDArray[np.int64]:
    """Returns sources and targets of the edges of a type, by target and position."""
    chosen = np.flatnonzero(graph.edge_type == EDGE_TYPES.index(name))
    source, target = graph.edge_index[:, chosen]
    owner = source if name == "call" else target
    order = np.lexsort((graph.edge_position[chosen], owner))
    return np.stack([source[order], target[order]])


def _used(opcode: NDArray[np.int16]) -> tuple[list[int], list[str]]:
    used, numbers = np.unique(opcode, return_inverse=True)
    return numbers.tolist(), [OPCODES[i] for i in used.tolist()]


def _table(table: str, column: str, texts: Iterable[str]) -> dict[str, Any]:
    """Returns texts as a table of each once, and their numbers in it."""
    index: dict[str, int] = {}
    numbers = [index.setdefault(text, len(index)) for text in texts]
    return {table: list(index), column: numbers}


def _number(numbers: Numbers) -> dict[str, Any]:
    values = np.asarray(numbers.values)
    if values.dtype.kind == "f" and np.array_equal(values, np.trunc(values)):
        values = values.astype(np.int64)  # shorter as text
    listed = values.tolist()
    if values.dtype.kind == "f":
        listed = [None if value != value else float(f"{value:.4g}") for value in listed]
    return {"name": numbers.name, "title": numbers.title, "unit": numbers.unit, "values": listed}


def _overview(graph: HloGraph, count: int) -> dict[str, Any]:
    is_inside = (graph.edge_index < count).all(axis=0)
    source, target = graph.edge_index[:, is_inside]
    drawn = overview(
        source, target, graph.computation[:count].astype(np.int64), graph.num_computations
    )

    def whole(values: NDArray[np.float64]) -> list[Any]:
        return np.rint(values * _PARTS).astype(np.int64).tolist()

    return {
        "x": whole(drawn.x),
        "y": whole(drawn.y),
        "boxes": whole(drawn.boxes),
        "size": whole(np.array([drawn.width, drawn.height])),
        "parts": _PARTS,
    }


def graph_page(module: Module, numbers: Sequence[Numbers] = ()) -> tuple[Page, dict[str, Any]]:
    """Returns the page of a module's graph, and its data file.

    Args:
        module: The module.
        numbers: Numbers to colour by, beside bytes and flops.
    """
    file = "graph-module"
    return Page("graph", "graph", "Graph", {"module": file}), {file: module_data(module, numbers)}


_FILE = "compiled-module"


def compiled_page(job: Job) -> tuple[Page, dict[str, Any]]:
    """Compiles a program by jaxlib, runs and profiles it, and returns its page and data file.

    Kernels are instructions of the module that jaxlib generated code from, not of the one that it
    was given; so this is a graph of its own.

    Args:
        job: The program, and the arguments to run it with.

    Raises:
        HloError: jaxlib does not compile or run it.
    """
    from hlograph.measuring.samples import Samples
    from hlograph.module import Module
    from hlograph.plans import compile_program
    from hlograph.profiling import OptimizedModule
    from hlograph.profiling.of_program import profile_compiled

    inputs = Samples(job.program, job.given, job.seed).usual[0].inputs
    executable = compile_program(job.program, None)
    profile = profile_compiled(executable, job.program, inputs)
    module = Module.from_text(OptimizedModule.of(executable).text)
    seconds = {kernel.name: kernel.seconds for kernel in profile.kernels}
    graph = module.graph()
    names = graph.names()[: graph.num_nodes - graph.num_computations]
    values = np.array([seconds.get(name, np.nan) for name in names])
    within = float(np.nansum(values))
    slowest = next((k.name for k in profile.kernels if k.name in names), None)
    data = module_data(module, [Numbers("seconds", "Time of the kernel", "s", values)])
    page = {
        "module": _FILE,
        "colour": "seconds",
        "seconds": profile.seconds,
        "outside": max(0.0, profile.seconds - within),
        "focus": slowest,
    }
    return Page("graph", "compiled", "Compiled", page), {_FILE: data}
