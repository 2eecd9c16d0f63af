"""Writes tables and figures of studies as Markdown: an index, and a page for each study.

    python -m experiments.paper report runs/paper-figure2-full-* runs/paper-search-full-*
    python -m experiments.paper report docs/results/studies --out docs/results

Reads the study.json (or study.json.gz) of each run, or those in the folders below it, and nothing
else. A page is called after the folder of its study.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from experiments.evaluate.run_folder import run_program
from experiments.evaluate.study import STUDY, Study
from experiments.paper.report import aims, figures, methods, rewriting, runtime, search, summary
from experiments.paper.report.document import Chapter, Section, Summary, index, page, picture_file
from experiments.paper.settings import without_training_seed
from hlograph.storage.atomic_write import write_bytes_atomically, write_text_atomically

INDEX = "README.md"


@dataclass(frozen=True)
class Kind:
    """Title, question, sections and summary of one kind of study."""

    title: str
    question: str
    sections: Callable[[Study], Iterable[Section]]
    summary: Callable[[Study], Summary] = summary.of_counts
    joins_training_seeds: bool = False
    """True to show policies that differ in the seed of their training as one method."""


KINDS = {
    "figure2": Kind(
        "Figure 2: agents",
        "Which agent leaves the fewest instructions in GPT-2's training graphs after learning from "
        "the same number of pass calls?",
        figures.agents,
    ),
    "figure3": Kind(
        "Figure 3: against the default, benchmark by benchmark",
        "On how many benchmarks of families that training never saw do the policies leave no more "
        "instructions than XLA's own orders of passes?",
        figures.by_benchmark_sections,
    ),
    "figure4": Kind(
        "Figure 4: shaped rewards, and costs for the value function",
        "Does PPO learn better orders of passes if flops and transcendentals shape its rewards, or "
        "if its value function sees them?",
        figures.rewards,
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
        figures.ablations,
    ),
    "generalisation": Kind(
        "Generalisation",
        "How good are the policies on families that they never saw, and on modules larger than any "
        "in training?",
        figures.generalisation,
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
        aims.sections,
        aims.summary,
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
    shown, seen = [], Counter[str]()
    for folder, study in sorted(studies, key=lambda pair: order.get(pair[1].name, len(order))):
        kind = KINDS.get(study.name) or Kind(study.name, "", methods.common_sections)
        key = re.sub(r"[^\w-]+", "-", folder)
        seen[key] += 1
        if seen[key] > 1:
            key += f"-{seen[key]}"
        numbered = together(study) if kind.joins_training_seeds else study
        title = f"{kind.title} ({study.preset})"
        if title in (chapter.title for chapter in shown):
            title += f": {key}"
        shown.append(
            Chapter(
                key,
                title,
                kind.question,
                kind.summary(numbered),
                made_with(study),
                study.notes,
                list(kind.sections(numbered)),
            )
        )
    return shown


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


@dataclass(frozen=True)
class ReportConfig:
    """Settings of `report`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of studies, or study.json files."""
    out: Path = Path("docs/results")
    """Folder for README.md, the pages and their figures."""


def find(runs: Sequence[Path]) -> list[Path]:
    """Returns the files of all studies, each once.

    Args:
        runs: Files, or folders with studies at any depth.

    Raises:
        FileNotFoundError: There is no study in one of the folders.
    """
    paths: dict[Path, None] = {}
    for run in runs:
        files = (
            [run] if run.is_file() else sorted(p for p in run.rglob(f"{STUDY}*") if _is_study(p))
        )
        if not files:
            raise FileNotFoundError(f"there is no {STUDY} in {run} or below it")
        paths |= dict.fromkeys(path.resolve() for path in files)
    return list(paths)


def _is_study(path: Path) -> bool:
    return path.name in (STUDY, f"{STUDY}.gz")


def write(studies: Sequence[tuple[str, Study]], out: Path) -> None:
    """Writes the report.

    Args:
        studies: Studies, each with the name of its folder.
        out: Folder for the files.

    Raises:
        OSError: A file cannot be written.
    """
    shown = chapters(studies)
    for chapter in shown:
        for section in chapter.sections:
            if section.picture:
                path = out / picture_file(chapter, section.picture)
                write_bytes_atomically(path, section.picture.png())
        write_text_atomically(out / f"{chapter.key}.md", page(chapter, INDEX))
    write_text_atomically(out / INDEX, index(shown))


def main(arguments: Sequence[str] | None = None) -> int:
    """Reads the studies and writes the report.

    Returns:
        Exit status.
    """
    prog = "experiments.paper report"
    return run_program(_report, ReportConfig, prog, __doc__, arguments)


def _report(config: ReportConfig) -> int:
    paths = find(config.runs)
    write([(path.parent.name, Study.load(path)) for path in paths], config.out)
    print(f"{len(paths)} studies: {config.out / INDEX}")
    return 0
