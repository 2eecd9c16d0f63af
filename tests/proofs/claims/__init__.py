"""The claims of the rules, by topic."""

from tests.proofs.claims import (
    algebra,
    convolutions,
    dots,
    functions,
    indexing,
    reductions,
    selections,
    sorting,
)

MODULES = (algebra, convolutions, dots, functions, indexing, reductions, selections, sorting)
