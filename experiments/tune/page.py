"""The page of a run: tables of competitors and of programs, as Markdown."""

import math
from collections import Counter
from collections.abc import Sequence

from experiments.outcomes.markdown import markdown_table
from experiments.outcomes.metrics import geometric_mean, share
from experiments.speed.results import FASTER, SLOWER
from experiments.tune.decisions import counts
from experiments.tune.scores import TIMES, Scores
from hlograph.timing.bootstrap import bootstrap_interval
from hlograph.tuning.knobs import STAGES

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
_NAMES = 12  # kinds of decisions of a stage that are listed
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
        parts += ["## What the wins are made of", *_decisions(scores)]
        parts += ["## Programs", _programs(scores)]
    parts += ["## Size of the space", _ABOUT_SPACES, spaces] if spaces else []
    parts += [f"![{about}]({file})" for file, about in pictures]
    return "\n\n".join(parts) + "\n"


def summary(scores: Scores) -> list[str]:
    """Returns the findings, a line for each competitor."""
    if not scores.programs:
        return ["No program was measured by all competitors."]
    lines = []
    for competitor in scores.competitors:
        ratios = list(scores.by_program(competitor).values())
        low, high = bootstrap_interval(ratios)
        lines.append(
            f"{competitor}: {geometric_mean(ratios):.3f} times as fast in the geometric mean of "
            f"{len(ratios)} programs (95 % interval {low:.3f} to {high:.3f}), at most "
            f"{max(ratios):.2f}"
        )
    return lines


def _about(scores: Scores, budget: float) -> list[str]:
    found = [
        f"{len(scores.programs)} programs, {budget:g} s for each race, "
        f"{_seeds(len(scores.seeds))}. Ratios are jaxlib's default / plan, in a second measurement "
        "of the winner in a process of its own; 1 where the default is kept. Of several seeds they "
        "are the geometric mean."
    ]
    if scores.not_compared:
        found.append(
            "Not measured by all competitors, and left out: " + ", ".join(scores.not_compared) + "."
        )
    return found


def _competitors(scores: Scores) -> str:
    heads = ("competitor", "programs", "geometric mean", "95 % interval", "of seeds", "largest")
    heads += (f"above {FASTER}", f"{GOOD} or more", f"below {SLOWER}")
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
            )
        )
    return markdown_table(heads, rows)


def _beside(scores: Scores) -> str:
    rows = []
    for one in scores.competitors:
        for other in scores.competitors:
            if one != other:
                mean, low, high = scores.beside(one, other)
                rows.append((one, other, f"{mean:.3f}", _interval(low, high)))
    return markdown_table(("competitor", "beside", "geometric mean", "95 % interval"), rows)


def _anytime(scores: Scores, budget: float) -> str:
    times = [*(time for time in TIMES if time < budget), budget]
    rows = [
        (name, *(f"{scores.by_when(name, time):.3f}" for time in times))
        for name in scores.competitors
    ]
    heads = ("geometric mean of the best screening ratio after", *(f"{time:g} s" for time in times))
    return markdown_table(heads, rows)


def _same_ratio(scores: Scores) -> str:
    rows = []
    for other in scores.competitors:
        ratio = scores.at_the_end(other)
        itself = scores.seconds_to(other, ratio)
        for one in scores.competitors:
            if one != other and ratio > 1:
                seconds = scores.seconds_to(one, ratio)
                found = (f"{seconds:.1f}", f"{seconds / itself:.2f}")
                reached = found if math.isfinite(seconds) else ("never", "")
                rows.append((one, other, f"{ratio:.3f}", f"{itself:.1f}", *reached))
    heads = ("competitor", "other", "ratio of the other", "seconds of the other", "seconds")
    return markdown_table((*heads, "share"), rows)


def _decisions(scores: Scores) -> list[str]:
    found = {
        name: counts(one.plan for one in scores.of_competitor(name) if one.plan is not None)
        for name in scores.competitors
    }
    wins = [
        f"{sum(one.plan is not None for one in scores.of_competitor(name))} of {name}"
        for name in scores.competitors
    ]
    rows = []
    for stage in STAGES:
        of_stage = {name: found[name][stage] for name in scores.competitors}
        rows += _rows_of(_TITLES[stage], of_stage)
    heads = ("decision", *scores.competitors)
    return [
        f"Number of winning plans with a decision. There are {', '.join(wins)}.",
        markdown_table(heads, rows),
    ]


def _rows_of(title: str, found: dict[str, Counter[str]]) -> list[tuple[str, ...]]:
    """Returns the row of a stage, and of its decisions, the most frequent first."""
    total = sum(found.values(), Counter[str]())
    total.pop("", None)
    names = sorted(total, key=lambda name: (-total[name], name))
    rows = [(f"**{title}**", *(str(one[""]) for one in found.values()))]
    rows += [(f"`{name}`", *(str(one[name]) for one in found.values())) for name in names[:_NAMES]]
    if len(names) > _NAMES:
        others = (str(sum(one[name] for name in names[_NAMES:])) for one in found.values())
        rows.append((f"{len(names) - _NAMES} others, together", *others))
    return rows


def _programs(scores: Scores) -> str:
    ratios = {name: scores.by_program(name) for name in scores.competitors}
    best = {p: max(of_one[p] for of_one in ratios.values()) for p in scores.programs}
    rows = []
    for program in sorted(scores.programs, key=lambda name: -best[name]):
        row = [program, _default_ms(scores, program)]
        for name in scores.competitors:
            low, high = interval_of(scores, name, program)
            kept = low == high
            interval = "" if kept else f" ({_interval(low, high)})"
            row.append("default" if kept else f"{ratios[name][program]:.3f}{interval}")
        rows.append(tuple(row))
    return markdown_table(("program", "default ms", *scores.competitors), rows)


def interval_of(scores: Scores, competitor: str, program: str) -> tuple[float, float]:
    """Returns the least and the largest end of the seeds' intervals."""
    results = [one.speed for one in scores.of_program(competitor, program)]
    return min(one.low for one in results), max(one.high for one in results)


def _default_ms(scores: Scores, program: str) -> str:
    times = [one.speed.default_ms for one in scores.results if one.speed.program == program]
    timed = [time for time in times if not math.isnan(time)]
    return f"{geometric_mean(timed):.3g}" if timed else ""


def _interval(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"


def _seeds(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"
