"""``hlograph explore``: pages that show a module and what is done to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, Flag, OptionalFile
from hlograph.commands.sources import SourceCommand, SourceName, stem_of
from hlograph.commands.text_tables import counted
from hlograph.errors import HloError
from hlograph.execution.interrupts import INTERRUPTED

if TYPE_CHECKING:
    from hlograph.explorer.graph_pages import Numbers
    from hlograph.explorer.site import Contents, Page, Query
    from hlograph.module import Module

_ONE = {"modules": "a module", "plans": "a plan", "results": "a folder of results"}

_PLAN, _HEAD = b'"hlograph plan"', 1024

_Names = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME ...", help_behavior_hint="")]
_Name = Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")]


@dataclass(frozen=True, kw_only=True)
class Explore(SourceCommand):
    """Shows a module and what passes or a policy do to it, a plan, or results, in the browser."""

    source: SourceName
    """package.module:function, a file with HLO or StableHLO, the trajectory of an environment
    (*.json), a plan, or a folder of results."""
    passes: _Names = ()
    """Passes, pipelines and places of rewrites to run on a module one after the other; hlograph
    passes lists them."""
    pipeline: _Name = None
    """Pipeline to run on a module, pass by pass, such as xla-simplify."""
    policy: _Name = None
    """Policy to play on a module: gnn or another one that comes with the project, or the path or
    URL of a checkpoint."""
    program: Annotated[str | None, tyro.conf.arg(metavar="SOURCE", help_behavior_hint="")] = None
    """Program of a plan: package.module:function or a file with HLO or StableHLO."""
    programs: _Names = ()
    """Names or globs of programs whose graphs are written with the pages of results."""
    measure: Flag = False
    """Also compile and run a module in the installed jaxlib, and show the time of each kernel; also
    measure what each decision of a plan brings."""
    out: OptionalFile = None
    """Folder to write the pages to, which open from disk; without it, they are served on this
    machine until Ctrl-C."""
    port: int = 0
    """Port to serve on; 0 is any that is free."""

    def run(self) -> Answer:
        """Makes the pages, and writes or serves them; see the class."""
        with ExitStack() as resources:
            contents = self._contents(resources)
            return self._served(contents) if self.out is None else self._written(self.out, contents)

    def _written(self, out: Path, contents: Contents) -> Answer:
        from hlograph.explorer.site import write_site

        files = write_site(out, contents)
        size = sum(file.stat().st_size for file in files)
        index = out / "index.html"
        return Answer(
            f"{counted(len(contents.pages), 'page')}, {size / 1e6:.1f} MB, written to {out}: "
            f"open {index}",
            {"out": str(out), "index": str(index), "bytes": size}
            | {"pages": [page.name for page in contents.pages]},
        )

    def _served(self, contents: Contents) -> Answer:
        from hlograph.explorer.server import serve

        def ready(address: str) -> None:
            print(f"{address}\nCtrl-C ends it.", file=sys.stderr, flush=True)

        serve(contents, port=self.port, ready=ready)
        return Answer("", {}, INTERRUPTED)

    def _contents(self, resources: ExitStack) -> Contents:
        from hlograph.explorer.results_page import is_results

        if _is_plan(self.source):
            kind = "plans"
        else:
            kind = "results" if is_results(Path(self.source)) else "modules"
        self._check_flags(kind)
        if kind == "plans":
            return self._plan(resources)
        if kind == "results":
            from hlograph.explorer.results_page import ResultsSite

            site = ResultsSite(Path(self.source), self.programs, _say)
            resources.callback(site.close)
            return site.contents
        return self._module()

    def _check_flags(self, kind: str) -> None:
        """Checks that no flag is given that is about another kind of source."""
        about = {
            "modules": ("passes", "pipeline", "policy"),
            "plans": ("program",),
            "results": ("programs",),
        }
        for other, flags in about.items():
            for flag in flags:
                if other != kind and getattr(self, flag):
                    raise HloError(f"--{flag} is for {other}, and {self.source!r} is {_ONE[kind]}")

    def _plan(self, resources: ExitStack) -> Contents:
        from hlograph.explorer.plan_pages import PlanQueries, speed_page
        from hlograph.explorer.site import Contents
        from hlograph.plans import Plan

        plan = Plan.load(self.source)
        if self.program is None:
            raise HloError(
                f"a plan is for one program: name that of {self.source} ({plan.program}) with "
                "--program SOURCE, a file or package.module:function"
            )
        job = self.job_of(self.program, plan.numerics)
        plan.check(job.program, here=False)
        page, files = speed_page(plan, job, measure=self.measure, say=_say)
        queries = PlanQueries()
        queries.add(page.name, plan, job)
        resources.callback(queries.close)
        return Contents(stem_of(self.source), (page,), files, queries.queries)

    def _module(self) -> Contents:
        from hlograph.explorer.graph_pages import graph_page
        from hlograph.explorer.site import Contents

        module, pages, files = self._steps()
        queries: Mapping[str, Query] = {}
        numbers: tuple[Numbers, ...] = ()
        if self.policy is not None:
            from hlograph.explorer.policies import policy_page

            page, queries, numbers = policy_page(module, self.policy, files)
            pages.append(page)
        page, of_graph = graph_page(module, numbers=numbers)
        files |= of_graph
        if self.measure:
            from hlograph.explorer.graph_pages import compiled_page

            compiled, measured = compiled_page(self.job_of(self.source, "close"))
            pages.insert(0, compiled)
            files |= measured
        return Contents(stem_of(self.source), (page, *pages), files, queries)

    def _steps(self) -> tuple[Module, list[Page], dict[str, Any]]:
        """Returns the module, and the page of what is run on it, if anything is."""
        from hlograph.explorer.step_pages import episode_page, is_trajectory, passes_page

        names = (*self.passes, *([] if self.pipeline is None else [self.pipeline]))
        if is_trajectory(Path(self.source)):
            if names:
                raise HloError("expected --passes and --pipeline with a module, got a trajectory")
            module, page, files = episode_page(Path(self.source))
            return module, [page], files
        module = self.module_of(self.source)
        if not names:
            return module, [], {}
        page, files = passes_page(module, names)
        return module, [page], files


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _is_plan(source: str) -> bool:
    """Returns True if a source is the file of a plan."""
    path = Path(source)
    if path.name.endswith(".plan.json"):
        return True
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:  # a function, a folder, a URL, or a file whose absence its reader reports
        return False
    return head.lstrip().startswith(b"{") and _PLAN in head
