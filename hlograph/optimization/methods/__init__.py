"""Methods, which propose plans in the race of ``hlograph.optimize``.

A package adds methods by entry points of the group ``hlograph.methods``; ``register`` adds one in
this process; and ``package.module:function`` names one wherever a method's name is expected.
"""

from hlograph.optimization.methods.protocol import Listed, MakeMethod, Method
from hlograph.optimization.methods.registry import check_importable, methods, names, register

__all__ = [
    "Listed",
    "MakeMethod",
    "Method",
    "check_importable",
    "methods",
    "names",
    "register",
]
