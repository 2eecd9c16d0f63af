"""HLO modules as typed graphs, and XLA's passes to run on them, in process.

    import hlograph

    graph = hlograph.parse("step.hlo")      # HLO text, proto, path, jax Lowered, StableHLO
    data = graph.to_pyg()                   # or to_networkx(), to_json(), to_dot()

    module = hlograph.Module.load("step.hlo")
    module.run("call-inliner")
    module.run(hlograph.pipelines["xla-simplify"])

Names are resolved on first use: reading a saved graph needs numpy, but neither the native
extension nor the XLA libraries that it links.

``hlograph.module`` has the class ``Module``, ``hlograph.errors`` all errors. Packages:
``hlograph.commands`` (the program ``hlograph``), ``hlograph.corpus`` (benchmarks),
``hlograph.execution`` (running, timing and comparing modules), ``hlograph.graph`` (typed graphs,
features, files, sums over neighbours), ``hlograph.isolation`` (worker processes),
``hlograph.profiling`` (where compiled programs spend their time), ``hlograph.reading`` (sources and
parsers), ``hlograph.storage`` (files and URLs), ``hlograph.transforms`` (passes, pipelines,
rewrites).
``hlograph.envs`` has gymnasium environments, ``hlograph.models`` networks, and
``hlograph.experiments`` what plays the policies that come with the project. In a checkout these
three lie beside ``hlograph``, as ``envs``, ``models`` and ``experiments``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from hlograph._checkout import find_packages_beside
from hlograph.errors import (
    EngineUnavailableError,
    HloError,
    HloParseError,
    PassError,
    RewriteError,
    UnknownNameError,
    VerificationError,
)
from hlograph.graph.vocabulary import EDGE_TYPES, ELEMENT_TYPES, NODE_TYPES, OPCODES

if TYPE_CHECKING:
    from hlograph import corpus as corpus
    from hlograph.execution.equivalence import Equivalence as Equivalence
    from hlograph.graph.hlo_graph import HloGraph as HloGraph
    from hlograph.module import Cost as Cost
    from hlograph.module import Module as Module
    from hlograph.module import parse as parse
    from hlograph.module import parse_all as parse_all
    from hlograph.optimization.jit_function import jit as jit
    from hlograph.optimization.of_function import optimize as optimize
    from hlograph.optimization.predicting import Prediction as Prediction
    from hlograph.optimization.predicting import predict as predict
    from hlograph.optimization.stored_plans import use_plans as use_plans
    from hlograph.plans.plan import Plan as Plan
    from hlograph.transforms.pipelines import FixedPoint as FixedPoint
    from hlograph.transforms.pipelines import Pipeline as Pipeline
    from hlograph.transforms.pipelines import pipelines as pipelines
    from hlograph.transforms.registry import Pass as Pass
    from hlograph.transforms.registry import passes as passes
    from hlograph.transforms.rewriting import Place as Place
    from hlograph.transforms.rewriting import Rewrite as Rewrite
    from hlograph.transforms.rules import Rule as Rule
    from hlograph.transforms.rules import rules as rules

    __version__: str

# Module of each lazily resolved name. No submodule has one of these names: importing it would
# replace the value by the submodule.
_LAZY = {
    "Cost": "module",
    "Equivalence": "execution.equivalence",
    "FixedPoint": "transforms.pipelines",
    "HloGraph": "graph.hlo_graph",
    "Module": "module",
    "Pass": "transforms.registry",
    "Pipeline": "transforms.pipelines",
    "Place": "transforms.rewriting",
    "Plan": "plans.plan",
    "Prediction": "optimization.predicting",
    "Rewrite": "transforms.rewriting",
    "Rule": "transforms.rules",
    "jit": "optimization.jit_function",
    "optimize": "optimization.of_function",
    "parse": "module",
    "parse_all": "module",
    "passes": "transforms.registry",
    "pipelines": "transforms.pipelines",
    "predict": "optimization.predicting",
    "rules": "transforms.rules",
    "use_plans": "optimization.stored_plans",
}

__all__ = [
    "EDGE_TYPES",
    "ELEMENT_TYPES",
    "NODE_TYPES",
    "OPCODES",
    "Cost",
    "EngineUnavailableError",
    "Equivalence",
    "FixedPoint",
    "HloError",
    "HloGraph",
    "HloParseError",
    "Module",
    "Pass",
    "PassError",
    "Pipeline",
    "Place",
    "Plan",
    "Prediction",
    "Rewrite",
    "RewriteError",
    "Rule",
    "UnknownNameError",
    "VerificationError",
    "__version__",
    "corpus",
    "jit",
    "optimize",
    "parse",
    "parse_all",
    "passes",
    "pipelines",
    "predict",
    "rules",
    "use_plans",
]


def __getattr__(name: str) -> object:
    if name == "corpus":
        return importlib.import_module("hlograph.corpus")
    if name == "__version__":
        value = _installed_version()
    elif name in _LAZY:
        value = getattr(importlib.import_module(f"hlograph.{_LAZY[name]}"), name)
    else:
        raise AttributeError(f"module 'hlograph' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _installed_version() -> str:
    """Returns the version of pyproject.toml, which the installed package states."""
    from importlib import metadata

    try:
        return metadata.version("hlograph")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"


find_packages_beside()
