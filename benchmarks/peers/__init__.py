"""Measures programs under several compilers, each in an environment and a process of its own.

``environments`` makes a virtual environment and a lock for each peer, ``worker`` is what runs in
its process, ``processes`` starts those and times them in turns, ``results`` keeps the times, and
``page`` writes them. ``npbench_programs`` reads programs of a checkout of NPBench.
"""
