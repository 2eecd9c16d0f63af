"""Figure 2: agents beside each other, and how they learned."""

from collections import defaultdict

from experiments.report.bars import seed_bars
from experiments.report.comparison import Comparison
from experiments.report.generic import ratio_bars
from experiments.report.lines import Line, Panel, line_panels
from experiments.report.methods import details, measures_table
from experiments.report.section import Picture, Section
from experiments.study import Study

LEARNING = (
    "Count ratio on modules of the split validation while training, greedily played; the other "
    "tables and pictures are of the group's own benchmarks, which nobody looked at before the end."
)
"""What is said of learning curves."""


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
            found.append(_reductions(comparison, number + 1))
        curves = learning_curves(comparison, f"learning-{number + 1}")
        if curves:
            found.append(Section(f"Learning: {group}", (LEARNING,), curves))
        table = measures_table(comparison)
        found.append(Section(f"Methods: {group}", _explained(), table=table))
        found += details(comparison)
    return found


def _explained() -> list[str]:
    return ["Means over seeds, in brackets the least and the greatest."]


def _reductions(comparison: Comparison, number: int) -> Section:
    """Bars of the paper's reduction ratio."""
    panels = {
        f"to {against}": {
            m: comparison.over_seeds(m, comparison.reduction_ratio(against))
            for m in comparison.methods
        }
        for against in comparison.against()
    }
    alt = f"Reduction ratio of each method to each reference on {comparison.group}"
    text = (
        "(start - method) / (start - reference), geometric mean over the benchmarks that the "
        "reference reduces; 0 where the method leaves one of them as it was."
    )
    bars = seed_bars(f"reduction-ratio-{number}", alt, panels)
    return Section(f"Reduction ratio, the paper's: {comparison.group}", (text,), bars)


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
