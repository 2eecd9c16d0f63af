"""Whether what an episode made of a module is valid and computes the same."""

from __future__ import annotations

from dataclasses import dataclass

from hlograph.errors import VerificationError
from hlograph.execution.equivalence import Equivalence, Limits, Reference
from hlograph.module import Module


@dataclass(frozen=True, slots=True)
class Validation:
    """What ``PassOrderingEnv.validate`` found.

    As a condition it is true if XLA's verifier accepts the module and its outputs are equal or
    close to the start module's. Where they could not be compared, ``NotComparableError`` is raised
    instead, as by ``Equivalence``.

    Attributes:
        verifier_error: What ``xla::HloVerifier`` says against the module; None if nothing.
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
    """Verifies a module and compares it with the one that it was made of.

    Args:
        start: The module that the episode began with.
        module: What its passes made of it.
        samples: Random inputs to run both on.
        seed: Seed of the inputs.
        limits: What the comparison may cost.
    """
    try:
        module.verify()
    except VerificationError as error:
        return Validation(str(error), None)
    reference = Reference(start, samples=samples, seed=seed, limits=limits)
    return Validation(None, reference.compare(module))
