"""Validates the module that an episode produced."""

from __future__ import annotations

from dataclasses import dataclass

from hlograph.errors import VerificationError
from hlograph.execution.equivalence import Equivalence, Limits, OriginalModule
from hlograph.module import Module


@dataclass(frozen=True, slots=True)
class Validation:
    """Result of ``validate``.

    It is true if XLA's verifier accepts the module and its outputs are equal or close to those of
    the start module. If they could not be compared, ``bool()`` raises ``NotComparableError``, as
    that of ``Equivalence`` does.

    Attributes:
        verifier_error: Message of ``xla::HloVerifier``; None if it accepts the module.
        equivalence: Comparison with the start module; None if the verifier rejects the module,
            which is not run then.
    """

    verifier_error: str | None
    equivalence: Equivalence | None

    def __bool__(self) -> bool:
        return self.equivalence is not None and bool(self.equivalence)

    def __str__(self) -> str:
        if self.verifier_error is not None:
            return f"rejected by XLA's verifier: {self.verifier_error}"
        return str(self.equivalence)


def validate(
    start: Module,
    module: Module,
    *,
    samples: int = 2,
    seed: int = 0,
    limits: Limits | None = None,
) -> Validation:
    """Verifies a module and compares its outputs with those of its start.

    Args:
        start: The module at the start of the episode.
        module: The module that the episode produced.
        samples: Number of random inputs to run both on.
        seed: Seed of the inputs.
        limits: Limits of the comparison.
    """
    try:
        module.verify()
    except VerificationError as error:
        return Validation(str(error), None)
    reference = OriginalModule(start, samples=samples, seed=seed, limits=limits)
    return Validation(None, reference.compare(module))
