"""Predicted gains of the values of knobs, which are not compiled for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hlograph.plans.knobs import Knob
from hlograph.plans.placing.places import PlacementDecision
from hlograph.profiling.kernel_modules import KernelModule, kernel_modules
from hlograph.profiling.kernel_trees import KernelTrees
from hlograph.profiling.optimized_module import OptimizedModule
from hlograph.profiling.plan_words import decision_words

# Values of these stages are about kernels as a whole, as those that the trees have learned from.
# Fusing joins several.
_STAGES = frozenset({"flags", "fusion", "kernel"})
_JOINS = "fuse "

# Kernels with less of the time are taken to stay as they are.
_LEAST_SHARE = 0.005

# Share of the time that is left at least, whatever is predicted to be saved.
_LEAST_LEFT = 0.02


class PredictedGains:
    """Predicts what values of knobs bring to a version of a program, without compiling them.

    Trees predict what a value brings to each kernel that it is about, and the measured shares of
    these kernels say what that is to the program. Nothing is predicted of steps, of layouts, of
    fusing, and of loops with kernels of their own.

    Args:
        trees: The trees; None takes those that come with hlograph.
    """

    def __init__(self, trees: KernelTrees | None = None) -> None:
        self._trees = trees or KernelTrees.load()

    def __call__(
        self,
        knobs: Iterable[Knob],
        program: OptimizedModule,
        shares: Mapping[str, float],
        decided: Mapping[str, Mapping[str, PlacementDecision]],
    ) -> Iterator[Knob]:
        """Yields the knobs with the predicted gains of their values.

        Args:
            knobs: The knobs of the version.
            program: The module that jaxlib generates code from.
            shares: Share of the time of each of its instructions (``measuring.compiled.Shares``).
            decided: What is decided about places of the module, by the names of knobs and values.
        """
        knobs = list(knobs)
        kernels = [each for each in kernel_modules(program) if each.text.startswith("HloModule")]
        names = {kernel.name for kernel in kernels}
        share_of = {name: shares.get(name, 0.0) for name in names}
        kernels = [kernel for kernel in kernels if share_of[kernel.name] >= _LEAST_SHARE]
        saved = self._saved(kernels, knobs)

        def gain(knob: Knob, value: str) -> float | None:
            words = _words(knob, value)
            places = decided[knob.name][value].places if knob.name in decided else names
            if words not in saved or not names.issuperset(places):
                return None
            time = sum(share_of[name] * saved[words].get(name, 0.0) for name in places)
            return -math.log(max(1 - time, _LEAST_LEFT))

        for knob in knobs:
            yield replace(knob, gains=tuple(gain(knob, value) for value in knob.values))

    def _saved(
        self, kernels: Sequence[KernelModule], knobs: Iterable[Knob]
    ) -> dict[tuple[str, ...], dict[str, float]]:
        """Returns the share of each kernel's time that values are to save, by their words."""
        values = {
            _words(knob, value): {knob.name: value}
            for knob in knobs
            if knob.stage in _STAGES
            for value in knob.values
            if not value.startswith(_JOINS)
        }
        gains = self._trees.gains(kernels, list(values.values()))
        names = [kernel.name for kernel in kernels]
        return {
            words: dict(zip(names, saved.tolist(), strict=True))
            for words, saved in zip(values, (1 - 1 / gains).T, strict=True)
        }


def _words(knob: Knob, value: str) -> tuple[str, ...]:
    return tuple(decision_words({knob.name: value}))
