"""``hlograph parse``: a module as a typed graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hlograph.commands.command import Answer, OptionalFile
from hlograph.commands.sources import SourceCommand, SourceName
from hlograph.commands.text_tables import counted, counts_of, facts_of, facts_table, table
from hlograph.storage.atomic_write import write_text_atomically

if TYPE_CHECKING:
    from hlograph.module import Module

Format = Literal["summary", "text", "json", "dot"]
"""Format of the answer."""


@dataclass(frozen=True, kw_only=True)
class Parse(SourceCommand):
    """Reads a module, and shows it as a summary, HLO text, or a typed graph."""

    source: SourceName
    """package.module:function, or a file with HLO or StableHLO."""
    format: Format = "summary"
    """summary; text (HLO text); json (the typed graph, as HloGraph.from_json reads it); or dot (the
    typed graph for Graphviz)."""
    out: OptionalFile = None
    """File to write it to, instead of stdout."""

    def run(self) -> Answer:
        """Reads the module; see the class."""
        module = self.module_of(self.source)
        summary = _summary(module)
        text = _written(module, summary, self.format)
        if self.out is None:
            known = {} if self.format == "summary" else {self.format: _content(text, self.format)}
            return Answer(text, summary | known)
        if not text.endswith("\n"):
            text += "\n"
        write_text_atomically(self.out, text)
        said = f"{module.name}: {counted(module.op_count, 'instruction')}, written to {self.out}"
        return Answer(said, summary | {"out": str(self.out)})


def _summary(module: Module) -> dict[str, Any]:
    graph = module.graph()
    return facts_of(module) | {
        "computations": graph.num_computations,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "op_counts": counts_of(module),
    }


def _written(module: Module, summary: Mapping[str, Any], form: Format) -> str:
    if form == "text":
        return module.to_text()
    if form == "json":
        return module.graph().to_json()
    if form == "dot":
        return module.graph().to_dot()
    size = [
        f"graph: {counted(summary['nodes'], 'node')}, {counted(summary['edges'], 'edge')}, "
        f"{counted(summary['computations'], 'computation')}"
    ]
    ranked = sorted(summary["op_counts"].items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [("opcode", "number"), *((opcode, f"{count:,}") for opcode, count in ranked)]
    return "\n\n".join([facts_table([summary], [""]), *size, table(rows, right=(1,))])


def _content(text: str, form: Format) -> object:
    return json.loads(text) if form == "json" else text
