"""The claims of the rules, by topic."""

from tests.proofs.claims import (
    algebra,
    convolutions,
    dots,
    functions,
    indexing,
    loops,
    positions,
    reductions,
    selections,
    sorting,
    unrolling,
    windows,
)

MODULES = (
    algebra,
    convolutions,
    dots,
    functions,
    indexing,
    loops,
    positions,
    reductions,
    selections,
    sorting,
    unrolling,
    windows,
)
