"""Comparison of a plan's outputs with those of jaxlib's default."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hlograph.execution.equivalence.arrays import Array, Signature, dtype_of, is_integral
from hlograph.execution.equivalence.reference import Outputs
from hlograph.execution.equivalence.rounding import RoundingBound, rounding_count
from hlograph.execution.equivalence.verdict import RANK, Verdict, difference
from hlograph.measuring.samples import Sample, Samples
from hlograph.plans import Numerics, Program

Runner = Callable[[list[Array]], list[Array]]
"""Runs an executable on inputs, and returns its outputs."""


@dataclass(frozen=True)
class Checks:
    """Result of the comparison of a plan with the default.

    Attributes:
        accepted: True if the outputs are what the numerics class asks for.
        verdict: The worst verdict of all samples: ``equal``, ``close``, ``not comparable`` or
            ``different``.
        reason: The reason for that verdict, with the sample's name.
        samples: Names of the samples that were compared.
    """

    accepted: bool
    verdict: Verdict
    reason: str
    samples: tuple[str, ...]


def merged(several: Sequence[Checks]) -> Checks | None:
    """Returns the worst of several comparisons of a plan, with the samples of all; None of none."""
    if not several:
        return None
    worst = max(several, key=lambda checks: RANK.index(checks.verdict))
    names = dict.fromkeys(name for checks in several for name in checks.samples)
    return replace(worst, samples=tuple(names))


class Verifier:
    """Compares plans with jaxlib's default on the same inputs.

    Args:
        program: The program.
        samples: Makes its inputs.
        default: Function that returns what runs the default, for the sample of a name.
        numerics: Class that the outputs must belong to: ``exact`` asks for equal bits, ``close``
            for a difference that rounding explains, where the default is finite on adversarial
            inputs, and ``fast`` for the same, on adversarial inputs only if all of the default's
            outputs are finite.
    """

    def __init__(
        self,
        program: Program,
        samples: Samples,
        default: Callable[[str], Runner],
        numerics: Numerics,
    ) -> None:
        self._signature, self._default = program.signature, default
        self._numerics: Numerics = numerics
        # A plan has the rounding errors that the default has, not more.
        self._error = rounding_count(samples.flow).bound()
        self._samples = samples
        self._known: dict[str, _Compared] = {}

    def check(self, run: Runner, *, thorough: bool, without: Collection[str] = ()) -> Checks:
        """Compares the outputs of a plan with the default's.

        Args:
            run: Function that runs the plan.
            thorough: False compares on the first usual inputs alone, which takes less time.
            without: Names of samples to leave out.
        """
        worst: tuple[Verdict, str] = ("equal", "every bit is the same")
        done: list[str] = []
        usual = self._samples.usual if thorough else self._samples.usual[:1]
        adversarial = self._samples.adversarial() if thorough else ()
        for sample in itertools.chain(usual, adversarial):
            if sample.name in without:
                continue
            compared = self._compared(sample)
            done.append(sample.name)
            verdict, reason = compared.verdict(run, self._error)
            if not self._accepts(verdict, sample):
                return Checks(False, verdict, f"on {sample.name} inputs: {reason}", tuple(done))
            if RANK.index(verdict) > RANK.index(worst[0]):
                worst = verdict, f"on {sample.name} inputs: {reason}"
        if not any(self._compared(each).comparable for each in usual if each.name not in without):
            reason = "no output of the default is finite on the usual inputs"
            return Checks(False, "not comparable", reason, tuple(done))
        return Checks(True, *worst, tuple(done))

    def _accepts(self, verdict: Verdict, sample: Sample) -> bool:
        if self._numerics == "exact":
            return verdict == "equal"
        # An original that is chaotic on inputs chosen to break it says nothing about the plan.
        if verdict == "not comparable":
            return sample.adversarial
        return verdict != "different"

    def _compared(self, sample: Sample) -> _Compared:
        if sample.name in self._known:
            return self._known[sample.name]
        default = self._default(sample.name)
        compared = _Compared(self._signature, sample, default, self._numerics)
        # Adversarial samples are compared once in a process, and would fill its memory.
        if not sample.adversarial:
            self._known[sample.name] = compared
        return compared


class _Compared:
    """The default's outputs on one sample, of which the finite elements are compared.

    Attributes:
        comparable: False if there is nothing to compare: outputs are then at best equal.
    """

    def __init__(
        self, signature: Signature, sample: Sample, default: Runner, numerics: Numerics
    ) -> None:
        self._inputs, self._signature, self._default = sample.inputs, signature, default
        self._found = outputs = default(sample.inputs)
        # What a usual input makes infinite or NaN must be so with a plan, too.
        masked = sample.adversarial and numerics != "exact"
        finite = [_finite(array) for array in outputs]
        self._masks = finite if masked else None
        self._nans_spread = masked and sample.has_nans
        some = [bool(mask.any()) for mask in finite if mask.size]
        if numerics == "exact":
            self.comparable = True
        elif numerics == "fast" and sample.adversarial:
            self.comparable = all(mask.all() for mask in finite)
        else:
            self.comparable = any(some) or not some

    @cached_property
    def _outputs(self) -> Outputs:
        return Outputs(self._signature, [self._inputs], self._masked_default)

    def _masked_default(self, inputs: list[Array]) -> list[Array]:
        return self._masked(self._found if inputs is self._inputs else self._default(inputs))

    def verdict(self, run: Runner, error: RoundingBound) -> tuple[Verdict, str]:
        outputs = run(self._inputs)
        expected = [(spec.dims, dtype_of(spec.element_type)) for spec in self._signature.results]
        # numpy would broadcast arrays of other shapes.
        if [(array.shape, array.dtype) for array in outputs] != expected:
            return "different", "the number of outputs, their shapes or types are others"
        rows = zip(self._found, outputs, self._signature.results, strict=True)
        if all(difference(a, b, spec.element_type).bitwise for a, b, spec in rows):
            return "equal", "every bit is the same"
        if self._nans_spread:
            outputs = [_without_nans(*pair) for pair in zip(outputs, self._found, strict=True)]
        judgements = self._outputs.judge(0, self._masked(outputs), error) if self.comparable else []
        if not judgements:
            return "close", "infinities or NaNs of the default differ, all else is the same"
        worst = max(judgements, key=lambda judgement: judgement.badness)
        return worst.verdict, worst.reason

    def _masked(self, outputs: list[Array]) -> list[Array]:
        if self._masks is None:
            return outputs
        return [
            array if mask.all() else np.where(mask, array, np.zeros_like(array))
            for array, mask in zip(outputs, self._masks, strict=True)
        ]


def _finite(array: Array) -> Array:
    return np.ones(array.shape, np.bool_) if is_integral(array) else np.isfinite(array)


def _without_nans(array: Array, expected: Array) -> Array:
    """Returns the array with what is expected in place of its NaNs."""
    return array if is_integral(array) else np.where(np.isnan(array), expected, array)
