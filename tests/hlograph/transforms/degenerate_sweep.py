"""Worker of the sweep over degenerate modules; a module of its own, since workers import it."""

import contextlib
import random
from collections.abc import Callable

from hlograph import HloError, HloParseError, Module, passes, pipelines, rules
from hlograph.isolation import FlightRecorder

PIPELINES = ("xla-cpu", "xla-simplify")
_WALKS = 3
_WALK_LENGTH = 20
_MAX_OP_COUNT = 3_000  # of a module on a walk: expanders grow it


def make_sweeper(recorder: FlightRecorder) -> Callable[[str], str]:
    """Returns a function that does to a module all that hlograph can do to it.

    Those are the graph, the cost, all passes alone and on random walks, the pipelines, and the
    rewrites. The function returns "verified", "unverified" or "unparsed". What it does is noted in
    the recorder, for the case that it ends the process.
    """

    def attempt(note: str, function: Callable[[], object]) -> bool:
        recorder.begin(note.encode())
        try:
            function()
        except HloError:
            return False
        finally:
            recorder.end()
        return True

    def walk(module: Module, choice: random.Random) -> None:
        taken: list[str] = []
        for entry in choice.choices(list(passes), k=_WALK_LENGTH):
            if module.op_count > _MAX_OP_COUNT:
                return
            taken.append(entry.name)
            with contextlib.suppress(HloError):
                recorder.begin(" ".join(taken).encode())
                module.run(entry)
            recorder.end()

    def sweep(text: str) -> str:
        try:
            module = Module.from_text(text)
        except HloParseError:
            return "unparsed"
        verified = attempt("verify", module.verify)
        attempt("graph", module.graph)
        attempt("cost", module.cost)
        attempt("proto", lambda: Module.from_proto(module.to_proto()))
        attempt("text", lambda: Module.from_text(module.to_text()))
        attempt("rewrites", lambda: module.clone().rewrites(list(rules)))
        for entry in passes:
            copy = module.clone()
            attempt(entry.name, lambda copy=copy, entry=entry: copy.run(entry))
        for name in PIPELINES:
            copy = module.clone()
            attempt(name, lambda copy=copy, name=name: copy.run(pipelines[name]))
        choice = random.Random(text)
        for _ in range(_WALKS):
            walk(module.clone(), choice)
        return "verified" if verified else "unverified"

    return sweep
