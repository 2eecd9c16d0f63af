"""Lowers the graphs of one source and writes them as modules of the corpus.

`build_corpus.py` runs this file in a process of its own for each source: a library that fails to
import, hangs or takes XLA down with it then costs its own graphs only. The two talk in JSON lines,
a request on standard input and events on standard output.
"""

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
from builds import BUILDS, Build
from manifest import Row, path_of
from measure import measure
from recipe import Recipe

from hlograph.module import Module
from hlograph.storage.atomic_write import write_bytes_atomically

COMPRESSION_LEVEL = 19


def main() -> None:
    """Reads a request, lowers what it asks for, and reports each graph as it goes."""
    with event_stream() as events:
        request = json.loads(sys.stdin.readline())
        # Source locations hold paths of this machine and say nothing about the program.
        jax.config.update("jax_traceback_in_locations_limit", 0)
        build = BUILDS[request["set"]]
        source = importlib.import_module(f"{build.package}.{request['source']}")
        recipes = [recipe for recipe in source.recipes() if wanted(recipe, request)]
        send(events, event="names", names=[recipe.name for recipe in recipes])
        for recipe in recipes:
            if recipe.name not in request["skip"]:
                known = request["known"].get(recipe.name)
                report(events, recipe, known, Path(request["folder"]), build)
        send(events, event="done")


def wanted(recipe: Recipe, request: dict[str, Any]) -> bool:
    """Returns whether a recipe is of the families asked for (none means all), and to be shipped."""
    families = request["families"]
    return (not families or recipe.family in families) and recipe.name not in request["not_shipped"]


def report(
    events: IO[str], recipe: Recipe, known: list[str] | None, folder: Path, build: Build
) -> None:
    """Makes one graph and sends what came of it.

    Args:
        events: Where events go.
        recipe: The graph to make.
        known: Recipe, library version and scope of the graph that is there already, if one is.
        folder: The corpus.
        build: What the set asks of a graph.
    """
    send(events, event="start", name=recipe.name)
    version = importlib.metadata.version(recipe.library)
    if known == [recipe.recipe, version, recipe.scope]:
        send(events, event="kept", name=recipe.name)
        return
    try:
        row = make(recipe, version, folder, build)
    except Exception as error:  # A library may raise anything; its other graphs go on.
        traceback.print_exc()
        send(events, event="failed", name=recipe.name, reason=in_one_line(error))
    else:
        send(events, event="made", row=row)


def make(recipe: Recipe, version: str, folder: Path, build: Build) -> Row:
    """Lowers one graph, checks it and writes its file.

    Args:
        recipe: The graph to make.
        version: Version of its library.
        folder: The corpus.
        build: What the set asks of a graph.

    Returns:
        The graph's row of the manifest; its set and split depend on the other rows and are empty.

    Raises:
        UnsuitableError: The graph lowers, but is not fit for the corpus.
        HloError: The linked XLA refuses it.
    """
    build.check_family(recipe.family)
    # Through text: what the file holds is what is measured.
    text = Module.read(recipe.lower()).to_text()
    measured = measure(Module.from_text(text), build.smallest)
    write(folder / path_of(recipe.name), text)
    return Row(
        name=recipe.name,
        family=recipe.family,
        library=recipe.library,
        version=version,
        scope=recipe.scope,
        set="",
        split="",
        recipe=recipe.recipe,
        **measured._asdict(),
    )


def in_one_line(error: Exception) -> str:
    """Returns the first lines of an error, joined and cut."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return words if len(words) <= 300 else words[:300] + "..."


def write(path: Path, text: str) -> None:
    """Writes a compressed module."""
    compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
    write_bytes_atomically(path, compressor.compress(text.encode()))


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
