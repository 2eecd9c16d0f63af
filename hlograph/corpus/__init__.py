"""Benchmarks: HLO modules of real programs by name, shipped or the user's own.

    from hlograph import corpus

    for benchmark, module in corpus.load("gpt2-train", split="train").modules(workers=2):
        ...
    mine = corpus.from_folder("xla_dump/")      # or corpus.from_source("step", step, params, batch)

The corpus lies in ``datasets/`` of the checkout: a manifest, and one compressed HLO text for each
benchmark. A file is opened when its module is loaded; nothing is read at import.
``hlograph corpus list|show|export`` lists, shows and exports it.
"""

from hlograph.corpus.benchmark_set import Benchmark, BenchmarkSet
from hlograph.corpus.own_modules import from_folder, from_source
from hlograph.corpus.shipped import SETS, SPLITS, benchmark, load, manifest, root

__all__ = [
    "SETS",
    "SPLITS",
    "Benchmark",
    "BenchmarkSet",
    "benchmark",
    "from_folder",
    "from_source",
    "load",
    "manifest",
    "root",
]
