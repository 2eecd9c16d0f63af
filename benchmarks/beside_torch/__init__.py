"""Measures programs of the set `speed` beside the same computation in PyTorch, on the CPU.

Each program is a module of `hlograph.corpus.load("speed")`, compiled by jaxlib with its defaults,
and a function of PyTorch that computes the same from the same inputs. Their outputs are compared
before they are timed in turns: `python -m benchmarks.beside_torch --help`.
"""
