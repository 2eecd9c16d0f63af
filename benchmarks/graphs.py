"""Compares parsing and graphs with XLA's parser and with jaxlib's."""

from __future__ import annotations

from collections.abc import Iterator

import hlograph
from benchmarks.results import Aim, Figure
from benchmarks.settings import Settings
from benchmarks.subjects import Subject, described_by_size, subject
from benchmarks.timing import Call, interleaved, tracked
from hlograph.module import Module

TITLE = "Parsing and graphs"
PROGRAML_NODES = 581
PROGRAML_MS = 10.7
"""Milliseconds that ProGraML published for such a graph (Cummins et al. 2021), elsewhere."""


def measure(settings: Settings) -> Iterator[Figure]:
    """Measures parsing, graphs and conversions, size by size."""
    for size in tracked(settings.sizes):
        yield from _figures(subject(size), settings)
    yield from _programl(settings)


def subjects(settings: Settings) -> dict[str, str]:
    """Describes the columns."""
    return described_by_size((*settings.sizes, PROGRAML_NODES))


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


def _figures(of: Subject, settings: Settings) -> Iterator[Figure]:
    timings = interleaved(_calls(of), settings.rounds, settings.budget, column=of.column)
    aim = Aim(1.15) if of.size >= 1_000 else None
    yield timings.times("parse / XLA's parser", "parse", "xla", aim)
    yield timings.times("parse / jaxlib's parser", "parse", "jaxlib")
    yield timings.ms("XLA's parser", "xla")
    yield timings.ms("parse", "parse")
    yield timings.ms("module.graph()", "graph")
    limits = {1_000: Aim(0.3), 8_000: Aim(2.0)}
    yield timings.ms("graph observation", "observation", limits.get(of.size))
    yield timings.ms("graph observation of an unknown module", "first observation")
    yield timings.ms("graph.to_pyg()", "to_pyg", Aim(1.0) if of.size == 8_000 else None)
    yield timings.ms("graph.to_networkx()", "to_networkx")
    yield timings.ms("first fingerprint", "fingerprint")
    yield timings.ms("clone of a changed module", "clone")


def _programl(settings: Settings) -> Iterator[Figure]:
    """Compares with ProGraML's figure, which is of other programs and another machine."""
    of = subject(PROGRAML_NODES)
    calls = {
        "parse": Call(lambda _: hlograph.parse(of.text)),
        "graph": Call(lambda _: of.module.graph()),
    }
    timings = interleaved(calls, settings.rounds, settings.budget, column=of.column)
    for row, name in (("parse", "parse"), ("module.graph()", "graph")):
        ratio = PROGRAML_MS / timings.of(name, 1e3).value
        yield timings.ms(row, name)
        yield Figure.of(f"ProGraML's published {PROGRAML_MS} ms / {row}", of.column, ratio, "x")
