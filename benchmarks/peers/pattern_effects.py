"""Measures what patterns of Enzyme-JAX bring, by the effects of the steps of plans, with tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.tables import markdown_table, number
from experiments.evaluate.metrics import geometric_mean
from hlograph.execution.bootstrap import Interval
from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods import HELPS
from hlograph.optimization.methods.enzyme import GROUPS, NO_PATTERNS
from hlograph.plans.enzyme import PIPELINES, EnzymeStep, is_enzyme_step

Kind = Literal["pipelines", "left out", "alone"]

_HEADS = ("programs", "geometric mean", "pays on", "hurts on", "refused on", "largest")


@dataclass(frozen=True)
class PatternEffect:
    """Holds what a pipeline, a group of patterns or a single one does to a program.

    Attributes:
        program: The program.
        step: What was measured.
        ratio: Times as fast as without it; None if it was not timed. For what was left out, "with
            it" is the pipeline that it was left out of; for what is alone, "without it" is the way
            through StableHLO without patterns.
        refused: True if it does not keep the outputs, or fails.
    """

    program: str
    step: EnzymeStep
    ratio: Interval | None
    refused: bool = False

    @property
    def kind(self) -> Kind:
        """Table that it is a part of."""
        if self.step == NO_PATTERNS:
            return "pipelines"
        return "alone" if self.step.how == "only" else "left out" if self.step.how else "pipelines"

    @property
    def name(self) -> str:
        """Name of the pipeline, or the patterns."""
        globs = self.step.globs
        if self.step == NO_PATTERNS:
            return "no patterns"
        if globs in GROUPS or self.is_single or not globs:
            return f"`{' '.join(globs) or self.step.pipeline}`"
        return "several groups" if any("*" in glob for glob in globs) else "patterns of no group"

    @property
    def is_single(self) -> bool:
        """True for a single pattern."""
        return len(self.step.globs) == 1 and "*" not in self.step.globs[0]

    @property
    def pays(self) -> bool:
        """True if the program is faster with it, beyond the noise."""
        return self.ratio is not None and self.ratio.low > HELPS

    @property
    def hurts(self) -> bool:
        """True if the program is slower with it, beyond the noise."""
        return self.ratio is not None and self.ratio.high < 1 / HELPS


def effects_of(program: str, outcomes: Iterable[PlanMeasurement]) -> list[PatternEffect]:
    """Returns the effects of all steps of Enzyme-JAX that were measured alone on a program.

    Args:
        program: Name of the program.
        outcomes: The measurements, from old to new; the newest of a step counts.
    """
    newest: dict[EnzymeStep, PlanMeasurement] = {}
    for outcome in outcomes:
        steps = outcome.plan.steps
        if len(steps) == 1 and is_enzyme_step(steps[0]) and not outcome.accident:
            newest[EnzymeStep.parse(steps[0])] = outcome
    ratios = {step: _ratio_of(outcome) for step, outcome in newest.items()}
    effects = []
    for step, ratio in ratios.items():
        if step.how and step != NO_PATTERNS:
            is_alone = step.how == "only"
            other = ratios.get(NO_PATTERNS if is_alone else EnzymeStep(step.pipeline))
            ratio = _over(ratio, other) if is_alone else _over(other, ratio)
        effects.append(PatternEffect(program, step, ratio, ratios[step] is None))
    return effects


def _ratio_of(outcome: PlanMeasurement) -> Interval | None:
    """Returns how many times as fast as the default a plan is."""
    if outcome.error == UNCHANGED:
        return Interval(1.0, 1.0, 1.0)
    measured = outcome.measured
    return None if measured is None else Interval(measured.ratio, measured.low, measured.high)


def _over(with_it: Interval | None, without: Interval | None) -> Interval | None:
    """Returns the ratio of two ratios, with the bounds that both intervals allow."""
    if with_it is None or without is None:
        return None
    return Interval(
        with_it.value / without.value, with_it.low / without.high, with_it.high / without.low
    )


def tables(
    effects: Sequence[PatternEffect],
    errors: Mapping[str, str],
    made_with: Mapping[str, Any],
    budget: float,
) -> str:
    """Returns the tables of pipelines, groups and single patterns, and the conditions.

    Args:
        effects: All effects.
        errors: Reasons why programs were not measured.
        made_with: Machine, versions and date.
        budget: Seconds of each program.
    """
    parts = [f"Pipelines:\n\n{_table(e for e in effects if e.kind == 'pipelines')}"]
    for kind, title in (("left out", "Left out of the best pipeline"), ("alone", "Alone")):
        of_kind = [effect for effect in effects if effect.kind == kind]
        if groups := [effect for effect in of_kind if not effect.is_single]:
            parts.append(f"{title}, groups:\n\n{_table(groups)}")
        if singles := [effect for effect in of_kind if effect.is_single]:
            parts.append(f"{title}, single patterns:\n\n{_single_patterns(singles)}")
    if errors:
        lines = [f"- {name}: {error}" for name, error in errors.items()]
        parts.append("Not measured, and why:\n\n" + "\n".join(lines))
    return "\n\n".join([*parts, _conditions(effects, made_with, budget)]) + "\n"


def _single_patterns(effects: Sequence[PatternEffect]) -> str:
    """Returns a table of the patterns that pay or hurt somewhere, and the number of the others."""
    matter = {effect.name for effect in effects if effect.pays or effect.hurts or effect.refused}
    others = len({effect.name for effect in effects} - matter)
    text = f"{others} patterns neither pay nor hurt on a program."
    return f"{_table(e for e in effects if e.name in matter)}\n\n{text}" if matter else text


def _table(effects: Iterable[PatternEffect]) -> str:
    by_name: dict[str, list[PatternEffect]] = {}
    for effect in effects:
        by_name.setdefault(effect.name, []).append(effect)
    means = {name: _mean(same) for name, same in by_name.items()}
    names = sorted(by_name, key=lambda name: -means[name])
    return markdown_table(("what", *_HEADS), [_line(name, by_name[name]) for name in names])


def _mean(effects: Sequence[PatternEffect]) -> float:
    """Returns the geometric mean of effects; 0 of none that was timed."""
    ratios = [effect.ratio.value for effect in effects if effect.ratio is not None]
    return geometric_mean(ratios) if ratios else 0.0


def _line(name: str, effects: Sequence[PatternEffect]) -> list[str]:
    timed = [(e.ratio.value, e.program) for e in effects if e.ratio is not None]
    largest = max(timed, key=lambda pair: max(pair[0], 1 / pair[0]), default=None)
    return [
        name,
        str(len(timed)),
        number(_mean(effects)) if timed else "",
        str(sum(effect.pays for effect in effects)),
        str(sum(effect.hurts for effect in effects)),
        str(sum(effect.refused for effect in effects)),
        f"{number(largest[0])} on {largest[1]}" if largest else "",
    ]


def _conditions(
    effects: Sequence[PatternEffect], made_with: Mapping[str, Any], budget: float
) -> str:
    programs = len({effect.program for effect in effects})
    versions = made_with["versions"]
    return (
        f"Measured {made_with['time']} at commit `{str(made_with['commit'])[:10]}` on "
        f"{made_with['cpus']} cores of {made_with['processor']} with jaxlib {versions['jaxlib']} "
        f"and enzyme-ad {versions.get('enzyme-ad')}: {programs} programs, {budget:g} s each. "
        "Figures are times as fast as without it: a pipeline beside jaxlib's default; what is "
        "alone, beside the way through StableHLO without patterns; what was left out, the whole "
        "pipeline beside the one without. It pays where the "
        f"whole interval is above {HELPS}, and hurts where that is below 1 / {HELPS}."
    )


def findings(effects: Sequence[PatternEffect]) -> list[str]:
    """Returns a line for each pipeline."""
    lines = []
    for name in PIPELINES:
        same = [e for e in effects if e.step == EnzymeStep(name)]
        if timed := [e for e in same if e.ratio is not None]:
            lines.append(
                f"{name}: {_mean(timed):.3f} times as fast as jaxlib's default in the geometric "
                f"mean of {len(timed)} programs; pays on {sum(e.pays for e in timed)}, hurts on "
                f"{sum(e.hurts for e in timed)}"
            )
    return lines
