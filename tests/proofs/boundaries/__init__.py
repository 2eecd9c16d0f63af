"""The boundaries that rules are asked about, by their topics."""

from tests.proofs.boundaries.algebra import ALGEBRA
from tests.proofs.boundaries.boundary import Boundary
from tests.proofs.boundaries.convolutions import CONVOLUTIONS
from tests.proofs.boundaries.dots import DOTS
from tests.proofs.boundaries.indices import INDICES
from tests.proofs.boundaries.loops import FUNCTIONS, ITERATIONS, LOOPS
from tests.proofs.boundaries.reductions import REDUCTIONS
from tests.proofs.boundaries.sorts import SORTS

BOUNDARIES: tuple[Boundary, ...] = (
    *ALGEBRA,
    *CONVOLUTIONS,
    *DOTS,
    *INDICES,
    *LOOPS,
    *FUNCTIONS,
    *ITERATIONS,
    *REDUCTIONS,
    *SORTS,
)
"""All boundaries."""
