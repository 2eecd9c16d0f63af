"""Comparison of modules with an original by running both on the same random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import ml_dtypes
import numpy as np

from hlograph.errors import HloError
from hlograph.execution.equivalence.arrays import (
    COMPLEX_PARTS,
    FLOATS,
    Array,
    ComparedModule,
    Signature,
    dtype_of,
    is_integral,
    signature_of,
)
from hlograph.execution.equivalence.engines import Limits, Runner, check_runnable, make_runner
from hlograph.execution.equivalence.flow import Flow
from hlograph.execution.equivalence.inputs import InputMaker, perturbed
from hlograph.execution.equivalence.rounding import RoundingBound, RoundingCount, rounding_count
from hlograph.execution.equivalence.verdict import (
    EngineName,
    Equivalence,
    Finding,
    OutputVerdict,
    Sensitivity,
    difference,
    judge,
    sensitivity,
)

# Number of runs of the original with moved inputs, to measure how much it amplifies errors. What is
# close without them is close with them: they only add to the tolerance.
_MOVES = 3
_INSENSITIVE = Sensitivity(0, 0.0, 0.0)


class Outputs:
    """Outputs of the original on each sample, with their sensitivity to errors.

    Attributes:
        finite: Fraction of the elements of its outputs that are finite.
    """

    def __init__(self, signature: Signature, inputs: list[list[Array]], run: Runner) -> None:
        """Runs the original.

        Args:
            signature: Signature of the original.
            inputs: The inputs of each sample.
            run: Function that runs the original.

        Raises:
            HloError: XLA cannot run the original.
        """
        self._signature = signature
        self._inputs = inputs
        self._run = run
        self._outputs = [run(arrays) for arrays in inputs]
        self._sensitivity: dict[int, list[Sensitivity]] = {}
        self._epsilon = largest_epsilon(signature)
        self.finite = _finite_fraction(self._outputs)

    def judge(self, sample: int, outputs: list[Array], error: RoundingBound) -> list[OutputVerdict]:
        """Judges those outputs of another module that are not bitwise equal.

        Args:
            sample: Number of the sample.
            outputs: Outputs of the other module on that sample.
            error: Bound on what rounding changes.

        Returns:
            One judgement for each output that differs.
        """
        judgements = []
        for number, spec in enumerate(self._signature.results):
            expected = self._outputs[sample][number]
            measured = difference(expected, outputs[number], spec.element_type)
            if measured.bitwise:
                continue
            judgement = judge(number, measured, _INSENSITIVE, error, self._epsilon)
            if judgement.verdict != "close":  # to know better takes runs of the original
                sensitive = self._sensitive(sample)[number]
                judgement = judge(number, measured, sensitive, error, self._epsilon)
            judgements.append(judgement)
        return judgements

    def _sensitive(self, sample: int) -> list[Sensitivity]:
        if sample not in self._sensitivity:
            inputs = self._inputs[sample]
            moved = [
                self._run(perturbed(inputs, self._signature.parameters, seed))
                for seed in range(_MOVES if self._epsilon else 0)
            ]
            self._sensitivity[sample] = sensitivity(self._outputs[sample], moved, self._signature)
        return self._sensitivity[sample]


def largest_epsilon(signature: Signature) -> float:
    """Returns the largest epsilon of the parameters' types; 0 if none is a float."""
    types = {COMPLEX_PARTS.get(s.element_type, s.element_type) for s in signature.parameters}
    return max((float(ml_dtypes.finfo(dtype_of(name)).eps) for name in types & FLOATS), default=0.0)


def _finite_fraction(samples: list[list[Array]]) -> float:
    """Returns the fraction of finite elements of all outputs; integers are always finite."""
    arrays = [array for outputs in samples for array in outputs]
    numbers = 0
    for array in arrays:
        finite = array.size if is_integral(array) else np.count_nonzero(np.isfinite(array))
        numbers += int(finite)
    return numbers / max(1, sum(array.size for array in arrays))


ENGINES: tuple[EngineName, ...] = ("compiled", "evaluator")


class SignatureError(HloError):
    """Raised when two modules have different parameters or results."""


