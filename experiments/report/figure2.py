"""Figure 2: agents beside each other, and how they learned."""

from collections import defaultdict

from experiments.outcomes.study import Study
from experiments.report.comparison import Comparison
from experiments.report.generic import ratio_bars
from experiments.report.lines import Line, Panel, line_panels
from experiments.report.methods import tables
from experiments.report.section import Picture, Section

LEARNING = (
    "Count ratio on modules of the split validation while training, greedily played; the other "
    "tables and pictures are of the group's own benchmarks, which nobody looked at before the end."
)
"""What is said of learning curves."""
_REDUCTION = (
    "(start - method) / (start - reference), geometric mean over the benchmarks that the "
    "reference reduces; 0 where the method leaves one of them as it was."
)


def sections(study: Study) -> list[Section]:
    """Bars of both ratios, learning curves and tables of each group of benchmarks."""
    found = []
    for number, group in enumerate(study.groups()):
        comparison = Comparison(study, group)
        if comparison.against():
            bars = ratio_bars(comparison, f"count-ratio-{number + 1}")
            text = ("Reference / method, geometric mean over benchmarks: above 1 the method is "
                    "better. A bar is the mean over seeds, a dot one seed.",)  # fmt: skip
            found.append(Section(f"Count ratio: {group}", text, bars))
            name = f"reduction-ratio-{number + 1}"
            bars = ratio_bars(comparison, name, comparison.reduction_ratio, "Reduction ratio")
            title = f"Reduction ratio, the paper's: {group}"
            found.append(Section(title, (_REDUCTION,), bars))
        curves = learning_curves(comparison, f"learning-{number + 1}")
        if curves:
            found.append(Section(f"Learning: {group}", (LEARNING,), curves))
        found += tables(comparison)
    return found


def learning_curves(comparison: Comparison, name: str) -> Picture | None:
    """Count ratio on validation against pass calls trained on; None if nothing was trained."""
    trained = [t for t in comparison.trials() if t.training]
    references = list(dict.fromkeys(r for t in trained for _, ratios in t.training for r in ratios))
    if not references:
        return None
    panels = []
    for reference in references:
        lines = {m: _line(comparison, m, reference) for m in comparison.methods}
        kept = {m: line for m, line in lines.items() if line.x}
        panels.append(Panel(f"to {reference}", "pass calls trained on", kept, {}))
    alt = "Count ratio on validation modules against pass calls trained on"
    return line_panels(name, alt, panels, "count ratio")


def _line(comparison: Comparison, method: str, reference: str) -> Line:
    """Mean and spread over the seeds that were evaluated at each step."""
    by_step: dict[int, dict[int, float]] = defaultdict(dict)
    trials = comparison.study.of(method, comparison.group)
    for number, trial in enumerate(trials):
        for steps, ratios in trial.training:
            if reference in ratios:
                by_step[steps][number] = ratios[reference]
    steps = sorted(by_step)
    seeds = [[by_step[s].get(n, float("nan")) for s in steps] for n in range(len(trials))]
    return Line(steps, seeds)
