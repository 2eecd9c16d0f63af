"""Which pictures and tables a study is shown with, and what it was made with."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from experiments.outcomes.study import Study
from experiments.report import (
    ablations,
    figure2,
    figure3,
    generalisation,
    generic,
    groups,
    rewriting,
    runtime,
    search,
    win,
)
from experiments.report.section import Chapter, Section

KINDS: Mapping[str, tuple[str, Callable[[Study], list[Section]]]] = {
    "figure2": ("Figure 2: agents", figure2.sections),
    "figure3": ("Figure 3: against the default, benchmark by benchmark", figure3.sections),
    "figure4": ("Figure 4: shaped rewards, and costs for the value function", groups.figure4),
    "runtime": ("Run time before and after", runtime.sections),
    "search": ("Search at equal budgets", search.sections),
    "ablations": ("Ablations", ablations.sections),
    "generalisation": ("Generalisation", generalisation.sections),
    "rewriting": ("Single rewrites", rewriting.sections),
    "win": ("The aims", win.sections),
    "evaluation": ("Evaluation of a checkpoint", generic.sections),
}
"""By a study's name: title, and what makes its sections. The order is the report's."""


def chapters(studies: Sequence[Study]) -> list[Chapter]:
    """A chapter for each study, known kinds first, in the order of ``KINDS``."""
    order = [*KINDS]
    place = {name: number for number, name in enumerate(order)}
    found, seen = [], Counter[str]()
    for study in sorted(studies, key=lambda s: place.get(s.name, len(order))):
        title, make = KINDS.get(study.name, (study.name, generic.sections))
        key = re.sub(r"[^\w-]+", "-", f"{study.name}-{study.preset}")
        seen[key] += 1
        if seen[key] > 1:
            key += f"-{seen[key]}"
        title = f"{title} ({study.preset})"
        found.append(Chapter(key, title, made_with(study), study.notes, make(study)))
    return found


def made_with(study: Study) -> list[tuple[str, str]]:
    """Command, seeds, commit, machine and time, as far as the study says."""
    made = study.made
    seeds = sorted({trial.seed for trial in study.trials})
    versions = made.get("versions") or {}
    benchmarks = {o.benchmark for trial in study.trials for o in trial.outcomes}
    lines = {
        "command": made.get("command"),
        "seeds": ", ".join(map(str, seeds)),
        "benchmarks": f"{len(benchmarks):,}" if benchmarks else None,
        "commit": made.get("commit"),
        "machine": _joined(made.get("platform"), made.get("cpus"), "CPUs"),
        "versions": ", ".join(
            f"{name} {version}"
            for name, version in {"python": made.get("python"), **versions}.items()
            if version
        ),
        "time": made.get("time"),
    }
    return [(name, str(value)) for name, value in lines.items() if value]


def _joined(platform: object, cpus: object, unit: str) -> str | None:
    parts = [str(platform)] if platform else []
    return ", ".join([*parts, f"{cpus} {unit}"] if cpus else parts) or None
