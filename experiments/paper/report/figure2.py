"""Figure 2: agents beside each other, and their learning curves."""

from collections import defaultdict
from collections.abc import Iterator

from experiments.paper.report.comparison import Comparison, for_each_group
from experiments.paper.report.lines import Line, Panel, line_panels
from experiments.paper.report.methods import ratio_bars, tables
from experiments.paper.report.section import Picture, Section

_LEARNING = (
    "Count ratio on modules of the split validation while training, greedily played; the other "
    "tables and pictures are of the group's own benchmarks, which were not used before the end."
)
_RATIO = (
    "Reference / method, geometric mean over benchmarks: above 1 the method is better. A bar is "
    "the mean over seeds, a dot one seed."
)
_REDUCTION = (
    "(start - method) / (start - reference), geometric mean over the benchmarks that the "
    "reference reduces; 0 if the method does not reduce one of them."
)


@for_each_group
def sections(c: Comparison) -> Iterator[Section]:
    """Yields bars of both ratios, learning curves and the common tables."""
    if c.against():
        yield Section(f"Count ratio: {c.group}", (_RATIO,), ratio_bars(c, "count-ratio"))
        bars = ratio_bars(c, "reduction-ratio", c.reduction_ratio, "Reduction ratio")
        yield Section(f"Reduction ratio, the paper's: {c.group}", (_REDUCTION,), bars)
    yield from learning(c)
    yield from tables(c)


def learning(c: Comparison) -> Iterator[Section]:
    """Yields a section with the learning curves, if anything was trained."""
    curves = learning_curves(c)
    if curves:
        yield Section(f"Learning: {c.group}", (_LEARNING,), curves)


def learning_curves(comparison: Comparison) -> Picture | None:
    """Draws the count ratio on validation by pass calls; returns None if nothing was trained."""
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
    return line_panels(f"learning-{comparison.number}", alt, panels, "count ratio")


def _line(comparison: Comparison, method: str, reference: str) -> Line:
    """Returns the ratios of the seeds that were evaluated at each step."""
    by_step: dict[int, dict[int, float]] = defaultdict(dict)
    trials = comparison.study.of(method, comparison.group)
    for number, trial in enumerate(trials):
        for steps, ratios in trial.training:
            if reference in ratios:
                by_step[steps][number] = ratios[reference]
    steps = sorted(by_step)
    seeds = [[by_step[s].get(n, float("nan")) for s in steps] for n in range(len(trials))]
    return Line(steps, seeds)
