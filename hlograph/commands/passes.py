"""``hlograph passes`` lists passes, pipelines and rewrite rules, ``hlograph run`` runs them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, Command, Flag, OptionalFile
from hlograph.commands.sources import SourceCommand, SourceName, check_suffix, write_module
from hlograph.commands.text_tables import (
    counts_of,
    counts_table,
    duration,
    facts_of,
    facts_table,
    table,
)
from hlograph.errors import HloError

if TYPE_CHECKING:
    from hlograph.module import Module
    from hlograph.transforms.pipelines import Pipeline
    from hlograph.transforms.registry import Pass
    from hlograph.transforms.rules import Rule


@dataclass(frozen=True, kw_only=True)
class Passes(Command):
    """Lists the passes, the pipelines and the rewrite rules, each with what it does."""

    search: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PATTERN")] = "*"
    """Part of a name or description, or a glob of names, such as 'while-*'."""

    def run(self) -> Answer:
        """Lists them; see the class."""
        from hlograph.transforms.pipelines import pipelines
        from hlograph.transforms.registry import passes
        from hlograph.transforms.rules import rules

        chosen = [each for each in passes if self._fits(each.name, each.description)]
        orders = [each for each in pipelines.values() if self._fits(each.name, each.description)]
        single = [each for each in rules if self._fits(each.name, each.description)]
        if not chosen and not orders and not single:
            raise HloError(f"no pass, pipeline or rule fits {self.search!r}")
        parts = [
            _part("pass", "numerics", [(p.name, p.numerics, p.description) for p in chosen]),
            _part("pipeline", "steps", [(o.name, _steps(o), o.description) for o in orders]),
            _part("rule", "from", [(r.name, _origin(r), r.description) for r in single]),
        ]
        content = {
            "passes": [_record(p, "xla_class", "numerics", "acts_on", "requires") for p in chosen],
            "pipelines": [_record(o) | {"steps": _step_names(o)} for o in orders],
            "rules": [_record(r, "xla_code", "equation") for r in single],
        }
        return Answer("\n\n".join(filter(None, parts)), content)

    def _fits(self, name: str, description: str) -> bool:
        if any(letter in self.search for letter in "*?["):
            return fnmatchcase(name, self.search)
        return self.search.lower() in f"{name} {description}".lower()


def _part(kind: str, second: str, rows: list[tuple[str, str, str]]) -> str:
    return table([(kind, second, "what it does"), *rows]) if rows else ""


def _steps(pipeline: Pipeline) -> str:
    return str(len(pipeline.steps))


def _step_names(pipeline: Pipeline) -> list[str]:
    return [getattr(step, "name", str(step)) for step in pipeline.steps]


def _origin(rule: Rule) -> str:
    return "XLA" if rule.xla_code else "hlograph"


def _record(entry: Pass | Pipeline | Rule, *more: str) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("name", "description", *more)}


# Places of rewrites, such as algebraic(add.1), may hold commas.
_BETWEEN = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, kw_only=True)
class RunPasses(SourceCommand):
    """Runs passes, pipelines and rewrites on a module, and shows what they changed."""

    names: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAMES")]
    """Names of passes and pipelines, and places of rewrites such as 'algebraic(add.1)', separated
    by commas; hlograph passes lists them."""
    source: SourceName
    """package.module:function, or a file with HLO or StableHLO."""
    text: Flag = False
    """Print the HLO text of the result, and only that."""
    out: OptionalFile = None
    """File to write the result to: *.hlo, *.pb or *.mlir (StableHLO)."""

    def run(self) -> Answer:
        """Runs the steps; see the class."""
        check_suffix(self.out)
        module = self.module_of(self.source)
        before, counts = facts_of(module), counts_of(module)
        steps = [_step(module, name) for name in _BETWEEN.split(self.names)]
        after = facts_of(module)
        if self.out is not None:
            write_module(module, self.out)
        content = {
            "before": before | {"op_counts": counts},
            "after": after | {"op_counts": counts_of(module)},
            "steps": steps,
            "out": str(self.out) if self.out else None,
        }
        if self.text:
            text = module.to_text()
            return Answer(text, content | {"text": text})
        parts = [
            _steps_table(steps),
            facts_table([before, after], ["before", "after"]),
            counts_table(counts, counts_of(module), "before", "after"),
            f"written to {self.out}" if self.out else "",
        ]
        return Answer("\n\n".join(filter(None, parts)), content)


def _step(module: Module, name: str) -> dict[str, Any]:
    """Runs a step, and returns what came of it."""
    from hlograph.module import take_step

    name = name.strip()
    fingerprint = module.fingerprint()
    begun = time.perf_counter()
    take_step(module, name)
    seconds = time.perf_counter() - begun
    # Some passes report a change that is none.
    changed = module.fingerprint(cached=False) != fingerprint
    return {"step": name, "changed": changed, "op_count": module.op_count, "seconds": seconds}


def _steps_table(steps: list[dict[str, Any]]) -> str:
    rows = [("step", "changed", "instructions", "time")]
    rows += [
        (
            step["step"],
            "yes" if step["changed"] else "no",
            f"{step['op_count']:,}",
            duration(step["seconds"]),
        )
        for step in steps
    ]
    return table(rows, right=(2, 3))
