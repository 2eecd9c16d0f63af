"""Faster programs: plans found, measured in the user's jaxlib, verified and stored.

``hlograph.optimize`` runs a race of plans under a budget. Methods propose them
(``hlograph.optimization.methods``), worker processes measure them (``hlograph.measuring``), and
the winner must be ahead of jaxlib's default in a fresh process.
"""

from hlograph.optimization.cache import Store
from hlograph.optimization.function import OptimizedFunction
from hlograph.optimization.of_function import optimize
from hlograph.optimization.optimizing import optimize_program
from hlograph.optimization.report import Report
from hlograph.optimization.search_settings import SearchSettings

__all__ = [
    "OptimizedFunction",
    "Report",
    "SearchSettings",
    "Store",
    "optimize",
    "optimize_program",
]
