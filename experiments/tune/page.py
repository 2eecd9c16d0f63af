"""The page of a run: tables of competitors and of programs, as Markdown."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

from experiments.evaluate.metrics import geometric_mean, share
from experiments.evaluate.results import markdown_table
from experiments.tune.repeats import repeated, repeats_table
from experiments.tune.results import decisions_of
from experiments.tune.scores import TIMES, Scores
from hlograph.execution.bootstrap import bootstrap_interval
from hlograph.measuring.references import JudgementVerdict
from hlograph.plans import Plan
from hlograph.plans.knobs import STAGES

FASTER, SLOWER = 1.1, 0.98
"""Ratios that count as a win, and that no program may fall below."""
GOOD = 1.2
"""Ratio that half of the programs are to have at least."""

_ABOUT_SPACES = (
    "Knobs about 1 % of the time or more, by stage, and the number of points that they span, of "
    "programs as jaxlib compiles them by default. With rules, layouts and flags the knobs change."
)
_ABOUT_SAME = (
    "Seconds of a race until a competitor has the ratio that another one has at its end, by these "
    "means, and until that one had it itself:"
)
_ABOUT_JUDGED = (
    "Races in which references had judged jaxlib's default after some seconds, their verdicts at "
    "the end, and what the references took in the median."
)
_JUDGED_BY = (10.0, 60.0)
_ABOUT_REPEATS = (
    "Searches of a program with equal settings: of all pairs of them, those that came to the same "
    "plan, and those to plans of the same rules, flags and kinds of placements; pairs whose "
    "ratios differ by less than 5 %; the least and the largest ratio."
)
_NAMES = 12  # decisions of a stage that are listed
_TITLES = {
    "steps": "steps, by rule or pass",
    "layout": "layouts",
    "fusion": "placements of fusion",
    "kernel": "placements of kernels",
    "flags": "flags",
}


def page(
    scores: Scores, budget: float, pictures: Sequence[tuple[str, str]] = (), spaces: str = ""
) -> str:
    """Returns the page of a run.

    Args:
        scores: The results.
        budget: Seconds of a race.
        pictures: File and description of each picture.
        spaces: Table of the sizes of the programs' spaces; empty if they are not known.
    """
    parts = ["# Tuning", *_about(scores, budget)]
    if scores.programs:
        parts += ["## Competitors", _competitors(scores)]
        if len(scores.competitors) > 1:
            parts += ["Times as fast as the plans of another one:", _beside(scores)]
        parts += ["## What was found by when", _anytime(scores, budget)]
        if len(scores.competitors) > 1:
            parts += [_ABOUT_SAME, _same_ratio(scores)]
        parts += _judged(scores)
        parts += ["## What the wins are made of", *_decisions(scores)]
        parts += ["## Programs", _programs(scores)]
    if groups := repeated(scores.results):
        parts += ["## How far searches agree", _ABOUT_REPEATS, repeats_table(groups)]
    parts += ["## Size of the space", _ABOUT_SPACES, spaces] if spaces else []
    parts += [f"![{about}]({file})" for file, about in pictures]
    return "\n\n".join(parts) + "\n"


def summary(scores: Scores) -> list[str]:
    """Returns the findings, a line for each competitor."""
    if not scores.programs:
        return ["No program was measured by all competitors."]
    return [_finding(scores, competitor) for competitor in scores.competitors]


def _finding(scores: Scores, competitor: str) -> str:
    by_program = scores.by_program(competitor)
    ratios = list(by_program.values())
    low, high = bootstrap_interval(ratios)
    best = max(by_program, key=lambda program: by_program[program])
    worst = min(by_program, key=lambda program: by_program[program])
    return (
        f"{competitor}: {geometric_mean(ratios):.3f} times as fast in the geometric mean of "
        f"{len(ratios)} programs (95 % interval {low:.3f} to {high:.3f}); "
        f"{sum(r > FASTER for r in ratios)} above {FASTER}, {sum(r >= 2 for r in ratios)} at 2 or "
        f"more, at most {by_program[best]:.2f} ({best}); {_defaults(scores, competitor)} keep "
        f"jaxlib's default, {sum(r < SLOWER for r in ratios)} below {SLOWER}, at least "
        f"{by_program[worst]:.3f} ({worst})"
    )


def _defaults(scores: Scores, competitor: str) -> int:
    """Returns the number of programs that keep jaxlib's default with each seed."""
    faster = {result.program for result in scores.of_competitor(competitor) if result.method}
    return len(scores.programs) - len(faster)


