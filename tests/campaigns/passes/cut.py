"""Smaller HLO modules cut from larger ones, as text, to minimise a defect."""

import re

_LINE = re.compile(r"^  (ROOT )?(?P<name>[\w.-]+) = (?P<shape>\(.*?\)|\S+) (?P<opcode>[\w-]+)\(")


def with_entry(text: str, number: int) -> str:
    """Returns the module with another computation as its entry; callees come before callers."""
    head, *computations = text.split("\n\n")
    chosen = computations[number].removeprefix("ENTRY ").rstrip("\n")
    head = re.sub(r"(HloModule \S+?),.*", r"\1", head)
    kept = [head, *computations[:number], f"ENTRY {chosen}\n"]
    return _without_dead_computations("\n\n".join(kept))


def _entry(text: str) -> tuple[list[str], int, int]:
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("ENTRY"))
    return lines, begin, next(n for n in range(begin, len(lines)) if lines[n] == "}")


def entry_instructions(text: str) -> list[str]:
    """Returns the names of the instructions of the entry, without parameters."""
    lines, begin, end = _entry(text)
    matches = (_LINE.match(line) for line in lines[begin + 1 : end])
    return [m["name"] for m in matches if m and m["opcode"] != "parameter"]


def cut(text: str, kept: frozenset[str]) -> str:
    """Returns the module with only some instructions in its entry.

    The others become parameters if a kept one uses them. The root is a tuple of all kept
    instructions that have no user. Computations without a caller are removed.
    """
    lines, begin, end = _entry(text)
    shapes: dict[str, str] = {}
    body: list[str] = []
    used: set[str] = set()
    for line in lines[begin + 1 : end]:
        match = _LINE.match(line)
        if match is None:
            continue
        shapes[match["name"]] = match["shape"]
        if match["name"] in kept:
            body.append(line.replace("ROOT ", "", 1))
            used |= set(re.findall(r"[\w.-]+", line[match.end() :]))
    names = [m["name"] for line in body if (m := _LINE.match(line))]
    free = [name for name in shapes if name in used and name not in kept]
    parameters = [f"  {name} = {shapes[name]} parameter({n})" for n, name in enumerate(free)]
    results = [name for name in names if name not in used]
    shape = ", ".join(shapes[name] for name in results)
    root = f"  ROOT the_root = ({shape}) tuple({', '.join(results)})"
    head = re.sub(r"(HloModule \S+?),.*", r"\1", lines[0])
    pieces = [head, *lines[1 : begin + 1], *parameters, *body, root, "}", *lines[end + 1 :]]
    return _without_dead_computations("\n".join(pieces) + "\n")


def _without_dead_computations(text: str) -> str:
    """Removes computations whose name occurs once: where they are defined."""
    while True:
        blocks = text.split("\n\n")
        words = re.findall(r"[\w.-]+", text)
        alive = [
            block
            for block in blocks
            if block.startswith(("HloModule", "ENTRY"))
            or words.count(block.lstrip("%\n").split(" ")[0]) > 1
        ]
        if len(alive) == len(blocks):
            return text
        text = "\n\n".join(alive)
