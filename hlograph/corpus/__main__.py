"""The corpus on the command line: ``python -m hlograph.corpus list|show|export``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from hlograph.corpus.benchmark_set import COLUMNS, BenchmarkSet
from hlograph.corpus.own_modules import from_folder
from hlograph.corpus.record import Benchmark
from hlograph.corpus.shipped import SETS, SPLITS, load
from hlograph.errors import HloError
from hlograph.graph.vocabulary import OPCODES
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

_WRITERS: dict[str, Callable[[Benchmark], bytes]] = {
    "hlo": lambda benchmark: benchmark.load().to_text().encode(),
    "pb": lambda benchmark: benchmark.load().to_proto(),
    "json": lambda benchmark: benchmark.load().graph().to_json().encode(),
    "dot": lambda benchmark: benchmark.load().graph().to_dot().encode(),
}
_LISTED = ("set", "split", "library", "op_count", "op_count_xla_cpu", "op_count_xla_simplify")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except HloError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hlograph.corpus", description="List, show and export benchmarks."
    )
    commands = parser.add_subparsers(required=True, metavar="list|show|export")
    selection = argparse.ArgumentParser(add_help=False)
    selection.add_argument(
        "pattern", nargs="*", default=["*"], help="names or globs, as 'gpt2/*'; all by default"
    )
    selection.add_argument("--set", choices=SETS)
    selection.add_argument(
        "--split", choices=SPLITS, action="append", help="repeatable; all splits by default"
    )
    selection.add_argument("--max-op-count", type=int, metavar="N")
    selection.add_argument(
        "--folder", type=Path, help="folder with your own modules instead of the corpus"
    )

    listing = commands.add_parser("list", parents=[selection], help="list benchmarks, one a line")
    listing.add_argument("--csv", action="store_true", help="all columns, comma-separated")
    listing.set_defaults(command=_list)

    showing = commands.add_parser("show", help="show one benchmark")
    showing.add_argument("name")
    showing.add_argument("--folder", type=Path, help="folder with your own modules")
    showing.add_argument("--text", action="store_true", help="print only the HLO text")
    showing.set_defaults(command=_show)

    exporting = commands.add_parser("export", parents=[selection], help="write modules to files")
    exporting.add_argument("--out", type=Path, required=True, help="folder to write to")
    exporting.add_argument("--format", choices=sorted(_WRITERS), default="hlo")
    exporting.add_argument("--workers", type=int, help="number of threads; default: CPUs")
    exporting.set_defaults(command=_export)
    return parser


def _selected(options: argparse.Namespace) -> BenchmarkSet:
    benchmarks = from_folder(options.folder) if options.folder else load(options.set, options.split)
    limit = options.max_op_count
    chosen = benchmarks.filter(
        lambda b: (
            any(fnmatchcase(b.name, pattern) for pattern in options.pattern)
            and (limit is None or b.op_count <= limit)
        )
    )
    if not chosen:
        raise HloError(f"no benchmark matches {' '.join(options.pattern)} and the other options")
    return chosen


def _list(options: argparse.Namespace) -> None:
    benchmarks = _selected(options)
    if options.csv:
        benchmarks.manifest().to_csv(sys.stdout, index=False)
        return
    rows = [("name", *_LISTED)]
    rows += [(b.name, *(_cell(getattr(b, column)) for column in _LISTED)) for b in benchmarks]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).strip())
    total = sum(benchmark.op_count for benchmark in benchmarks)
    print(f"{len(benchmarks):,} benchmarks, {total:,} instructions")


def _show(options: argparse.Namespace) -> None:
    benchmark = (from_folder(options.folder) if options.folder else load())[options.name]
    module = benchmark.load()
    if options.text:
        print(module.to_text())
        return
    for column in COLUMNS:
        print(f"{column:22}{_cell(getattr(benchmark, column))}")
    if isinstance(benchmark.source, Path):
        print(f"{'file':22}{benchmark.source}")
    counts = module.op_counts()
    print("opcodes")
    for opcode, count in sorted(zip(OPCODES, counts, strict=True), key=lambda pair: -pair[1]):
        if count:
            print(f"  {opcode:28}{count:>8,}")


def _export(options: argparse.Namespace) -> None:
    from tqdm import tqdm

    benchmarks = _selected(options)
    write = _WRITERS[options.format]
    contents = benchmarks.map(write, workers=options.workers)
    for benchmark, content in tqdm(
        zip(benchmarks, contents, strict=True), total=len(benchmarks), unit="module", disable=None
    ):
        write_bytes_atomically(options.out / f"{benchmark.name}.{options.format}", content)
    table = benchmarks.manifest().to_csv(index=False)
    write_text_atomically(options.out / "manifest.csv", table)
    print(f"{len(benchmarks):,} modules and manifest.csv in {options.out}")


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)


if __name__ == "__main__":
    sys.exit(main())