def _about(scores: Scores, budget: float) -> list[str]:
    parts = [
        f"{len(scores.programs)} programs, {budget:g} s for each race, "
        f"{_seeds(len(scores.seeds))}. Ratios are jaxlib's default / plan, in a second measurement "
        "of the winner in a process of its own; 1 where the default is kept. Of several seeds they "
        "are the geometric mean."
    ]
    if scores.not_compared:
        reasons = [f"{p} ({why})" if why else p for p, why in scores.not_compared.items()]
        parts.append(f"Not measured by all competitors, and left out: {', '.join(reasons)}.")
    return parts


def _competitors(scores: Scores) -> str:
    heads = ("competitor", "programs", "geometric mean", "95 % interval", "of seeds", "largest")
    heads += (f"above {FASTER}", f"{GOOD} or more", f"below {SLOWER}", "default")
    rows = []
    for competitor in scores.competitors:
        ratios = list(scores.by_program(competitor).values())
        seeds = list(scores.by_seed(competitor).values())
        rows.append(
            (
                competitor,
                str(len(ratios)),
                f"{geometric_mean(ratios):.3f}",
                _interval(*bootstrap_interval(ratios)),
                _interval(min(seeds), max(seeds)) if len(seeds) > 1 else "",
                f"{max(ratios):.2f}",
                f"{share([float(r > FASTER) for r in ratios], 1):.0%}",
                f"{share(ratios, GOOD):.0%}",
                str(sum(r < SLOWER for r in ratios)),
                str(_defaults(scores, competitor)),
            )
        )
    return markdown_table(heads, rows)


def _beside(scores: Scores) -> str:
    rows = []
    for competitor in scores.competitors:
        for other in scores.competitors:
            if competitor != other:
                mean, low, high = scores.beside(competitor, other)
                rows.append((competitor, other, f"{mean:.3f}", _interval(low, high)))
    return markdown_table(("competitor", "beside", "geometric mean", "95 % interval"), rows)


def _anytime(scores: Scores, budget: float) -> str:
    times = [*(time for time in TIMES if time < budget), budget]
    rows = [
        (name, *(f"{scores.by_when(name, time):.3f}" for time in times))
        for name in scores.competitors
    ]
    heads = ("geometric mean of the best screening ratio after", *(f"{time:g} s" for time in times))
    return markdown_table(heads, rows)


def _judged(scores: Scores) -> list[str]:
    """Returns the part about references; nothing if no race notes what they took."""
    rows = []
    for competitor in scores.competitors:
        coverage = scores.coverage(competitor)
        if coverage.results:
            rows.append(
                (
                    competitor,
                    str(len(coverage.results)),
                    *(str(coverage.judged_by(seconds)) for seconds in _JUDGED_BY),
                    *(str(coverage.count(verdict)) for verdict in get_args(JudgementVerdict)),
                    f"{coverage.work:.1%}",
                    f"{coverage.wall:.1%}",
                )
            )
    heads = ("competitor", "races", *(f"verdict at {seconds:g} s" for seconds in _JUDGED_BY))
    heads += (*get_args(JudgementVerdict), "share of processes' time", "share of the race")
    return ["## References", _ABOUT_JUDGED, markdown_table(heads, rows)] if rows else []


def _same_ratio(scores: Scores) -> str:
    rows = []
    for other in scores.competitors:
        ratio = scores.at_the_end(other)
        itself = scores.seconds_to(other, ratio)
        for competitor in scores.competitors:
            if competitor != other and ratio > 1:
                seconds = scores.seconds_to(competitor, ratio)
                cells = (f"{seconds:.1f}", f"{seconds / itself:.2f}")
                reached = cells if math.isfinite(seconds) else ("never", "")
                rows.append((competitor, other, f"{ratio:.3f}", f"{itself:.1f}", *reached))
    heads = ("competitor", "other", "ratio of the other", "seconds of the other", "seconds")
    return markdown_table((*heads, "share"), rows)


