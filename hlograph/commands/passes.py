"""``hlograph passes``: lists passes, pipelines and rewrite rules."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from hlograph.commands.command import Answer, Command
from hlograph.commands.text_tables import table
from hlograph.errors import HloError

if TYPE_CHECKING:
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
