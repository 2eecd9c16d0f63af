"""Patterns of Enzyme-JAX, a compiler that rewrites StableHLO, as plans (``plans.enzyme``)."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from hlograph.measuring.trial import PlanMeasurement
from hlograph.measuring.worker import UNCHANGED
from hlograph.optimization.methods import HELPS, PlanSearch
from hlograph.plans import Numerics, Plan, Program
from hlograph.plans.enzyme import PIPELINES, EnzymeStep, pattern_names

GROUPS: tuple[tuple[str, ...], ...] = (
    ("transpose*", "*_transpose"),
    ("reshape*", "*_reshape"),
    ("concat*", "*_concat"),
    ("slice*", "dynamic_slice*"),
    ("dus*", "dynamic_update*"),
    ("*pad*",),
    ("dot*", "*_dot_general*"),
    ("reduce*", "*_reduce*"),
    ("scatter*",),
    ("gather*",),
    ("while*", "*loop*"),
    ("*licm*",),
    ("broadcast*",),
    ("select*", "compare*"),
    ("if*", "case*"),
    ("cse*",),
    ("*const*",),
    ("fuse*", "*syrk*"),
    ("*simplify*",),
)
"""Groups of patterns, by globs: by what they are about."""

NO_PATTERNS = EnzymeStep("one-round", "without", ("*",))
"""What a program takes by its way through StableHLO alone, beside which patterns alone are seen."""


def patterns_of(globs: Sequence[str], pipeline: str) -> list[str]:
    """Returns the names of a pipeline's patterns that globs match."""
    return [n for n in pattern_names(pipeline) if any(fnmatchcase(n, glob) for glob in globs)]


def groups_of(pipeline: str) -> list[tuple[str, ...]]:
    """Returns the groups of a pipeline's patterns, the last of which are those of no group."""
    grouped = {name for globs in GROUPS for name in patterns_of(globs, pipeline)}
    return [*GROUPS, tuple(name for name in pattern_names(pipeline) if name not in grouped)]


class EnzymePatterns(PlanSearch):
    """Proposes pipelines of Enzyme-JAX, then its patterns by groups, then single ones.

    After the pipelines, and a round of no patterns, come the best pipeline without one group at a
    time, that without all whose absence has helped, and each group alone. The patterns of groups
    that change the time are then left out, or are alone, one at a time.

    Args:
        program: The program.
        numerics: Class of the results.

    Raises:
        PlanError: Enzyme-JAX is not installed, or does not fit the installed jax.
    """

    def __init__(self, program: Program, numerics: Numerics) -> None:
        pattern_names("full")  # whoever names the method is told at once that it is missing
        self._program = program
        self._numerics: Numerics = numerics
        self._ratios: dict[str, float] = {}
        self._pipelines = [EnzymeStep(name) for name in PIPELINES]
        self._waiting = [*self._pipelines, NO_PATTERNS]
        self._stages = iter(
            (self._without_one, self._without_all, self._alone, self._single_patterns)
        )
        self._due: set[str] = set()
        self._base = self._pipelines[0]

    def _next(self) -> Plan | None:
        """Returns the next plan; None while those of the stage before are measured."""
        while not self._waiting:
            if self._due:
                return None
            stage = next(self._stages, None)
            if stage is None:
                return None
            self._waiting = stage()
        step = str(self._waiting.pop(0))
        self._due.add(step)
        return Plan(
            program=self._program.name,
            fingerprint=self._program.fingerprint,
            text_fingerprint=self._program.text_fingerprint,
            steps=(step,),
            numerics=self._numerics,
            method=step,
        )

    def _take(self, result: PlanMeasurement) -> None:
        """Takes note of the speed of a plan that is a step of Enzyme-JAX alone."""
        if len(result.plan.steps) == 1:
            (step,) = result.plan.steps
            self._due.discard(step)
            # A plan that changes nothing is not timed, and is as fast as the default.
            self._ratios[step] = 1.0 if result.error == UNCHANGED else result.ratio

    def _without_one(self) -> list[EnzymeStep]:
        """Returns the best pipeline without each group."""
        self._base = max(self._pipelines, key=self._ratio)
        base = self._base.pipeline
        return [EnzymeStep(base, "without", globs) for globs in groups_of(base)]

    def _without_all(self) -> list[EnzymeStep]:
        """Returns the best pipeline without all groups whose absence has helped."""
        least = HELPS * self._ratio(self._base)
        bad = [
            globs
            for globs in groups_of(self._base.pipeline)
            if self._ratio(EnzymeStep(self._base.pipeline, "without", globs)) > least
        ]
        if len(bad) < 2:
            return []
        globs = tuple(glob for group in bad for glob in group)
        return [EnzymeStep(self._base.pipeline, "without", globs)]

    def _alone(self) -> list[EnzymeStep]:
        """Returns one round of each group."""
        return [EnzymeStep("one-round", "only", globs) for globs in groups_of("one-round")]

    def _single_patterns(self) -> list[EnzymeStep]:
        """Returns the patterns of groups that change the time, those that change it most first."""
        base = self._base.pipeline
        changes: dict[EnzymeStep, float] = {}
        for pipeline, how, beside in (
            (base, "without", self._ratio(self._base)),
            ("one-round", "only", self._ratio(NO_PATTERNS)),
        ):
            for globs in groups_of(pipeline):
                ratio = self._ratio(EnzymeStep(pipeline, how, globs))
                change = max(ratio / beside, beside / ratio) if ratio and beside else 1.0
                if change > HELPS:
                    for name in patterns_of(globs, pipeline):
                        changes.setdefault(EnzymeStep(pipeline, how, (name,)), change)
        return sorted(changes, key=changes.__getitem__, reverse=True)

    def _ratio(self, step: EnzymeStep) -> float:
        return self._ratios.get(str(step), 0.0)
