"""Modules within a text: in pastes with prose around them, and several in one file.

A text that a parser takes as a whole never comes here. The lines of a module are found by its
header and by brackets; what is in them is left to the parsers.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from hlograph.reading.stablehlo_checks import public_functions, with_custom_calls, with_main

_BRACKETED = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//.*|[(){}\[\]]')
_OPENING, _CLOSING = frozenset("({["), frozenset(")}]")

_HEADER = re.compile(r"(.*?)(\**)\bHloModule\**\s+\**%?([\w.\-$<>]+)\**\s*(?:,.*|\{.*)?$")
_COMPUTATION = re.compile(
    r"(ENTRY\s+)?%?([\w.\-$<>]+)\s*(?:\(.*)?\{|(ENTRY|%)\s*([\w.\-$<>]+)\s*\("
)
_TABLE = re.compile(r'(?:FileNames|FunctionNames|FileLocations|StackFrames)$|\d+ ["{].*')
_MLIR = re.compile(r'(?:builtin\.)?module\b.*|func\.func\b.*|"builtin\.module".*')
_MODULE_NAME = re.compile(r"\s*(?:[#!][^\n]*\n\s*)*(?:builtin\.)?module\s+@([\w.\-$]+)")
_MLIR_ALIAS = re.compile(r"[#!]\w+\s*=.*|#loc.*")
_SEPARATOR = re.compile(r"\s*//\s*-----")
_COMMENT = ("//", "/*", "#")
_FENCE = "```"
_BOLD, _ESCAPES = "**", ("-&gt;", "&quot;")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_QUOTED_OR_BOLD = re.compile(rf"{_QUOTED.pattern}|\*\*")
# Begins a module of computations alone.
_ADDED_HEADER = "HloModule pasted"


class Excerpt(NamedTuple):
    """A module within a text.

    Attributes:
        name: Its name; of StableHLO without one, that of its first function.
        form: HLO text, StableHLO, or a proto.
        text: The module, with an empty line for each line before it, so that line numbers hold;
            empty for a proto.
        line: Number of its first line, from 1.
        lines: Number of its lines.
        cut: Where it ends too early, as words; empty for a whole module.
        cleaned: What was taken out of its lines, as words.
        data: The proto; empty for text.
    """

    name: str
    form: Literal["hlo", "mlir", "proto"]
    text: str
    line: int = 0
    lines: int = 0
    cut: str = ""
    cleaned: tuple[str, ...] = ()
    data: bytes = b""

    @property
    def place(self) -> str:
        """Says in words where it begins; empty for a proto."""
        return f" in line {self.line}" if self.line else ""


def excerpts_of(text: str) -> list[Excerpt]:
    """Returns the modules within a text, in its order."""
    lines = text.splitlines()
    made: list[Excerpt] = []
    number = 0
    while number < len(lines):
        excerpt = _hlo_from(lines, number)
        if excerpt is not None and (excerpt.cut or "{" in excerpt.text):
            made.append(excerpt)
            number = excerpt.line - 1 + excerpt.lines
        else:
            number += 1
    return made or _stablehlo_in(lines) or _without_header(lines)


def left_out(text: str, excerpt: Excerpt) -> str:
    """Returns what of a text is not in a module of it, as words; empty if all is in it."""
    lines = [line.strip().lstrip("> ") for line in text.splitlines()]
    end = excerpt.line - 1 + excerpt.lines
    parts = []
    for where, outside in (("before", lines[: excerpt.line - 1]), ("after", lines[end:])):
        count = sum(bool(line) and not line.startswith(_COMMENT) for line in outside)
        if count:
            parts.append(f"{count} line{'s' if count > 1 else ''} {where} it")
    return ", ".join([*parts, *excerpt.cleaned])


class _Scan(NamedTuple):
    """Lines of a module: their text, and what a cut module lacks."""

    lines: list[str]
    cut: str


def _hlo_from(lines: Sequence[str], start: int) -> Excerpt | None:
    header = _HEADER.match(lines[start])
    if header is None or (header[1].strip() and header[1].strip()[0] in "\"'"):
        return None
    prefix = header[1] if header[1].strip() else ""
    unprefixed = _without_prefix(prefix)
    scan = _scan(lines, start, lambda line: unprefixed(line))
    text = "\n".join(scan.lines)
    cleaned = [f"{prefix.strip()!r} at the beginning of lines"] if prefix else []
    text, marks = _without_marks(text)
    return Excerpt(
        header[3],
        "hlo",
        "\n" * start + text + "\n",
        start + 1,
        len(scan.lines),
        scan.cut,
        (*cleaned, *marks),
    )


def _without_prefix(prefix: str) -> Callable[[str], str]:
    """Returns what takes a prefix off a line, such as that of a log; its numbers may differ."""
    if not prefix:
        return str
    pattern = re.sub(r"\d+", r"\\d+", re.escape(prefix.rstrip()))
    begin = re.compile(rf"{pattern} ?")
    return lambda line: begin.sub("", line, count=1) if begin.match(line) else line


def _without_marks(text: str) -> tuple[str, list[str]]:
    """Takes out what pages put into a text, but for strings, which may have all of it."""
    if not any(mark in text for mark in (_BOLD, *_ESCAPES)):
        return text, []
    marks, outside = [], _QUOTED.sub("", text)
    if _BOLD in outside:
        text = _QUOTED_OR_BOLD.sub(lambda part: "" if part[0] == _BOLD else part[0], text)
        marks.append("the ** of Markdown")
    if any(escape in outside for escape in _ESCAPES):
        text = html.unescape(text)
        marks.append("the escapes of HTML")
    return text, marks


def _scan(lines: Sequence[str], start: int, clean: Callable[[str], str]) -> _Scan:
    """Returns the lines of an HLO module from its header on."""
    kept = [clean(lines[start])]
    depth, name = _depth(kept[0]), "its header"
    end, entry, computations = 1, False, 0
    for line in lines[start + 1 :]:
        line = clean(line)
        bare = line.strip().replace("**", "")
        if bare.startswith(_FENCE) or _SEPARATOR.match(line):
            break
        if depth <= 0 and bare and not (bare.startswith(_COMMENT) or _TABLE.match(bare)):
            begin = _COMPUTATION.match(bare)
            if begin is None:
                break
            entry |= bool(begin[1]) or begin[3] == "ENTRY"
            computations += 1
            name = f"the computation {begin[2] or begin[4]}"
        depth += _depth(bare)
        if depth < 0:  # a bracket of what is around the module, such as a string of C++
            line, depth = line[: line.find("}") + 1], 0
            kept.append(line)
            end = len(kept)
            break
        kept.append(line)
        if bare:
            end = len(kept)
    kept = kept[:end]
    where = f"in line {start + end}, {kept[-1].strip()[-60:]!r}"
    if depth > 0:
        return _Scan(kept, f"the text ends {where}, within {name}")
    if not computations:
        return _Scan(kept, f"the text ends {where}, before the first computation")
    if not entry and computations > 1:
        return _Scan(kept, f"the text ends {where}, without an ENTRY computation")
    return _Scan(kept, "")


def _depth(line: str) -> int:
    tokens = _BRACKETED.findall(line)
    return sum((token in _OPENING) - (token in _CLOSING) for token in tokens)


def _without_header(lines: Sequence[str]) -> list[Excerpt]:
    """Returns the computations of a text as one module."""
    for start, line in enumerate(lines):
        begin = _COMPUTATION.match(line.strip().replace("**", ""))
        if begin is None or not line.rstrip("* \t").endswith("{"):
            continue
        scan = _scan([_ADDED_HEADER, *lines[start:]], 0, str)
        text, marks = _without_marks("\n".join(scan.lines[1:]))
        if "ROOT " in text or " = " in text:
            text = f"{_ADDED_HEADER} {chr(10) * max(start, 1)}{text}\n"
            count = len(scan.lines) - 1
            return [Excerpt("pasted", "hlo", text, start + 1, count, scan.cut, tuple(marks))]
    return []


def _stablehlo_in(lines: Sequence[str]) -> list[Excerpt]:
    made: list[Excerpt] = []
    start = 0
    for number in range(len(lines) + 1):
        if number == len(lines) or _SEPARATOR.match(lines[number]):
            made += _stablehlo_between(lines, start, number)
            start = number + 1
    return made


def _stablehlo_between(lines: Sequence[str], start: int, end: int) -> list[Excerpt]:
    """Returns the StableHLO modules of some lines; functions side by side are one module."""
    made: list[Excerpt] = []
    number, begun, aliases, depth = start, -1, -1, 0
    last, functions = -1, False
    for number in range(start, end):
        bare = lines[number].strip()
        if depth > 0:
            if bare.startswith(_FENCE):
                break
            depth += _depth(bare)
            last = number
            continue
        is_module = bool(_MLIR.match(bare))
        is_function = is_module and bare.startswith("func")
        if is_module and begun >= 0 and not (is_function and functions):
            made += _stablehlo(lines, begun, last, depth)
            begun = -1
        if is_module:
            begun = begun if begun >= 0 else (aliases if aliases >= 0 else number)
            functions = is_function
            depth += _depth(bare)
            last = number
        elif _MLIR_ALIAS.match(bare):
            aliases = number if aliases < 0 and begun < 0 else aliases
            last = number if begun >= 0 else last
        elif bare.startswith(_FENCE) and begun >= 0:
            break
        elif not (not bare or bare.startswith("//")):
            aliases = -1
    if begun >= 0:
        made += _stablehlo(lines, begun, last, depth)
    return made


def _stablehlo(lines: Sequence[str], start: int, last: int, depth: int) -> list[Excerpt]:
    """Returns a module of StableHLO; one for each public function if none of them is its entry."""
    text, marks = _without_marks("\n".join(lines[start : last + 1]))
    text, number = with_custom_calls(text)
    if number:
        marks.append(f"{number} expectation{'s' if number > 1 else ''}")
    named = _MODULE_NAME.match(text)
    name = named[1] if named else ""
    where = f"the text ends in line {last + 1}, {lines[last].strip()[-60:]!r}"
    cut = f"{where}, within a function or module" if depth > 0 else ""
    functions = public_functions(text)
    entries = ["main"] if "main" in functions or not functions else functions
    return [
        Excerpt(
            name if name and len(entries) == 1 else entry,
            "mlir",
            "\n" * start + with_main(text, entry) + "\n",
            start + 1,
            last + 1 - start,
            cut,
            tuple(marks),
        )
        for entry in entries
    ]
