"""Compares parsing and graphs with XLA's parser and with jaxlib's."""

from __future__ import annotations

from collections.abc import Iterator

import hlograph
from benchmarks.progress import tracked
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import Subject, subject
from benchmarks.timing import Call, Timings, interleaved
from hlograph.module import Module

TITLE = "Parsing and graphs"
PROGRAML_NODES = 581
PROGRAML_MS = 10.7
"""Milliseconds that ProGraML published for such a graph (Cummins et al. 2021), elsewhere."""


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures parsing, graphs and conversions, size by size."""
    for size in tracked(settings.sizes):
        of = subject(size)
        found = interleaved(_calls(of), settings.rounds, settings.budget)
        yield from _ratios(of, found)
        yield from _times(of, found)
    yield from _programl(settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    of = [subject(size) for size in (*settings.sizes, PROGRAML_NODES)]
    return {one.column: one.description for one in of}


def _calls(of: Subject) -> dict[str, Call]:
    from jaxlib import _hlo  # pyright: ignore[reportAttributeAccessIssue]

    text = of.text
    graph = of.module.graph()
    changed = of.module.clone()
    changed.run(hlograph.pipelines["xla-simplify"])
    seen = of.module.clone()
    seen.snapshot()  # as environments take it before an observation
    return {
        "xla": Call(lambda _: Module.from_text(text)),
        "parse": Call(lambda _: hlograph.parse(text)),
        "jaxlib": Call(lambda _: _hlo.hlo_module_from_text(text)),
        "graph": Call(lambda _: of.module.graph()),
        "observation": Call(lambda _: seen.features()),
        "first observation": Call(
            lambda module: module.features(), prepare=lambda: Module.from_text(text)
        ),
        "to_pyg": Call(lambda _: graph.to_pyg()),
        "to_networkx": Call(lambda _: graph.to_networkx()),
        "fingerprint": Call(
            lambda module: module.fingerprint(), prepare=lambda: Module.from_text(text)
        ),
        "clone": Call(lambda _: changed.clone()),
    }


def _ratios(of: Subject, found: Timings) -> Iterator[Figure]:
    column = of.column
    aim = Aim(1.15) if of.size >= 1_000 else None
    yield Figure.of("parse / XLA's parser", column, found.ratio("parse", "xla"), "x", aim)
    yield Figure.of("parse / jaxlib's parser", column, found.ratio("parse", "jaxlib"), "x")


def _times(of: Subject, found: Timings) -> Iterator[Figure]:
    def figure(what: str, name: str, aim: Aim | None = None) -> Figure:
        return Figure.of(what, of.column, found.of(name, 1e3), "ms", aim)

    yield figure("XLA's parser", "xla")
    yield figure("parse", "parse")
    yield figure("module.graph()", "graph")
    limits = {1_000: Aim(0.3), 8_000: Aim(2.0)}
    yield figure("graph observation", "observation", limits.get(of.size))
    yield figure("graph observation of an unknown module", "first observation")
    yield figure("graph.to_pyg()", "to_pyg", Aim(1.0) if of.size == 8_000 else None)
    yield figure("graph.to_networkx()", "to_networkx")
    yield figure("first fingerprint", "fingerprint")
    yield figure("clone of a changed module", "clone")


def _programl(settings: Settings) -> Iterator[Figure]:
    """Compares with ProGraML's figure, which is of other programs and another machine."""
    of = subject(PROGRAML_NODES)
    calls = {
        "parse": Call(lambda _: hlograph.parse(of.text)),
        "graph": Call(lambda _: of.module.graph()),
    }
    found = interleaved(calls, settings.rounds, settings.budget)
    for what, name in (("parse", "parse"), ("module.graph()", "graph")):
        ratio = PROGRAML_MS / found.of(name, 1e3).value
        yield Figure.of(what, of.column, found.of(name, 1e3), "ms")
        yield Figure.of(f"ProGraML's published {PROGRAML_MS} ms / {what}", of.column, ratio, "x")
