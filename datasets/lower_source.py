"""Lowers the graphs of one source and writes them as modules of the corpus.

`build_corpus.py` runs this file in a process of its own for each source: a library that fails to
import, hangs or takes XLA down with it then costs its own graphs only. The two talk in JSON lines,
a request on standard input and events on standard output.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import jax
import zstandard
from manifest import ROOT, SIZES, Row, path_of, split_of
from recipes import Recipe

from hlograph.module import Module
from hlograph.reference_pipelines import pipelines

COMPRESSION_LEVEL = 19
REFERENCE_PIPELINES = ("xla-cpu", "xla-simplify")


class UnsuitableError(Exception):
    """A graph that lowers, but that the corpus cannot take."""


def main() -> None:
    """Reads a request, lowers what it asks for, and reports each graph as it goes."""
    with event_stream() as events:
        request = json.loads(sys.stdin.readline())
        # Source locations hold paths of this machine and say nothing about the program.
        jax.config.update("jax_traceback_in_locations_limit", 0)
        source = importlib.import_module(f"sources.{request['source']}")
        recipes = [recipe for recipe in source.recipes() if wanted(recipe, request["families"])]
        send(events, event="names", names=[recipe.name for recipe in recipes])
        for recipe in recipes:
            if recipe.name not in request["skip"]:
                report(events, recipe, request["known"].get(recipe.name))
        send(events, event="done")


def wanted(recipe: Recipe, families: list[str]) -> bool:
    """Returns whether a recipe is of one of these families; no family means all."""
    return not families or recipe.family in families


def report(events: IO[str], recipe: Recipe, known: list[str] | None) -> None:
    """Makes one graph and sends what came of it.

    Args:
        events: Where events go.
        recipe: The graph to make.
        known: Recipe and library version of the graph that is there already, if one is.
    """
    send(events, event="start", name=recipe.name)
    version = importlib.metadata.version(recipe.library)
    if known == [recipe.recipe, version]:
        send(events, event="kept", name=recipe.name)
        return
    try:
        row = make(recipe, version)
    except Exception as error:  # A library may raise anything; its other graphs go on.
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        send(events, event="failed", name=recipe.name, reason=reason)
    else:
        send(events, event="made", row=row)


def make(recipe: Recipe, version: str) -> Row:
    """Lowers one graph, checks it and writes its file.

    Args:
        recipe: The graph to make.
        version: Version of its library.

    Returns:
        The graph's row of the manifest.

    Raises:
        UnsuitableError: The graph lowers, but is not fit for the corpus.
    """
    text = Module.from_jax(recipe.lower()).to_text()
    module = check(text)
    write(ROOT / path_of(recipe.name), text)
    return Row(
        name=recipe.name,
        family=recipe.family,
        library=recipe.library,
        library_version=version,
        recipe=recipe.recipe,
        op_count=module.op_count,
        fingerprint=module.fingerprint(),
        split=split_of(recipe.family),
        path=path_of(recipe.name),
    )


def check(text: str) -> Module:
    """Returns the module of a text that everything later in the project can work with.

    The module must have the right size, verify, come back the same from its own print, and go
    through both reference pipelines.

    Raises:
        UnsuitableError: One of these does not hold.
    """
    module = Module.from_text(text)
    if module.op_count not in SIZES:
        raise UnsuitableError(f"{module.op_count} instructions")
    if "site-packages" in text or str(ROOT) in text:
        raise UnsuitableError("paths of this machine in the text")
    module.verify()
    printed = Module.from_text(module.to_text())
    if printed.fingerprint() != module.fingerprint():
        raise UnsuitableError("another fingerprint after printing and parsing")
    for name in REFERENCE_PIPELINES:
        optimised = module.clone()
        optimised.run(pipelines[name])
        optimised.verify()
    return module


def write(path: Path, text: str) -> None:
    """Writes a compressed module under a temporary name and renames it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    partial.write_bytes(compressor.compress(text.encode()))
    partial.replace(path)


@contextmanager
def event_stream() -> Iterator[IO[str]]:
    """Yields the real standard output; what libraries print goes to standard error instead."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as events:
        os.dup2(2, 1)
        yield events


def send(events: IO[str], **event: Any) -> None:
    """Sends one event."""
    events.write(json.dumps(event) + "\n")
    events.flush()


if __name__ == "__main__":
    main()
