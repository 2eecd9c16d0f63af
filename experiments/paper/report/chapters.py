"""Chooses the figures, tables and summary of each kind of study."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from experiments.evaluate.study import Study
from experiments.paper.report import (
    ablations,
    figure2,
    figure3,
    generalisation,
    methods,
    rewriting,
    runtime,
    search,
    summary,
    win,
)
from experiments.paper.report.section import Chapter, Section, Summary
from experiments.paper.settings import without_training_seed


@dataclass(frozen=True)
class Kind:
    """Title, question, sections and summary of one kind of study."""

    title: str
    question: str
    sections: Callable[[Study], list[Section]]
    summary: Callable[[Study], Summary] = summary.of_counts
    joins_training_seeds: bool = False
    """True to show policies that differ in the seed of their training as one method."""


KINDS = {
    "figure2": Kind(
        "Figure 2: agents",
        "Which agent leaves the fewest instructions in GPT-2's training graphs after learning from "
        "the same number of pass calls?",
        figure2.sections,
    ),
    "figure3": Kind(
        "Figure 3: against the default, benchmark by benchmark",
        "On how many benchmarks of families that training never saw do the policies leave no more "
        "instructions than XLA's own orders of passes?",
        figure3.sections,
    ),
    "figure4": Kind(
        "Figure 4: shaped rewards, and costs for the value function",
        "Does PPO learn better orders of passes if flops and transcendentals shape its rewards, or "
        "if its value function sees them?",
        ablations.reward_sections,
    ),
    "runtime": Kind(
        "Run time before and after",
        "Do modules with fewer instructions run faster after XLA:CPU's own passes?",
        runtime.sections,
        runtime.summary,
    ),
    "search": Kind(
        "Search at equal budgets",
        "Which search finds the fewest instructions with the same number of pass calls, and which "
        "in the same time?",
        search.sections,
        search.summary,
        joins_training_seeds=True,
    ),
    "ablations": Kind(
        "Ablations",
        "Which parts of the graph and of its encoder does a policy need?",
        ablations.sections,
    ),
    "generalisation": Kind(
        "Generalisation",
        "How good are the policies on families that they never saw, and on modules larger than any "
        "in training?",
        generalisation.sections,
    ),
    "rewriting": Kind(
        "Single rewrites",
        "Which method leaves the fewest instructions, or the least estimated cost, by single "
        "rewrites instead of passes?",
        rewriting.sections,
        rewriting.summary,
    ),
    "win": Kind(
        "The aims",
        "How far are the policies from their aims on families that they never saw?",
        win.sections,
        win.summary,
    ),
    "evaluation": Kind(
        "Evaluation of a checkpoint",
        "How good is one policy on these benchmarks?",
        methods.common_sections,
    ),
}
"""Kinds of studies by the study's name, in the order of the report."""


def chapters(studies: Sequence[tuple[str, Study]]) -> list[Chapter]:
    """Returns a chapter for each study, known kinds first, in the order of ``KINDS``.

    Args:
        studies: Studies, each with the name of its folder.
    """
    order = {name: number for number, name in enumerate(KINDS)}
    found, seen = [], Counter[str]()
    for folder, study in sorted(studies, key=lambda pair: order.get(pair[1].name, len(order))):
        kind = KINDS.get(study.name) or Kind(study.name, "", methods.common_sections)
        key = re.sub(r"[^\w-]+", "-", folder)
        seen[key] += 1
        if seen[key] > 1:
            key += f"-{seen[key]}"
        shown = together(study) if kind.joins_training_seeds else study
        title = f"{kind.title} ({study.preset})"
        if title in (chapter.title for chapter in found):
            title += f": {key}"
        found.append(
            Chapter(
                key,
                title,
                kind.question,
                kind.summary(shown),
                made_with(study),
                study.notes,
                kind.sections(shown),
            )
        )
    return found


def made_with(study: Study) -> list[tuple[str, str]]:
    """Returns command, seeds, commit, machine and time, as far as the study has them."""
    made = study.made
    seeds = sorted({trial.seed for trial in study.trials})
    versions = {"python": made.get("python"), **(made.get("versions") or {})}
    benchmarks = {o.benchmark for trial in study.trials for o in trial.outcomes}
    machine = (made.get("platform"), made.get("cpus") and f"{made['cpus']} CPUs")
    lines = {
        "command": made.get("command"),
        "seeds": ", ".join(map(str, seeds)),
        "benchmarks": f"{len(benchmarks):,}" if benchmarks else None,
        "commit": made.get("commit"),
        "machine": ", ".join(str(part) for part in machine if part),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if version),
        "time": made.get("time"),
    }
    return [(name, str(value)) for name, value in lines.items() if value]


def together(study: Study) -> Study:
    """Returns a study with one method for the policies of all training seeds.

    Its trials are numbered anew, so that what is said of seeds is said of those of training and of
    the search.

    Args:
        study: A study without measurements, which name trials by their seeds.
    """
    numbers: Counter[tuple[str, str]] = Counter()
    trials = []
    for trial in study.trials:
        method = without_training_seed(trial.method)
        trials.append(replace(trial, method=method, seed=numbers[trial.group, method]))
        numbers[trial.group, method] += 1
    return replace(study, trials=trials)