def _decisions(scores: Scores) -> list[str]:
    plans = {
        name: [r.plan for r in scores.of_competitor(name) if r.method and r.plan is not None]
        for name in scores.competitors
    }
    wins = [f"{len(of_name)} of {name}" for name, of_name in plans.items()]
    counts = {name: decision_counts(of_name) for name, of_name in plans.items()}
    rows = []
    for stage in STAGES:
        rows += _rows_of(_TITLES[stage], {name: by[stage] for name, by in counts.items()})
    return [
        f"Number of winning plans with a decision. There are {', '.join(wins)}.",
        markdown_table(("decision", *scores.competitors), rows),
    ]


def decision_counts(plans: Iterable[Plan]) -> dict[str, Counter[str]]:
    """Returns the number of plans with each decision, by stage.

    Under the empty name is the number of plans with any decision of the stage.
    """
    counts: dict[str, Counter[str]] = {stage: Counter() for stage in STAGES}
    for plan in plans:
        pairs = decisions_of(plan)
        for stage, name in [*pairs, *((stage, "") for stage in {stage for stage, _ in pairs})]:
            counts[stage][name] += 1
    return counts


def _rows_of(title: str, counts: dict[str, Counter[str]]) -> list[tuple[str, ...]]:
    """Returns the row of a stage, and of its decisions, the most frequent first."""
    total = sum(counts.values(), Counter[str]())
    total.pop("", None)
    names = sorted(total, key=lambda name: (-total[name], name))
    rows = [(f"**{title}**", *(str(count[""]) for count in counts.values()))]
    for name in names[:_NAMES]:
        rows.append((f"`{name}`", *(str(count[name]) for count in counts.values())))
    if len(names) > _NAMES:
        others = (str(sum(count[name] for name in names[_NAMES:])) for count in counts.values())
        rows.append((f"{len(names) - _NAMES} others, together", *others))
    return rows


def _programs(scores: Scores) -> str:
    """Returns the table of programs; of a single competitor also with outputs and plans."""
    ratios = {name: scores.by_program(name) for name in scores.competitors}
    best = {p: max(by_program[p] for by_program in ratios.values()) for p in scores.programs}
    alone = len(scores.competitors) == 1
    rows = []
    for program in sorted(scores.programs, key=lambda name: -best[name]):
        row = [program, _default_ms(scores, program)]
        for name in scores.competitors:
            low, high = interval_of(scores, name, program)
            kept = low == high
            interval = "" if kept else f" ({_interval(low, high)})"
            row.append("default" if kept else f"{ratios[name][program]:.3f}{interval}")
        rows.append((*row, *(_outputs_and_plan(scores, program) if alone else ())))
    heads = ("program", "default ms", *scores.competitors)
    return markdown_table((*heads, *(("outputs", "plan") if alone else ())), rows)


def _outputs_and_plan(scores: Scores, program: str) -> tuple[str, str]:
    """Returns what the comparisons of the outputs and the plans of all seeds were."""
    results = [r for r in scores.results if r.program == program and r.method]
    outputs = dict.fromkeys(result.outputs for result in results)
    return "; ".join(outputs), "; ".join(dict.fromkeys(result.method for result in results))


def interval_of(scores: Scores, competitor: str, program: str) -> tuple[float, float]:
    """Returns the least and the largest end of the seeds' intervals."""
    results = scores.of_program(competitor, program)
    return min(result.low for result in results), max(result.high for result in results)


def _default_ms(scores: Scores, program: str) -> str:
    times = [result.default_ms for result in scores.results if result.program == program]
    timed = [time for time in times if not math.isnan(time)]
    return f"{geometric_mean(timed):.3g}" if timed else ""


def _interval(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"


def _seeds(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"