class OriginalModule:
    """An original module that any number of modules are compared with.

    The original is compiled and run once, so a comparison only compiles and runs the other module.
    The seed determines the inputs, and so the results.

    Args:
        module: The original; the reference keeps a copy.
        samples: Number of random inputs.
        seed: Seed of the inputs.
        engines: Engines to run both modules: ``compiled`` by XLA:CPU, which runs its own passes on
            them first, and XLA's reference ``evaluator``, which runs the instructions as they are.
        limits: Limits of a comparison.
    """

    def __init__(
        self,
        module: ComparedModule,
        *,
        samples: int = 2,
        seed: int = 0,
        engines: Sequence[EngineName] = ENGINES,
        limits: Limits | None = None,
    ) -> None:
        if samples < 1:
            raise ValueError(f"expected at least 1 sample, got {samples}")
        if unknown := [engine for engine in engines if engine not in ENGINES] or not engines:
            raise ValueError(f"expected engines of {ENGINES}, got {unknown or 'none'}")
        self._module = module.clone()
        self._samples = samples
        self._seed = seed
        self._engines = tuple(engines)
        self._limits = limits or Limits()
        self._ready: dict[EngineName, Outputs | HloError] = {}

    @cached_property
    def _flow(self) -> Flow:
        return Flow(self._module.graph())

    @cached_property
    def _signature(self) -> Signature:
        return signature_of(self._module)

    @cached_property
    def _count(self) -> RoundingCount:
        return rounding_count(self._flow)

    @cached_property
    def _maker(self) -> InputMaker:
        return InputMaker(self._flow, self._signature.parameters)

    def inputs(self, sample: int) -> list[Array]:
        """Returns the inputs of a sample, one array for each leaf of the parameters."""
        return self._maker.make(self._seed, sample)

    def compare(self, other: ComparedModule) -> Equivalence:
        """Compares a module with the original.

        Args:
            other: The module; it is not changed.

        Returns:
            The result of the comparison.

        Raises:
            SignatureError: The module has other parameters or results.
            VerificationError: XLA's verifier rejects one of the modules. Neither is run then,
                because XLA relies on the invariants that the verifier checks.
        """
        self._module.verify()
        other.verify()
        if other.fingerprint() == self._module.fingerprint():
            return Equivalence("equal", "they are the same module", self._seed)
        try:
            signatures = self._signature, signature_of(other)
        except HloError as error:
            return Equivalence("not comparable", str(error), self._seed)
        _check_signatures(*signatures)
        flow = Flow(other.graph())
        error = self._count.bound(rounding_count(flow))
        findings: list[Finding] = []
        reasons: list[str] = []
        for engine in self._engines:
            try:
                check_runnable(self._flow, engine, self._limits)
                check_runnable(flow, engine, self._limits)
                findings.append(self._find(engine, other, error))
            except HloError as failure:
                reasons.append(str(failure))
        if not findings:
            unique = dict.fromkeys(reasons)
            return Equivalence("not comparable", "; ".join(unique), self._seed)
        return Equivalence.of(tuple(findings), self._seed)

    def _find(self, engine: EngineName, other: ComparedModule, error: RoundingBound) -> Finding:
        original = self._original(engine)
        run = make_runner(engine, other, self._signature, self._limits)
        worst: OutputVerdict | None = None
        for sample in range(self._samples):
            outputs = run(self.inputs(sample))
            for judgement in original.judge(sample, outputs, error):
                if worst is None or judgement.badness > worst.badness:
                    worst = judgement
        if original.finite == 0.0 and (worst is None or worst.verdict == "close"):
            reason = "all outputs of the original are NaN or infinite"
            return Finding(engine, "not comparable", reason, samples=self._samples)
        if worst is None:
            reason = "every bit is the same"
            return Finding(engine, "equal", reason, samples=self._samples, finite=original.finite)
        return Finding(
            engine,
            worst.verdict,
            worst.reason,
            worst.output,
            worst.difference.ulp,
            worst.difference.relative,
            self._samples,
            original.finite,
        )

    def _original(self, engine: EngineName) -> Outputs:
        if engine not in self._ready:
            try:
                run = make_runner(engine, self._module, self._signature, self._limits)
                self._ready[engine] = Outputs(
                    self._signature, [self.inputs(n) for n in range(self._samples)], run
                )
            except HloError as failure:
                self._ready[engine] = failure
        ready = self._ready[engine]
        if isinstance(ready, HloError):
            raise HloError(f"the original: {ready}")
        return ready


def _check_signatures(original: Signature, other: Signature) -> None:
    for part, expected, came in zip(original._fields, original, other, strict=True):
        if expected != came:
            raise SignatureError(
                f"expected a module with the same {part}, {_list(expected)}, got {_list(came)}: "
                "only modules with the same parameters and results can be compared"
            )


def _list(specs: Sequence[object]) -> str:
    shown = ", ".join(map(str, specs[:8]))
    return f"({shown}, ... {len(specs)} in all)" if len(specs) > 8 else f"({shown})"
