"""``hlograph corpus``: lists, shows and exports benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from hlograph.commands.command import Answer, Command, Flag, OptionalFile
from hlograph.commands.text_tables import counted, counts_of, table
from hlograph.corpus.benchmark_set import COLUMNS, Benchmark, BenchmarkSet
from hlograph.corpus.own_modules import from_folder
from hlograph.corpus.shipped import CorpusSet, Split, benchmark, load
from hlograph.errors import HloError
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

Format = Literal["hlo", "pb", "json", "dot"]
"""Format of an exported module."""

_WRITERS: dict[Format, Callable[[Benchmark], bytes]] = {
    "hlo": lambda benchmark: benchmark.load().to_text().encode(),
    "pb": lambda benchmark: benchmark.load().to_proto(),
    "json": lambda benchmark: benchmark.load().graph().to_json().encode(),
    "dot": lambda benchmark: benchmark.load().graph().to_dot().encode(),
}
_LISTED = ("set", "split", "library", "op_count", "op_count_xla_cpu", "op_count_xla_simplify")

_Patterns = Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PATTERN ...")]

_Number = Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")]
_Set = Annotated[CorpusSet | None, tyro.conf.arg(help_behavior_hint="")]
_Splits = Annotated[tuple[Split, ...], tyro.conf.arg(help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class _Selection(Command):
    """Options that select benchmarks."""

    pattern: _Patterns = ("*",)
    """Names or globs, such as 'gpt2/*'; all by default."""
    set: _Set = None
    """Set of the corpus; None is gpt2-train and diverse, whose programs are small."""
    split: _Splits = ()
    """Splits of the corpus; all by default."""
    max_op_count: _Number = None
    """Largest number of instructions of a benchmark."""
    folder: OptionalFile = None
    """Folder with your own modules instead of the corpus."""

    def _selected(self) -> BenchmarkSet:
        own = from_folder(self.folder) if self.folder else load(self.set, self.split or None)
        limit, patterns = self.max_op_count, self.pattern or ("*",)
        chosen = own.filter(
            lambda b: (
                any(fnmatchcase(b.name, pattern) for pattern in patterns)
                and (limit is None or b.op_count <= limit)
            )
        )
        if not chosen:
            raise HloError(f"no benchmark matches {' '.join(patterns)} and the other options")
        return chosen


@dataclass(frozen=True, kw_only=True)
class ListBenchmarks(_Selection):
    """Lists benchmarks, one a line."""

    csv: Flag = False
    """All columns, separated by commas."""

    def run(self) -> Answer:
        """Lists the benchmarks."""
        benchmarks = self._selected()
        content = [_record(benchmark) for benchmark in benchmarks]
        if self.csv:
            return Answer(benchmarks.manifest().to_csv(index=False), content)
        rows = [("name", *_LISTED)]
        rows += [(b.name, *(_cell(getattr(b, column)) for column in _LISTED)) for b in benchmarks]
        total = sum(benchmark.op_count for benchmark in benchmarks)
        end = f"{counted(len(benchmarks), 'benchmark')}, {counted(total, 'instruction')}"
        return Answer(f"{table(rows, right=(4, 5, 6))}\n{end}", content)


@dataclass(frozen=True, kw_only=True)
class ShowBenchmark(Command):
    """Shows one benchmark: where it comes from, and its opcodes."""

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """Name of the benchmark."""
    folder: OptionalFile = None
    """Folder with your own modules instead of the corpus."""
    text: Flag = False
    """Print only the HLO text."""

    def run(self) -> Answer:
        """Shows the benchmark."""
        own = self.folder
        shown = from_folder(own)[self.name] if own else benchmark(self.name)
        module = shown.load()
        counts, record = counts_of(module), _record(shown)
        if isinstance(shown.source, Path):
            record["file"] = str(shown.source)
        if self.text:
            text = module.to_text()
            return Answer(text, record | {"text": text})
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        parts = [
            table([(column, _cell(value)) for column, value in record.items()]),
            table([("opcode", "number"), *((o, f"{n:,}") for o, n in ranked)], right=(1,)),
        ]
        return Answer("\n\n".join(parts), record | {"op_counts": counts})


@dataclass(frozen=True, kw_only=True)
class ExportBenchmarks(_Selection):
    """Writes modules to files, with a table of them in manifest.csv."""

    out: Path
    """Folder to write to."""
    format: Format = "hlo"
    """Format of the files: HLO text, proto, typed graph, or the graph for Graphviz."""
    workers: _Number = None
    """Number of threads; None is the number of CPUs."""

    def run(self) -> Answer:
        """Writes the files."""
        from tqdm import tqdm

        benchmarks = self._selected()
        contents = benchmarks.map(_WRITERS[self.format], workers=self.workers)
        files = []
        for module, content in tqdm(
            zip(benchmarks, contents, strict=True),
            total=len(benchmarks),
            unit="module",
            disable=None,
        ):
            files.append(self.out / f"{module.name}.{self.format}")
            write_bytes_atomically(files[-1], content)
        manifest = benchmarks.manifest().to_csv(index=False)
        write_text_atomically(self.out / "manifest.csv", manifest)
        said = f"{counted(len(benchmarks), 'module')} and manifest.csv in {self.out}"
        return Answer(said, {"out": str(self.out), "files": [str(file) for file in files]})


def _record(benchmark: Benchmark) -> dict[str, Any]:
    return {column: getattr(benchmark, column) for column in COLUMNS}


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
